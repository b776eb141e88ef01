import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { Address } from '../../protection/exclusions/address-queries.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { SuppressionReason } from './suppressions/schema.ts';

/**
 * Suppresses an address on a channel for the whole tenant. Idempotent: the first reason stays, and it returns false. An
 * unsubscription that is there counts from `now` on, so that no earlier resubscription lifts it that is reported late.
 */
export async function suppress(
  tx: Tx,
  { tenant_id, channel, address }: { tenant_id: string; channel: Channel; address: string },
  reason: SuppressionReason,
  now: Date,
): Promise<boolean> {
  const given = tx`select ${channel}::text as channel, ${address}::text as address, ${now}::timestamptz as at`;
  // Sent together, run in this order.
  const [, { count }] = await Promise.all([
    reason === 'unsubscribe' ? renewUnsubscriptionsSql(tx, tx`${tenant_id}::uuid`, given) : undefined,
    tx`
      insert into suppressions (tenant_id, channel, address, reason, created_at)
      select ${tenant_id}, ${channel}, suppressed_address(${address}), ${reason}, ${now}
      where suppressed_address(${address}) <> ''
      on conflict do nothing`,
  ]);
  return count > 0;
}

/**
 * Sets the time of unsubscriptions that are stored to that of the last one. `given`: rows of `channel`, `address` and `at` of
 * those who have unsubscribed. It runs before the others are inserted: it locks those that are there, so that nobody lifts one
 * in between.
 */
export function renewUnsubscriptionsSql(
  tx: Tx,
  tenant_id: PendingQuery<Row[]>,
  given: PendingQuery<Row[]>,
): PendingQuery<Row[]> {
  // The rows are found by arrays of keys: among messages, whose plans are settled so, a join would read all suppressions.
  return tx`
    with unsubscribed as materialized (
      select u.channel, address_key(u.channel, u.address) as key, max(u.at) as at from (${given}) u group by 1, 2
    )
    update suppressions x set created_at = g.at
    from unsubscribed g
    where x.suppression_id = any(array(
        select o.suppression_id from suppressions o
        where o.tenant_id = ${tenant_id} and o.channel = 'sms'
          and o.dialled = any(array(select key from unsubscribed where channel = 'sms'))
        union all
        select o.suppression_id from suppressions o
        where o.tenant_id = ${tenant_id} and o.channel in ('email', 'push')
          and o.address = any(array(select key from unsubscribed where channel <> 'sms'))))
      and x.tenant_id = ${tenant_id} and x.channel = g.channel and coalesce(x.dialled, x.address) = g.key
      and x.reason = 'unsubscribe' and x.created_at < g.at`;
}

/** An address whose owner wanted messages again at a moment. */
export interface Resubscription {
  address: string;
  at_ms: number;
}

/**
 * Lifts the unsubscriptions of these addresses from a channel, as far as they are not later than the moment; other
 * suppressions stay. Returns how many it has lifted.
 */
export async function liftUnsubscriptions(
  tx: Tx,
  tenant_id: string,
  channel: Channel,
  wanted: readonly Resubscription[],
): Promise<number> {
  const { count } = await tx`
    delete from suppressions d where d.tenant_id = ${tenant_id} and d.ctid = any(array(
      select o.ctid
      from (
        select address_key(${channel}, u.address) as key, u.at_ms
        from ${rowsOf(tx, 'u', wanted, { address: 'text', at_ms: 'bigint' })}
        offset 0) w
      cross join lateral (
        select x.ctid from suppressions x
        where ${isSameAddressSql(tx, { tenant_id: tx`${tenant_id}::uuid`, channel, key: tx`w.key` })}
          and x.reason = 'unsubscribe' and x.created_at <= 'epoch'::timestamptz + w.at_ms * interval '1 millisecond'
        offset 0) o))`;
  return count;
}

/** Whether the row `x` of suppressions is of the address. */
export function isSameAddressSql(tx: Tx, { tenant_id, channel, key }: Address): PendingQuery<Row[]> {
  // The channel as the index suppressions_dialled has it: otherwise the planner cannot use it.
  const is_same =
    channel === 'sms'
      ? tx`x.channel = 'sms' and x.dialled = ${key}`
      : tx`x.channel = ${channel} and x.address = ${key}`;
  return tx`x.tenant_id = ${tenant_id} and ${is_same}`;
}
