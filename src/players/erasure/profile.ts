import { setTimeout as sleep } from 'node:timers/promises';
import { NIL_ID } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts, WriteConflict } from '../../platform/postgres/retry.ts';
import { isPast, takeTransactionId } from '../../platform/postgres/horizon.ts';
import type { ErasedPerson, PlayerDependent } from '../dependents.ts';
import { addressHash } from '../../protection/exclusions/erasure-key.ts';
import { giveProtections } from '../../protection/exclusions/kept.ts';
import {
  insertKept,
  spellAddresses,
  type Protection,
  type SpelledAddress,
} from '../../protection/exclusions/kept-queries.ts';
import type { PlayerRef } from '../player-ref.ts';
import { softDeletePlayer } from '../profile/queries.ts';
import {
  deleteSuppressions,
  eraseAuditOfAddresses,
  forgetIds,
  lockProtected,
  selectMergedAddresses,
  selectSharers,
  selectSuppressions,
  wipeProfile,
  type ProtectedPlayer,
} from './profile-queries.ts';
import type { Platform } from '../../platform/platform.ts';

interface Deps extends Pick<Platform, 'postgres' | 'clock'> {
  dependents: readonly PlayerDependent[];
  erasure_key: Buffer;
}

/** Other players with an address of the person whom one transaction protects. */
const SHARERS_AT_ONCE = 100;
/** Rows of the audit log that one transaction changes. */
const AUDITS_AT_ONCE = 2_000;
/** How long an erasure waits for transactions that began before it, and how often it looks. */
const OTHERS_MS = 10_000;
const POLL_MS = 10;

type Kept = Protection & { address: SpelledAddress };

/** Something of the person is still being worked on: the erasure goes on later. */
export class InUse extends Error {
  override readonly name = 'InUse';
}

/** What of a person is kept, and from what it was computed. */
interface Found {
  player: ProtectedPlayer;
  addresses: readonly SpelledAddress[];
  suppressed: Awaited<ReturnType<typeof selectSuppressions>>;
  kept: readonly Kept[];
  /** What the player itself is barred by. */
  own: readonly Protection[];
}

/**
 * Keeps the protections of a player under hashes of its addresses, gives them to other players with one of these addresses,
 * then deletes the player if it is not deleted, and empties its row. Returns how many rows were changed: 0 when the row was
 * emptied before. The protections are kept first: who registers after that gets them, and who has registered before is found
 * by the address, because nothing is emptied until the transactions of both have ended. Rejects with {@link InUse} when they
 * do not end.
 */
export function eraseProfile(deps: Deps, person: ErasedPerson): Promise<number> {
  return erase(deps, person, async (tx, { player, addresses, suppressed }) => {
    if (player.erased_at !== null) return 0;
    const now = new Date(deps.clock.now_ms());
    const lifted = await deleteSuppressions(tx, person, suppressed);
    if (player.deleted_at === null) {
      const ref = refOf(person);
      await softDeletePlayer(tx, ref, now);
      for (const dependent of deps.dependents) await dependent.onDelete?.(tx, ref, now);
    }
    await wipeProfile(tx, person, addresses, now);
    return 1 + lifted;
  });
}

/**
 * Removes what still links the addresses and the anonymous ids to a player whose row {@link eraseProfile} has emptied. To be
 * called when everything is folded that was accepted before the row was empty: what protects the player by then is kept in
 * the same way as before. Returns how many rows were changed. Idempotent. Rejects with {@link InUse} as `eraseProfile` does.
 */
export function forgetProfile(deps: Deps, person: ErasedPerson): Promise<number> {
  return erase(deps, person, async (tx, { suppressed }) => {
    const lifted = await deleteSuppressions(tx, person, suppressed);
    return lifted + (await forgetIds(tx, person));
  });
}

/** Keeps what protects the person, and then runs `remove` with the player locked, if nothing else protects it by then. */
async function erase(
  deps: Deps,
  person: ErasedPerson,
  remove: (tx: Tx, found: Found) => Promise<number>,
): Promise<number> {
  const { service } = deps.postgres;
  return retryConflicts(async () => {
    const before = await service.begin((tx) => keep(deps, tx, person));
    if (before.kept.length > 0) {
      await othersEnd(deps);
      await protectSharers(deps, person, before);
    }
    const audited = await eraseAudit(deps, person, before);
    const removed = await service.begin(async (tx) => {
      const found = await keep(deps, tx, person);
      if (textOf(found) !== textOf(before)) throw new WriteConflict('what protects the player was changed');
      return remove(tx, found);
    });
    return audited + removed;
  });
}

/** Locks the player, and keeps what protects it. */
async function keep({ clock, erasure_key }: Deps, tx: Tx, person: ErasedPerson): Promise<Found> {
  const ref = refOf(person);
  const player = await lockProtected(tx, ref);
  if (player === undefined) throw new WriteConflict('the player was merged');
  const now = new Date(clock.now_ms());
  const addresses = [
    ...(await spellAddresses(tx, addressesOf(player))),
    ...(await selectMergedAddresses(tx, ref)),
  ];
  const suppressed = await selectSuppressions(tx, person.tenant_id, addresses);
  const own = protectionsOf(player, now);
  const kept: Kept[] = addresses.flatMap((address) => [
    ...own.map((protection) => ({ ...protection, address })),
    ...suppressed
      .filter(({ kind, spelled }) => kind === address.kind && spelled === address.spelled)
      .map(({ reason, created_at }) => suppressionOf(address, reason, created_at)),
  ]);
  const hashed = kept.map(({ address, ...rest }) => ({
    ...rest,
    address_hash: addressHash(erasure_key, ref, address),
  }));
  await insertKept(tx, person.tenant_id, hashed);
  return { player, addresses, suppressed, kept, own };
}

/** Resolves when every transaction has ended that may have looked for kept protections before they were committed. */
async function othersEnd({ postgres: { service }, clock }: Deps): Promise<void> {
  const until_xid = await takeTransactionId(service);
  const deadline_ms = clock.now_ms() + OTHERS_MS;
  while (!(await isPast(service, until_xid))) {
    if (clock.now_ms() >= deadline_ms) throw new InUse('transactions that began before do not end');
    await sleep(POLL_MS);
  }
}

/** Who has an address of the person gets what the person was barred by. */
async function protectSharers(
  { postgres, clock }: Deps,
  person: ErasedPerson,
  { addresses, own }: Found,
): Promise<void> {
  const bars = {
    is_excluded: own.some(({ protection }) => protection === 'self_exclusion'),
    is_banned: own.some(({ protection }) => protection === 'ban'),
    cooldown_until: own.find(({ protection }) => protection === 'cooldown')?.until ?? null,
  };
  // By position: a break may end meanwhile, and who lacks it then goes on to lack it.
  for (let after: string | undefined = NIL_ID; after !== undefined;) {
    const position: string = after;
    const sharers = await postgres.service.begin(async (tx) => {
      const found = await selectSharers(tx, person, addresses, bars, {
        after: position,
        limit: SHARERS_AT_ONCE,
      });
      const now = new Date(clock.now_ms());
      for (const sharer of found) await giveProtections(tx, sharer, own, now);
      return found;
    });
    after = sharers.length < SHARERS_AT_ONCE ? undefined : sharers.at(-1)?.player_id;
  }
}

async function eraseAudit({ postgres }: Deps, person: ErasedPerson, { addresses }: Found): Promise<number> {
  for (let all = 0; ;) {
    const rows = await postgres.service.begin((tx) =>
      eraseAuditOfAddresses(tx, person, addresses, AUDITS_AT_ONCE),
    );
    all += rows;
    if (rows < AUDITS_AT_ONCE) return all;
  }
}

/** What is kept, as a text: equal for the same protections of the same addresses. */
function textOf({ kept, addresses }: Found): string {
  return JSON.stringify([kept, addresses].map((of) => of.map((one) => JSON.stringify(one)).toSorted()));
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
