import type { Session, Tx } from '../platform/postgres/port.ts';
import { retryConflicts } from '../platform/postgres/retry.ts';
import type { Platform } from '../platform/platform.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { Group } from './language/conditions.ts';
import { readDefinition } from './language/definition.ts';
import type { SegmentToEvaluate } from './dirty-player-queries.ts';
import { markDependentsDirty } from './dirty-players.ts';
import { findPlayers, type FoundPlayers, type Players } from './evaluation-queries.ts';
import { forgetEvaluated } from './evaluated/evaluated-queries.ts';
import { changeMemberships, selectMemberships, type Members, type Membership } from './membership-queries.ts';
import { copyPendingChanges } from './publish-changes.ts';
import { bisect, isForItsSize, TooManyPlayers } from './refusal.ts';

export type EvaluationDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger' | 'metrics'>;

/** Segments per query: each condition makes it longer. */
const MAX_SEGMENTS_AT_ONCE = 100;
/** Memberships that one transaction changes: it takes a fraction of a second. */
export const MAX_CHANGED = 5_000;

/** The result of an evaluation of some players. */
export interface SegmentVerdict {
  /** Who of the players matches, for each segment that was evaluated; the others were refused. */
  matching: Members;
  /** The differences from the stored memberships. */
  entered: Membership[];
  left: Membership[];
}

/** A verdict, and what the statements found that it is made of. */
export interface AskedVerdict extends SegmentVerdict {
  found: readonly FoundPlayers[];
}

/** What happens to a segment that cannot be evaluated; `reason` is for `last_error`. */
export type OnRefused = (segment: SegmentToEvaluate, reason: string) => Promise<void>;

/**
 * Evaluates segments for players, without writing anything. A segment that is refused alone goes to `onRefused` and is
 * omitted. Rejects with {@link TooManyPlayers} when the time or memory of a query about several players is at its limit:
 * only for one player by itself a segment is refused for that. The caller holds the project's evaluation lock and shares the locks of the segments, or holds the lock of
 * the only segment. No transaction is open meanwhile.
 */
export async function evaluateSegments(
  deps: Pick<EvaluationDeps, 'postgres' | 'clickhouse'>,
  project: ProjectRef,
  players: Players,
  segments: readonly SegmentToEvaluate[],
  now: Date,
  onRefused: OnRefused,
): Promise<AskedVerdict> {
  const matching = new Map<string, ReadonlySet<string>>();
  const all: FoundPlayers[] = [];
  if (segments.length === 0 || players.player_ids.length === 0) {
    for (const { segment_id } of segments) matching.set(segment_id, new Set());
    return { matching, entered: [], left: [], found: all };
  }
  // A segment condition reads the members from ClickHouse, so the pending changes are copied there first.
  if (segments.some(({ reads }) => reads.some((read) => read.startsWith('segment:')))) {
    await copyPendingChanges(deps, project);
  }
  const candidates = await readable(segments, onRefused);
  const question = { ...project, now_ms: now.getTime() };
  for (let from = 0; from < candidates.length; from += MAX_SEGMENTS_AT_ONCE) {
    await bisect(
      candidates.slice(from, from + MAX_SEGMENTS_AT_ONCE),
      async (part) => {
        const definitions = part.map(({ parsed }) => parsed);
        const found = await findPlayers(deps.clickhouse, question, players, definitions).catch(
          (cause: unknown) => {
            if (players.player_ids.length === 1 || !isForItsSize(cause)) throw cause;
            const message = `${players.player_ids.length} players are too many for one query`;
            throw new TooManyPlayers(message, { cause });
          },
        );
        for (const [i, { segment_id }] of part.entries())
          matching.set(segment_id, found.matching[i] ?? new Set());
        all.push(found);
      },
      onRefused,
    );
  }
  return { ...(await verdictOf(deps.postgres.service, project, players.player_ids, matching)), found: all };
}

/** Compares who of the players matches with the stored memberships. */
export async function verdictOf(
  sql: Tx,
  project: ProjectRef,
  player_ids: readonly string[],
  matching: Members,
): Promise<SegmentVerdict> {
  const current = await selectMemberships(sql, project, player_ids, [...matching.keys()]);
  return { matching, entered: without(matching, current), left: without(current, matching) };
}

/** The memberships of `these` that are not among `those`. */
function without(these: Members, those: Members): Membership[] {
  const found: Membership[] = [];
  for (const [segment_id, player_ids] of these) {
    const others = those.get(segment_id);
    for (const player_id of player_ids) {
      if (others?.has(player_id) !== true) found.push({ segment_id, player_id });
    }
  }
  return found;
}

/** Parses the definitions. One that cannot be read, because another version has stored it, is refused. */
async function readable(
  segments: readonly SegmentToEvaluate[],
  onRefused: OnRefused,
): Promise<(SegmentToEvaluate & { parsed: Group })[]> {
  const candidates = [];
  for (const segment of segments) {
    let parsed: Group;
    try {
      parsed = readDefinition(segment.definition);
    } catch (error) {
      await onRefused(segment, `the stored definition cannot be read: ${(error as Error).message}`);
      continue;
    }
    candidates.push({ ...segment, parsed });
  }
  return candidates;
}

/**
 * Writes which memberships begin and end, and marks the players dirty for the segments that refer to these, in
 * transactions of up to 5,000 changes. `last` runs in the last one. `is_remembered`: `last` writes or removes
 * the rows of `evaluated_players`; otherwise the rows of players who change are removed here.
 */
export async function writeVerdict(
  session: Session,
  project: ProjectRef,
  { entered, left }: Pick<SegmentVerdict, 'entered' | 'left'>,
  now: Date,
  last: (tx: Tx) => Promise<void>,
  is_remembered = false,
): Promise<void> {
  const changes = [
    ...entered.map((one) => ({ one, enters: true })),
    ...left.map((one) => ({ one, enters: false })),
  ];
  for (let from = 0; from === 0 || from < changes.length; from += MAX_CHANGED) {
    const part = changes.slice(from, from + MAX_CHANGED);
    const of = (wanted: boolean) => part.filter(({ enters }) => enters === wanted).map(({ one }) => one);
    await retryConflicts(() =>
      session.begin(async (tx) => {
        await changeMemberships(tx, project, of(true), of(false), now);
        if (!is_remembered)
          await forgetEvaluated(
            tx,
            project,
            part.map(({ one }) => one.player_id),
          );
        await markDependentsDirty(
          tx,
          project,
          part.map(({ one }) => one),
          now,
        );
        if (from + MAX_CHANGED >= changes.length) await last(tx);
      }),
    );
  }
}
