import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { EXPIRY_MS, wakeDeliverers } from '../webhooks/wake-queries.ts';
import { HELD, lockLast, releaseNext, turnsOf, type Turn } from '../webhooks/turn-queries.ts';
import type { SubscriptionRef } from '../webhooks/subscription-ref.ts';
import { ofSubscription, type SubscriptionRow } from './queries.ts';

/** How long events are kept, from the time at which they were queued: so far back they can be replayed. */
export const REPLAYED_MS = EXPIRY_MS;

/** Begins a replay of a locked subscription, up to the last event that it has now. */
export async function startReplay(tx: Tx, row: SubscriptionRow, from: Date): Promise<void> {
  await tx`
    update event_subscriptions
    set replay_from = ${from}, replay_until = last_sequence, replay_position = 0, replayed = 0, replay_ended_at = null
    where ${ofSubscription(tx, row)}`;
}

/**
 * Queues the next up to `limit` ended events of the replay of a locked subscription again, with the same id and bytes. Those of a
 * player go out in the order of their numbers, after the one that is under way, and before later ones. False: it has ended.
 */
export async function replayNext(tx: Tx, row: SubscriptionRow, limit: number, now: Date): Promise<boolean> {
  const { replay_from, replay_until, replay_position } = row;
  if (replay_from === null || replay_until === null || row.replay_ended_at !== null) return false;
  const looked = await tx<(Turn & { event_id: string; sequence: bigint; is_meant: boolean })[]>`
    select d.tenant_id, d.subscription_id, d.player_id, d.event_id, d.sequence,
      d.created_at >= ${replay_from} and d.payload is not null as is_meant
    from (values ('delivered'), ('failed')) as ended (ended_status)
    cross join lateral (
      select * from webhook_deliveries
      where ${ofSubscription(tx, row)} and status = ended_status and sequence > ${replay_position ?? 0n} and sequence <= ${replay_until}
      order by sequence limit ${limit}) d
    order by d.sequence limit ${limit}`;
  const meant = looked.filter(({ is_meant }) => is_meant);
  if (meant.length > 0) await queueAgain(tx, meant, now);
  const position = looked.at(-1)?.sequence ?? replay_until;
  const has_more = looked.length === limit;
  await tx`
    update event_subscriptions
    set replay_position = ${position}, replayed = replayed + ${meant.length},
      replay_ended_at = ${has_more ? null : now}
    where ${ofSubscription(tx, row)}`;
  return has_more;
}

async function queueAgain(
  tx: Tx,
  events: readonly (Turn & { event_id: string })[],
  now: Date,
): Promise<void> {
  const turns = turnsOf(events);
  await lockLast(tx, turns);
  await tx`
    update webhook_deliveries d
    set status = 'pending', attempts_before = attempts, next_at = ${HELD}, completed_at = null,
      expires_at = ${new Date(now.getTime() + EXPIRY_MS)}
    from ${rowsOf(tx, 'r', events, { tenant_id: 'uuid', event_id: 'uuid' })}
    where d.tenant_id = r.tenant_id and d.event_id = r.event_id and d.status in ('delivered', 'failed')`;
  await releaseNext(tx, turns, now);
  await wakeDeliverers(tx);
}

/** Notes the breaks of a project that are not over yet, so that their ends are reported. */
export async function noteOpenBreaks(
  tx: Tx,
  { tenant_id, project_id }: SubscriptionRef,
  now: Date,
): Promise<void> {
  await tx`
    insert into subscription_break_ends (tenant_id, project_id, exclusion_id, ends_at)
    select tenant_id, project_id, exclusion_id, ends_at from player_exclusions
    where tenant_id = ${tenant_id} and project_id = ${project_id} and least(ended_at, ends_at) > ${now}
      and ended_at is null and ends_at is not null
    on conflict do nothing`;
}
