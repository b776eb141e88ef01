import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { addressHash } from './erasure-key.ts';
import {
  CHANNEL_OF,
  protectPlayer,
  selectKept,
  selectNewAddresses,
  spellWhereKept,
  suppressAgain,
  type Address,
  type AddressedPlayer,
  type Protection,
  type SpelledAddress,
} from './kept-queries.ts';
import { recordExclusions } from './record-queries.ts';

/** What somebody writes of a player that may be an address. */
interface Written {
  columns: {
    email?: string | null | undefined;
    phone?: string | null | undefined;
    external_id?: string | undefined;
  };
  attributes: Record<string, unknown>;
}

/** The addresses in what is written of a player. */
export function addressesIn({ columns, attributes }: Written): Address[] {
  const { email, phone, external_id } = columns;
  const given = { email, phone, external_id, push_token: attributes['push_token'] };
  return Object.entries(given).flatMap(([kind, text]) =>
    typeof text === 'string' && text !== '' ? [{ kind: kind as Address['kind'], text }] : [],
  );
}

/**
 * The protections that are kept of erased people who had one of these addresses, each with the address: what bars a
 * message to it, or a player who registers with it.
 */
export async function keptProtections(
  tx: Tx,
  erasure_key: Buffer,
  project: ProjectRef,
  addresses: readonly SpelledAddress[],
): Promise<(Protection & { address: SpelledAddress })[]> {
  if (addresses.length === 0) return [];
  const hashed = new Map(
    addresses.map((address) => [addressHash(erasure_key, project, address).toString('hex'), address]),
  );
  const hashes = [...hashed.keys()].map((hash) => Buffer.from(hash, 'hex'));
  const kept = await selectKept(tx, project.tenant_id, hashes);
  return kept.flatMap(({ address_hash, ...protection }) => {
    const address = hashed.get(address_hash.toString('hex'));
    return address === undefined ? [] : [{ ...protection, address }];
  });
}

/**
 * Which of the addresses that are written are new to the player; sent before they are written. It is sent when the
 * transaction has locked the player: an erasure keeps its protections, and then waits for transactions that have written,
 * so each of them has either seen what is kept, or is seen by the erasure. Pass the result to {@link protectAgain}.
 */
export function newAddresses(tx: Tx, ref: AddressedPlayer, written: Written): Promise<SpelledAddress[]> {
  return selectNewAddresses(tx, ref, addressesIn(written));
}

/** Does {@link newAddresses} and {@link protectAgain} for players of one tenant whom the transaction has inserted. */
export async function protectNewcomers(
  tx: Tx,
  erasure_key: Buffer,
  newcomers: readonly { ref: AddressedPlayer; written: Written }[],
  now: Date,
): Promise<void> {
  const all = newcomers.map(({ ref, written }) => ({ ref, addresses: addressesIn(written) }));
  const tenant_id = newcomers[0]?.ref.tenant_id ?? '';
  const spelled = await spellWhereKept(
    tx,
    tenant_id,
    all.flatMap(({ addresses }) => addresses),
  );
  if (spelled.length === 0) return;
  const found = new Map(spelled.map((address) => [`${address.kind} ${address.text}`, address]));
  for (const { ref, addresses } of all) {
    const own = addresses.flatMap(({ kind, text }) => found.get(`${kind} ${text}`) ?? []);
    await protectAgain(tx, erasure_key, ref, own, now);
  }
}

/**
 * An excluded person whose data were erased stays excluded when the person registers again: gives the player, whose row is
 * locked or new, what is kept under the addresses that it has got. An address that the player had already changes nothing,
 * so what an operator has lifted stays lifted.
 */
export async function protectAgain(
  tx: Tx,
  erasure_key: Buffer,
  ref: AddressedPlayer,
  addresses: readonly SpelledAddress[],
  now: Date,
): Promise<void> {
  const kept = await keptProtections(tx, erasure_key, ref, addresses);
  if (kept.length === 0) return;
  await giveProtections(tx, ref, kept, now);
  for (const { protection, address, reason, since } of kept) {
    const channel = CHANNEL_OF[address.kind];
    if (protection !== 'suppression' || channel === undefined || reason === null) continue;
    await suppressAgain(tx, ref.tenant_id, { channel, text: address.text, reason, since });
  }
}

/** Gives a player, whose row is locked or new, the exclusion, the ban and the break of another person who has its address. */
export async function giveProtections(
  tx: Tx,
  ref: AddressedPlayer,
  kept: readonly Protection[],
  now: Date,
): Promise<void> {
  const of = (kind: Protection['protection']) => kept.filter(({ protection }) => protection === kind);
  const excluded = of('self_exclusion').map(({ since }) => since.getTime());
  const breaks = of('cooldown').flatMap(({ until }) =>
    until !== null && until > now ? [until.getTime()] : [],
  );
  const given = {
    excluded_since: excluded.length === 0 ? null : new Date(Math.min(...excluded)),
    is_banned: of('ban').length > 0,
    cooldown_until: breaks.length === 0 ? null : new Date(Math.max(...breaks)),
  };
  if (given.excluded_since === null && !given.is_banned && given.cooldown_until === null) return;
  await protectPlayer(tx, ref, given, now);
  const excluded_at_ms = given.excluded_since?.getTime();
  await recordExclusions(tx, [{ ...ref, source: 'erasure', excluded_at_ms }], now);
}
