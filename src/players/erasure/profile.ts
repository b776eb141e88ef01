import type { Clock } from '../../platform/clock.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { retryConflicts, WriteConflict } from '../../platform/postgres/retry.ts';
import type { ErasedPerson, PlayerDependent } from '../dependents.ts';
import { addressHash } from '../exclusions/erasure-key.ts';
import { giveProtections } from '../exclusions/kept.ts';
import {
  insertKept,
  spellAddresses,
  type Protection,
  type SpelledAddress,
} from '../exclusions/kept-queries.ts';
import type { PlayerRef } from '../player-ref.ts';
import { softDeletePlayer } from '../profile/queries.ts';
import {
  deleteSuppressions,
  eraseAuditOfAddresses,
  lockProtected,
  selectMergedAddresses,
  selectSharers,
  selectSuppressions,
  wipeProfile,
  type ProtectedPlayer,
} from './profile-queries.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
  dependents: readonly PlayerDependent[];
  erasure_key: Buffer;
}

/** Other players with an address of the person, at most: more share an office's number than a person's. */
const MAX_SHARERS = 1_000;

type Kept = Protection & { address: SpelledAddress };

/**
 * Deletes the player if it is not deleted, keeps its protections under hashes of its addresses, gives them to other players
 * with one of these addresses, and empties its row, in one transaction. Returns how many rows were changed: 0 when the row
 * was emptied before.
 */
export async function eraseProfile(deps: Deps, person: ErasedPerson): Promise<number> {
  const ref = refOf(person);
  return retryConflicts(() => deps.postgres.service.begin((tx) => eraseOnce(deps, tx, person, ref)));
}

async function eraseOnce(
  { postgres, clock, dependents, erasure_key }: Deps,
  tx: Tx,
  person: ErasedPerson,
  ref: PlayerRef,
): Promise<number> {
  const player = await lockProtected(tx, ref);
  if (player === undefined) throw new WriteConflict('the player was merged');
  if (player.erased_at !== null) return 0;
  const now = new Date(clock.now_ms());
  const own = await spellAddresses(tx, addressesOf(player));
  const addresses = [...own, ...(await selectMergedAddresses(tx, ref))];
  const suppressed = await selectSuppressions(tx, person.tenant_id, addresses);
  const kept: Kept[] = addresses.flatMap((address) => [
    ...protectionsOf(player, now).map((protection) => ({ ...protection, address })),
    ...suppressed
      .filter(({ kind, spelled }) => kind === address.kind && spelled === address.spelled)
      .map(({ reason, created_at }) => suppressionOf(address, reason, created_at)),
  ]);
  await deleteSuppressions(
    tx,
    person.tenant_id,
    suppressed.map(({ suppression_id }) => suppression_id),
  );
  await insertKept(
    tx,
    person.tenant_id,
    kept.map(({ address, ...rest }) => ({ ...rest, address_hash: addressHash(erasure_key, ref, address) })),
  );
  if (kept.length > 0) await protectSharers(postgres, tx, person, kept, now);
  if (player.deleted_at === null) {
    await softDeletePlayer(tx, ref, now);
    for (const dependent of dependents) await dependent.onDelete?.(tx, ref, now);
  }
  const audited = await eraseAuditOfAddresses(tx, person, addresses);
  await wipeProfile(tx, person, now);
  return 1 + suppressed.length + audited;
}

/** Whoever has an address of the person keeps what was barred because of the person. */
async function protectSharers(
  postgres: Postgres,
  tx: Tx,
  person: ErasedPerson,
  kept: readonly Kept[],
  now: Date,
): Promise<void> {
  const addresses = kept.map(({ address }) => address);
  // On a connection for long reads: no transaction is held up by it but this one.
  const sharers = await postgres.countAsTenant(person.tenant_id, (reading) =>
    selectSharers(reading, person, addresses, MAX_SHARERS),
  );
  const found = new Map(sharers.map((sharer) => [sharer.player_id, sharer]));
  for (const sharer of found.values()) {
    const { tenant_id, project_id, player_id } = sharer;
    const theirs = sharers.filter((one) => one.player_id === player_id);
    const shared = kept.flatMap((one) => {
      const same = theirs.find(({ kind }) => kind === one.address.kind);
      return same === undefined ? [] : [{ ...one, address: same }];
    });
    await giveProtections(tx, { tenant_id, project_id, player_id }, shared, now);
  }
}

/** The key of the person's player. */
export function refOf({ tenant_id, project_id, player_ids }: ErasedPerson): PlayerRef {
  return { tenant_id, project_id, player_id: player_ids[0] ?? '' };
}

function addressesOf({ email, phone, external_id, push_token }: ProtectedPlayer) {
  const given = { email, phone, external_id, push_token };
  return Object.entries(given).flatMap(([kind, text]) =>
    text === null || text === '' ? [] : [{ kind: kind as keyof typeof given, text }],
  );
}

function protectionsOf(player: ProtectedPlayer, now: Date): Protection[] {
  const { is_excluded, self_excluded_at, is_banned, cooldown_until, updated_at } = player;
  const since = { since: self_excluded_at ?? updated_at, until: null, reason: null };
  return [
    ...(is_excluded ? [{ ...since, protection: 'self_exclusion' as const }] : []),
    ...(is_banned ? [{ ...since, since: updated_at, protection: 'ban' as const }] : []),
    ...(cooldown_until !== null && cooldown_until > now
      ? [{ since: updated_at, until: cooldown_until, reason: null, protection: 'cooldown' as const }]
      : []),
  ];
}

function suppressionOf(address: SpelledAddress, reason: string, since: Date): Kept {
  return { protection: 'suppression', since, until: null, reason, address };
}
