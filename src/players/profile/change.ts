import { ApiError, validationError } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { PlayerRow } from './player-json.ts';
import { MAX_ATTRIBUTES_BYTES, isEmptyPatch, splitAttributes, type ProfilePatch } from './profile-patch.ts';
import type { PlayerDependent } from '../dependents.ts';
import type { PlayerRef } from '../player-ref.ts';
import { lockPlayer, patchPlayer, selectPlayer, softDeletePlayer } from './queries.ts';
import { withSurvivor } from './read.ts';
import type { PatchPlayerBody } from './schema.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
}

/**
 * Changes a player's profile. Setting the status changes nothing else; lifting a ban from a player whose events say
 * self-excluded leads back to self_excluded. Rejects with PLAYER_NOT_FOUND, CONFLICT
 * (the player is deleted) or VALIDATION_ERROR (custom attributes too large).
 */
export async function changePlayer(
  { postgres, clock }: Deps,
  ref: PlayerRef,
  { custom_attributes = {}, ...columns }: PatchPlayerBody,
): Promise<PlayerRow> {
  const patch = { columns, ...splitAttributes(custom_attributes) };
  const change = async (tx: Tx, one: PlayerRef) => {
    const [locked, , [player]] = await Promise.all([
      lockPlayer(tx, one),
      applyPatch(tx, one, patch, clock.now_ms()),
      selectPlayer(tx, one),
    ]);
    if (player === undefined || locked === undefined) return undefined;
    if (locked.deleted_at !== null) throw new ApiError('CONFLICT', `player ${ref.player_id} is deleted`);
    return player;
  };
  return withSurvivor(postgres, ref, (one) =>
    retryConflicts(() => postgres.asTenant(one.tenant_id, (tx) => change(tx, one))),
  );
}

/** Soft delete (spec part 3). Deleting a deleted player answers the same again. Rejects with PLAYER_NOT_FOUND. */
export async function deletePlayer(
  { postgres, clock, dependents }: Deps & { dependents: readonly PlayerDependent[] },
  ref: PlayerRef,
): Promise<PlayerRow> {
  const now = new Date(clock.now_ms());
  return withSurvivor(postgres, ref, async (one) => {
    const [, [player]] = await retryConflicts(() =>
      postgres.asTenant(one.tenant_id, (tx) =>
        // Issued together, run in this order.
        Promise.all([
          Promise.all([
            softDeletePlayer(tx, one, now),
            ...dependents.map((dependent) => dependent.onDelete?.(tx, one, now)),
          ]),
          selectPlayer(tx, one),
        ]),
      ),
    );
    return player;
  });
}

/** Writes the patch to a player whose row is locked; VALIDATION_ERROR when its attributes grow too large. */
export async function applyPatch(tx: Tx, ref: PlayerRef, patch: ProfilePatch, now_ms: number): Promise<void> {
  if (isEmptyPatch(patch)) return;
  const bytes = await patchPlayer(tx, ref, patch, new Date(now_ms));
  if (bytes !== undefined && bytes > MAX_ATTRIBUTES_BYTES) {
    const message = `must be at most ${MAX_ATTRIBUTES_BYTES} bytes of JSON in all`;
    throw validationError([{ path: 'custom_attributes', message }]);
  }
}
