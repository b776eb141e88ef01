import { ApiError, validationError } from '../../errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { isWriteConflict, retryConflicts, WriteConflict } from '../../platform/postgres/retry.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { decideOwn, type StoredScores } from './decide.ts';
import { findPlayers, lockScores, writeScores, type FoundPlayer } from './player-scores-queries.ts';
import type { ScoresBody, ScoreResult } from './schema.ts';

/** Players whose rows one transaction locks. */
const CHUNK = 250;
/** How far the clock of the operator may be ahead: a later time would keep all scores out until it has come. */
const MAX_AHEAD_MS = 300_000;

/**
 * Writes the scores that an operator has computed, and says for each row what became of it, in their order. A repetition
 * writes nothing. Rows are written in transactions of 250: when the call fails, some may be written, and the same call is to
 * be made again. Rejects with VALIDATION_ERROR when `as_of` is in the future, and with SERVICE_UNAVAILABLE when others
 * write the same players all the time.
 */
export async function receiveScores(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  project: ProjectRef,
  { model, as_of, scores }: ScoresBody,
): Promise<ScoreResult[]> {
  const at = new Date(as_of);
  if (at.getTime() > clock.now_ms() + MAX_AHEAD_MS)
    throw validationError([{ path: 'as_of', message: 'must not be in the future' }]);
  const results: ScoreResult[] = [];
  const written = new Set<string>();
  for (let i = 0; i < scores.length; i += CHUNK) {
    const rows = scores.slice(i, i + CHUNK);
    const part = await retryConflicts(() =>
      postgres.asTenant(project.tenant_id, (tx) =>
        writeRows(tx, project, rows, { model, as_of: at, now: new Date(clock.now_ms()), written }),
      ),
    ).catch((cause: unknown) => {
      if (!isWriteConflict(cause)) throw cause;
      const message = 'others are writing these players right now: send the same scores again';
      throw new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s: 1, cause });
    });
    for (const { player_id } of part) if (player_id !== null) written.add(player_id);
    results.push(...part);
  }
  return results;
}

interface Receipt {
  model: string;
  as_of: Date;
  now: Date;
  /** Players of earlier rows. */
  written: ReadonlySet<string>;
}

async function writeRows(
  tx: Tx,
  project: ProjectRef,
  rows: ScoresBody['scores'],
  { model, as_of, now, written }: Receipt,
): Promise<ScoreResult[]> {
  const found = await findPlayers(tx, project, rows);
  const refusals = refuse(found, written);
  const wanted = found.flatMap(({ player_id }, i) =>
    player_id === null || refusals[i] !== undefined ? [] : [player_id],
  );
  const locked = await lockScores(tx, project, wanted, now);
  const stored = new Map(locked.map((player) => [player.player_id, player]));
  const changed: ({ player_id: string } & StoredScores)[] = [];
  const results = rows.map((row, i): ScoreResult => {
    const refused = refusals[i];
    if (refused !== undefined) return refused;
    const player_id = found[i]?.player_id ?? '';
    const before = stored.get(player_id);
    if (before === undefined) throw new WriteConflict('a player was merged or deleted while it was scored');
    const decision = decideOwn(before, row, model, as_of);
    if (decision.changed !== undefined) changed.push({ ...decision.changed, player_id });
    return { player_id, verdict: decision.verdict };
  });
  await writeScores(tx, project, changed, now);
  return results;
}

/** The rows whose scores are not written, whatever they are; the others are undefined. */
function refuse(found: readonly FoundPlayer[], written: ReadonlySet<string>): (ScoreResult | undefined)[] {
  const named = new Set(written);
  return found.map(({ player_id, into_player_id, deleted_at, erased_at }) => {
    if (player_id === null) return { player_id, verdict: 'unknown' };
    if (into_player_id !== null) return { player_id, verdict: 'merged', into_player_id };
    if (erased_at !== null) return { player_id, verdict: 'erased' };
    if (deleted_at !== null) return { player_id, verdict: 'deleted' };
    if (named.has(player_id)) return { player_id, verdict: 'duplicate' };
    named.add(player_id);
    return undefined;
  });
}
