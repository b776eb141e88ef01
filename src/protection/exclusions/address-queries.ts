import type { PendingQuery, Row } from 'postgres';
import { EMPTY_IDS } from '../../platform/empty-ids.ts';
import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Channel } from '../../tenants/config/channels.ts';

type Fragment = PendingQuery<Row[]>;

/**
 * An address of a tenant, as expressions: the tenant, and the address as it is compared. Both are columns or of
 * {@link keyOfText}: with a function in a comparison, row-level security keeps it from using an index.
 */
export interface Address {
  tenant_id: Fragment;
  channel: Channel;
  key: Fragment;
}

/** Why a person gets nothing, the strongest first. */
export const PERSON_BARS = ['self_excluded', 'banned', 'cooldown'] as const;
export type PersonBar = (typeof PERSON_BARS)[number];

/** Of so many players who were merged away with an address the survivors are looked at. */
const MAX_MERGED = 1_000;

/** The address of the player `p` on the channel as it is compared; null without one. */
export function keyOfPlayer(tx: Tx, channel: Channel): Fragment {
  return tx`p.${tx(`${channel}_key`)}`;
}

/**
 * An address as it is compared with those of players and suppressions: of a telephone number what is dialled, of
 * everything else the lower case. A subquery, which is computed once.
 */
export function keyOfText(tx: Tx, channel: Channel, address: string): Fragment {
  return tx`(select address_key(${channel}, ${address}))`;
}

/**
 * The bars that are in force at `now` for the persons whose address it is: rows of `bar`, a {@link PersonBar}. An address
 * is of a player of any project of the tenant, deleted or not, or of one that was merged into a player. The only place that
 * knows which addresses are barred.
 */
export function barsOfAddressSql(tx: Tx, to: Address, now: Date): Fragment {
  const bar = tx`case when holder.self_excluded or holder.status = 'self_excluded' then 'self_excluded'
    when holder.status = 'banned' or holder.was_banned then 'banned' else 'cooldown' end as bar`;
  return tx`
    select ${bar} from players holder where ${hasAddress(tx, to)} and holder.barred_until > ${now}
    union all
    select barred.bar from (${mergedSql(tx, to, MAX_MERGED)}) survivor
    cross join lateral (
      select ${bar} from players holder
      where holder.player_id = survivor.player_id and holder.tenant_id = ${to.tenant_id}
        and holder.project_id = survivor.project_id and holder.barred_until > ${now} offset 0) barred`;
}

/**
 * The players whose address it is, barred or not: rows of `project_id` and `player_id`, at most `limit`. An address that a
 * player had when it was merged is the survivor's.
 */
export function holdersSql(tx: Tx, to: Address, limit: number): Fragment {
  return tx`
    select found.project_id, found.player_id from (
      (select holder.project_id, holder.player_id from players holder where ${hasAddress(tx, to)} limit ${limit})
      union (${mergedSql(tx, to, limit)})) found
    limit ${limit}`;
}

// The names of the rows are in no statement that these expressions become part of: an address may be one of its columns.

/** Whether the player `holder` has the address, by the index of the channel. */
function hasAddress(tx: Tx, to: Address): Fragment {
  return tx`holder.${tx(`${to.channel}_key`)} = ${to.key} and holder.tenant_id = ${to.tenant_id}
    and ${isAddress(tx, to)}`;
}

/**
 * Whether what is looked for is an address. Events of earlier versions on the log may have what programs write where they
 * have none: `undefined`, or a telephone number of zeros, or a short one of one digit. Those who have it in common are
 * strangers. A longer number may be somebody's. Only of what is looked for: a condition with a function on players keeps
 * row-level security from using an index.
 */
function isAddress(tx: Tx, { channel, key }: Address): Fragment {
  const is_text = tx`${key} <> all(${tx.unsafe(NO_ADDRESSES)})`;
  return channel === 'sms' ? tx`${is_text} and ${key} !~ '^(0+|([1-9])\\2{0,5})$'` : is_text;
}

const NO_ADDRESSES = `'${textArray(EMPTY_IDS)}'::text[]`;

/** The survivors of players who were merged away with the address. */
function mergedSql(tx: Tx, to: Address, limit: number): Fragment {
  return tx`select merged.project_id, merged.player_id from merged_addresses merged
    where merged.address_key = ${to.key} and merged.channel = ${literal(tx, to.channel)}
      and merged.tenant_id = ${to.tenant_id} and ${isAddress(tx, to)} limit ${limit}`;
}

function literal(tx: Tx, channel: Channel): Fragment {
  return tx.unsafe(`'${channel}'`);
}
