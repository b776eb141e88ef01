import { ApiError, validationError } from '../../errors.ts';
import { auditOf, type AuditChange } from '../../http/audit.ts';
import { describeNeeded, roleAllows, type Role } from '../../http/auth/roles.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { addressesIn, newAddresses, protectAgain } from '../../protection/exclusions/kept.ts';
import { recordExclusions } from '../../protection/exclusions/record-queries.ts';
import { playerAuditOf, playerVersionOf, type PlayerRow } from './player-json.ts';
import { MAX_ATTRIBUTES_BYTES, isEmptyPatch, splitAttributes, type ProfilePatch } from './profile-patch.ts';
import type { PlayerDependent } from '../dependents.ts';
import type { PlayerRef } from '../player-ref.ts';
import {
  lockLivePlayers,
  lockPlayer,
  patchAttributes,
  patchPlayer,
  selectPlayer,
  softDeletePlayer,
  type AttributePatch,
} from './queries.ts';
import { withSurvivor } from './read.ts';
import type { PatchPlayerBody } from './schema.ts';
import type { Platform } from '../../platform/platform.ts';

interface Deps extends Pick<Platform, 'postgres' | 'clock'> {
  audit: AuditChange;
}

/** What a change of addresses needs besides: the key under which protections of erased people are kept. */
interface ChangeDeps extends Deps {
  erasure_key: Buffer;
  /** The role of the member who changes the player. */
  role: Role;
}

/**
 * Changes a player's profile. Setting the status to self_excluded also sets `self_excluded`; setting it from there to
 * active clears it. Lifting a ban from a player who is self-excluded results in the status self_excluded. A new address of
 * an excluded person who was erased excludes the player. Rejects with PLAYER_NOT_FOUND, CONFLICT (the player is deleted),
 * FORBIDDEN (an exclusion would end, and the role does not allow it) or VALIDATION_ERROR (custom attributes too large).
 */
export async function changePlayer(
  { postgres, clock, audit, erasure_key, role }: ChangeDeps,
  ref: PlayerRef,
  { custom_attributes = {}, ...columns }: PatchPlayerBody,
): Promise<PlayerRow> {
  const patch = { columns, ...splitAttributes(custom_attributes) };
  const change = async (tx: Tx, one: PlayerRef) => {
    const [locked, before] = await lockAndRead(tx, one);
    if (before?.status === 'self_excluded' && columns.status === 'active') requireLift(role, one);
    const now_ms = clock.now_ms();
    // Sent together, run in this order.
    const [addresses] = await Promise.all([newAddresses(tx, one, patch), applyPatch(tx, one, patch, now_ms)]);
    await protectAgain(tx, erasure_key, one, addresses, new Date(now_ms));
    const [player] = await selectPlayer(tx, one);
    if (player === undefined || locked === undefined) return undefined;
    if (locked.deleted_at !== null) throw new ApiError('CONFLICT', `player ${ref.player_id} is deleted`);
    await auditPlayer(audit, tx, one, before, player);
    return player;
  };
  return withSurvivor(postgres, ref, (one) =>
    retryConflicts(() => postgres.asTenant(one.tenant_id, (tx) => change(tx, one))),
  );
}

/** FORBIDDEN: the role may not end a self-exclusion. */
function requireLift(role: Role, { player_id }: PlayerRef): void {
  if (roleAllows(role, 'compliance')) return;
  const message = `player ${player_id} is self-excluded: to end that, the role ${describeNeeded('compliance')} is needed, not ${role}`;
  throw new ApiError('FORBIDDEN', message);
}

/** Soft delete (spec part 3). Deleting a deleted player gives the same answer again. Rejects with PLAYER_NOT_FOUND. */
export async function deletePlayer(
  { postgres, clock, dependents, audit }: Deps & { dependents: readonly PlayerDependent[] },
  ref: PlayerRef,
): Promise<PlayerRow> {
  const now = new Date(clock.now_ms());
  return withSurvivor(postgres, ref, async (one) => {
    return retryConflicts(() =>
      postgres.asTenant(one.tenant_id, async (tx) => {
        const [, before] = await lockAndRead(tx, one);
        // Sent together, run in this order.
        const [, [player]] = await Promise.all([
          Promise.all([
            softDeletePlayer(tx, one, now),
            ...dependents.map((dependent) => dependent.onDelete?.(tx, one, now)),
          ]),
          selectPlayer(tx, one),
        ]);
        if (player !== undefined) await auditPlayer(audit, tx, one, before, player);
        return player;
      }),
    );
  });
}

/** Locks a player and then reads it, so that the audit log has what was there before the change and after every other. */
async function lockAndRead(
  tx: Tx,
  ref: PlayerRef,
): Promise<[locked: Awaited<ReturnType<typeof lockPlayer>>, before: PlayerRow | null]> {
  // Sent together. The bare query is sent last; with `execute` it would be sent before the lock.
  const [locked, [before]] = await Promise.all([lockPlayer(tx, ref), selectPlayer(tx, ref)]);
  return [locked, before ?? null];
}

const auditPlayer = auditOf<'player_id', PlayerRef, PlayerRow>(
  { id: 'player_id' },
  playerAuditOf,
  playerVersionOf,
);

/** What is different where identify writes. */
interface PatchOptions {
  /** When the values were known. */
  identified_at?: Date | undefined;
  /** Of all custom attributes after the change. */
  max_bytes?: number;
}

/** Writes the patch to a player whose row is locked; VALIDATION_ERROR when its attributes grow over `max_bytes`. */
export async function applyPatch(
  tx: Tx,
  ref: PlayerRef,
  patch: ProfilePatch,
  now_ms: number,
  { identified_at, max_bytes = MAX_ATTRIBUTES_BYTES }: PatchOptions = {},
): Promise<void> {
  if (isEmptyPatch(patch)) return;
  const now = new Date(now_ms);
  // Sent together, run in this order.
  const [bytes] = await Promise.all([
    patchPlayer(tx, ref, patch, now, identified_at),
    patch.columns.status === undefined
      ? undefined
      : recordExclusions(tx, [{ ...ref, source: 'operator' }], now),
  ]);
  requireSize(bytes, max_bytes);
}

/**
 * Changes custom attributes of many players, each named once, as a PATCH of each would; deleted players stay as they
 * are. A push token of an excluded person who was erased excludes the player. VALIDATION_ERROR when the attributes of one
 * grow too large.
 */
export async function applyAttributes(
  tx: Tx,
  erasure_key: Buffer,
  patches: readonly AttributePatch[],
  now: Date,
): Promise<void> {
  if (patches.length === 0) return;
  const addressed = patches
    .map((patch) => ({ patch, written: { columns: {}, attributes: patch.attributes } }))
    .filter(({ written }) => addressesIn(written).length > 0);
  // Sent together, run in this order.
  const [, found, bytes] = await Promise.all([
    addressed.length === 0 ? undefined : lockLivePlayers(tx, patches),
    Promise.all(addressed.map(({ patch, written }) => newAddresses(tx, patch, written))),
    patchAttributes(tx, patches, now),
  ]);
  requireSize(bytes);
  for (const [i, { patch }] of addressed.entries())
    await protectAgain(tx, erasure_key, patch, found[i] ?? [], now);
}

function requireSize(bytes = 0, max_bytes = MAX_ATTRIBUTES_BYTES): void {
  if (bytes > max_bytes) throw attributesTooLarge(max_bytes);
}

/** VALIDATION_ERROR: custom attributes are larger than they may be. */
export function attributesTooLarge(max_bytes: number): ApiError {
  const message = `must be at most ${max_bytes} bytes of JSON in all`;
  return validationError([{ path: 'custom_attributes', message }]);
}
