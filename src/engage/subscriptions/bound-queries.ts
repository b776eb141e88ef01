import type { Tx } from '../../platform/postgres/port.ts';
import { isClaimed } from '../webhooks/claim-queries.ts';
import { releaseNext, type Turn } from '../webhooks/turn-queries.ts';
import type { SubscriptionRef } from '../webhooks/subscription-ref.ts';
import { ofSubscription } from './queries.ts';

/** How many events of the subscription wait, counted up to `most`. */
export async function countPending(tx: Tx, ref: SubscriptionRef, most: number): Promise<number> {
  const [row] = await tx<{ pending: number }[]>`
    select count(*)::integer as pending from (
      select from webhook_deliveries where ${ofSubscription(tx, ref)} and status = 'pending' limit ${most}) d`;
  return row?.pending ?? 0;
}

/**
 * Removes the oldest `count` events of a locked subscription that wait and whose call is not under way, and counts them; returns
 * how many. After one that is called, none of its player is released.
 */
export async function dropOldest(tx: Tx, ref: SubscriptionRef, count: number, now: Date): Promise<number> {
  const dropped = await tx<Turn[]>`
    with oldest as materialized (
      select d.ctid from webhook_deliveries d
      where ${ofSubscription(tx, ref)} and d.status = 'pending' and not ${isClaimed(tx, now)}
      order by d.sequence limit ${count} for update skip locked)
    delete from webhook_deliveries d using oldest where d.ctid = oldest.ctid
    returning d.tenant_id, d.subscription_id, d.player_id`;
  if (dropped.length === 0) return 0;
  await releaseNext(tx, dropped, now);
  await tx`
    update event_subscriptions set dropped = dropped + ${dropped.length}, last_dropped_at = ${now}
    where ${ofSubscription(tx, ref)}`;
  return dropped.length;
}

/** Notes at which number of events those that wait are counted again. */
export async function noteCounted(tx: Tx, ref: SubscriptionRef, sequence: bigint): Promise<void> {
  await tx`update event_subscriptions set counted_at_sequence = ${sequence} where ${ofSubscription(tx, ref)}`;
}

/**
 * Removes up to `limit` ended events of a subscription that nothing replays any more: those queued before `before`, and those
 * up to the number `until`. The first ones in the order of their numbers are looked at. Returns how many were removed.
 */
export async function removeOld(
  tx: Tx,
  ref: SubscriptionRef,
  { before, until }: { before: Date; until: bigint },
  limit: number,
): Promise<number> {
  const { count } = await tx`
    with old as materialized (
      select d.ctid, d.created_at, d.sequence from (values ('delivered'), ('failed'), ('cancelled')) as ended (ended_status)
      cross join lateral (
        select ctid, created_at, sequence from webhook_deliveries
        where ${ofSubscription(tx, ref)} and status = ended_status
        order by sequence limit ${limit} for update skip locked) d)
    delete from webhook_deliveries d using old
    where d.ctid = old.ctid and (old.created_at < ${before} or old.sequence <= ${until})`;
  return count;
}

/** Removes up to `limit` events of a deleted subscription; returns how many. */
export async function removeAll(tx: Tx, ref: SubscriptionRef, limit: number): Promise<number> {
  const { count } = await tx`
    with gone as materialized (
      select ctid from webhook_deliveries where ${ofSubscription(tx, ref)} limit ${limit} for update skip locked)
    delete from webhook_deliveries d using gone where d.ctid = gone.ctid`;
  return count;
}

/** Subscriptions after this one in the order of their keys, deleted ones too. */
export async function selectSubscriptionsAfter(
  sql: Tx,
  after: SubscriptionRef,
  limit: number,
): Promise<(SubscriptionRef & { last_sequence: bigint; deleted_at: Date | null })[]> {
  return sql<(SubscriptionRef & { last_sequence: bigint; deleted_at: Date | null })[]>`
    select tenant_id, project_id, subscription_id, last_sequence, deleted_at from event_subscriptions
    where (tenant_id, project_id, subscription_id) > (${after.tenant_id}, ${after.project_id}, ${after.subscription_id})
    order by tenant_id, project_id, subscription_id limit ${limit}`;
}
