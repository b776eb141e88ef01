import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, validationError } from '../../errors.ts';
import type { Auditing } from '../../http/audit.ts';
import { DEPARTURE_MS } from '../../ingest/intake/exclusions.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { withSurvivor } from '../../players/profile/read.ts';
import { recordExclusions } from '../../protection/exclusions/record-queries.ts';
import { selectExclusionsOf, type ListedExclusion } from './exclusion-queries.ts';
import { lockProtection, writeProtection, type ProtectionState } from './officer-queries.ts';
import type { ExcludeBody } from './schema.ts';

/** Nobody can shorten a break, so a wrong year must not bar a person for decades. */
const MAX_BREAK_MS = 2 * 366 * 86_400_000;

type Deps = Pick<Platform, 'postgres' | 'clock'> & Auditing;

/**
 * Excludes a player, or begins or prolongs a break, for somebody who asked by another way than the operator's systems.
 * Resolves with its record once the exclusion holds in every process: as an event does, 250 ms after it was written. The
 * audit log has the reason. Rejects with PLAYER_NOT_FOUND, VALIDATION_ERROR (a break that is over already), or CONFLICT when
 * the player is excluded already, or has a break that lasts as long.
 */
export async function excludePlayer(
  deps: Deps,
  named: PlayerRef,
  body: ExcludeBody,
): Promise<ListedExclusion> {
  const { kind, reason } = body;
  const record = await change(deps, named, reason, (before, now) => {
    if (kind === 'self_exclusion') {
      if (before.self_excluded) throw conflict(named, 'is excluded already');
      return { ...before, self_excluded: true };
    }
    const cooldown_until = new Date(body.until);
    if (cooldown_until <= now) {
      throw validationError([{ path: 'until', message: 'must be in the future' }]);
    }
    if (cooldown_until.getTime() > now.getTime() + MAX_BREAK_MS) {
      throw validationError([
        { path: 'until', message: 'must be at most two years ahead: for longer, set a self_exclusion' },
      ]);
    }
    if (before.cooldown_until !== null && before.cooldown_until >= cooldown_until) {
      const end = before.cooldown_until.toISOString();
      throw conflict(named, `has a break until ${end}, and a break is not shortened`);
    }
    return { ...before, cooldown_until };
  });
  await sleep(DEPARTURE_MS);
  return record;
}

/**
 * Ends the self-exclusion of a player; a break ends by itself. Resolves with its record, which has ended. The audit log has
 * the reason. Rejects with PLAYER_NOT_FOUND, or CONFLICT when the player is not excluded.
 */
export function liftExclusion(deps: Deps, named: PlayerRef, reason: string): Promise<ListedExclusion> {
  return change(deps, named, reason, (before) => {
    if (!before.self_excluded) throw conflict(named, 'is not excluded');
    return { ...before, self_excluded: false };
  });
}

async function change(
  { postgres, clock, audit }: Deps,
  named: PlayerRef,
  reason: string,
  decide: (before: ProtectionState, now: Date) => ProtectionState,
): Promise<ListedExclusion> {
  const write = async (tx: Tx, ref: PlayerRef): Promise<ListedExclusion | undefined> => {
    const [before] = await lockProtection(tx, ref);
    if (before === undefined) return undefined;
    const now = new Date(clock.now_ms());
    const wanted = decide(before, now);
    // Sent together, run in this order: the bare query is sent last.
    const [after, , records] = await Promise.all([
      writeProtection(tx, ref, wanted, now),
      recordExclusions(tx, [{ ...ref, source: 'operator' }], now),
      selectExclusionsOf(tx, ref),
    ]);
    const { tenant_id, project_id, player_id: resource_id } = ref;
    const image = (state: ProtectionState | undefined, note: string | null) => ({
      status: state?.status,
      self_excluded: state?.self_excluded,
      cooldown_until: state?.cooldown_until?.toISOString() ?? null,
      reason: note,
    });
    await audit(tx, {
      tenant_id,
      project_id,
      resource_id,
      before: image(before, null),
      after: image(after, reason),
    });
    const kind = wanted.self_excluded === before.self_excluded ? 'cooldown' : 'self_exclusion';
    return records.find((record) => record.kind === kind && record.player_id === resource_id);
  };
  return withSurvivor(postgres, named, (ref) =>
    retryConflicts(() => postgres.asTenant(ref.tenant_id, (tx) => write(tx, ref))),
  );
}

function conflict({ player_id }: PlayerRef, what: string): ApiError {
  return new ApiError('CONFLICT', `player ${player_id.slice(0, 64)} ${what}`);
}
