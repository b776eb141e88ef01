import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { retryConflicts, WriteConflict } from '../../platform/postgres/retry.ts';
import { isPast, takeTransactionId } from '../../platform/postgres/transaction-queries.ts';
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
export async function eraseProfile(deps: Deps, person: ErasedPerson): Promise<number> {
  return retryConflicts(async () => {
    const found = await deps.postgres.service.begin((tx) => keep(deps, tx, person));
    if (found.player.erased_at !== null) return 0;
    if (found.kept.length > 0) {
      await othersEnd(deps);
      await protectSharers(deps, person, found);
    }
    const audited = await eraseAudit(deps, person, found);
    return audited + (await deps.postgres.service.begin((tx) => wipe(deps, tx, person, found)));
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
  if (player.erased_at === null) await insertKept(tx, person.tenant_id, hashed);
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

/** Empties the row; rejects with WriteConflict when the player got another address or protection since `before`. */
async function wipe(deps: Deps, tx: Tx, person: ErasedPerson, before: Found): Promise<number> {
  const { clock, dependents } = deps;
  const ref = refOf(person);
  const { player, suppressed, kept } = await keep(deps, tx, person);
  if (player.erased_at !== null) return 0;
  const all = ({ kept: of }: Pick<Found, 'kept'>) =>
    JSON.stringify(of.map((one) => JSON.stringify(one)).toSorted());
  if (all({ kept }) !== all(before)) throw new WriteConflict('what protects the player was changed');
  const now = new Date(clock.now_ms());
  const lifted = await deleteSuppressions(tx, person, suppressed);
  if (player.deleted_at === null) {
    await softDeletePlayer(tx, ref, now);
    for (const dependent of dependents) await dependent.onDelete?.(tx, ref, now);
  }
  await wipeProfile(tx, person, now);
  return 1 + lifted;
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
