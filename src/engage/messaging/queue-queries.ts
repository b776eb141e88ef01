import type { PendingQuery, Row } from 'postgres';
import { NIL_ID } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import { addressedSql, type AddressedPlayer } from '../../protection/fence-queries.ts';
import type { Channel } from '../../tenants/config/channels.ts';

/**
 * Messages that wait to be sent, and the provider that sends them: those of a campaign, or those of a journey that go
 * through one provider.
 */
export interface SendQueue {
  tenant_id: string;
  project_id: string;
  /** Of a campaign its id. */
  queue_id: string;
  channel: Channel;
  provider_id: string;
  /** The campaign is cancelled: its messages are skipped, without a provider. */
  is_cancelled: boolean;
}

/** The messages `s` of a queue; an expression of the index of open messages. */
export function inQueue(sql: Tx, queue_id: string): PendingQuery<Row[]> {
  return sql`coalesce(s.queue_id, s.campaign_id) = ${queue_id}::uuid`;
}

/**
 * The order of a queue's messages. It names the expression of the index, although it is constant: without that Postgres
 * sorts all messages of the queue instead of reading the first ones.
 */
export function queueOrder(sql: Tx): PendingQuery<Row[]> {
  return sql`coalesce(s.queue_id, s.campaign_id), s.send_id`;
}

/** Whether a message need not wait any more, as an expression of the index: those that wait are passed over in it. */
export function hasComeDue(sql: Tx, now: Date): PendingQuery<Row[]> {
  return sql`coalesce(s.retry_at, '-infinity') <= ${now}`;
}

/** The queue of each message that is to be sent, or is being sent, as the index of open messages has it. */
function openMessages(sql: Tx): PendingQuery<Row[]> {
  return sql`select s.tenant_id, s.project_id, coalesce(s.queue_id, s.campaign_id) as queue_id from message_sends s
    where s.status in ('queued', 'sending') and coalesce(s.queue_id, s.campaign_id) is not null`;
}

function firstOfQueues(sql: Tx): PendingQuery<Row[]> {
  return sql`order by s.tenant_id, s.project_id, coalesce(s.queue_id, s.campaign_id) limit 1`;
}

/** Returns a row while a queue has a message. */
export const messageWork: WorkQuery = (sql) => sql`${openMessages(sql)} ${firstOfQueues(sql)}`;

/** Queues per page of {@link selectQueues}. */
export const MAX_QUEUES = 200;

/**
 * The queues that have messages to send, after `after` in order of their keys. The query hops from one queue to the next
 * in the index of open messages, so it does not read every message.
 */
export async function selectQueues(sql: Tx, after?: SendQueue): Promise<SendQueue[]> {
  const beyond =
    after === undefined
      ? sql``
      : sql`and (s.tenant_id, s.project_id, coalesce(s.queue_id, s.campaign_id)) >
          (${after.tenant_id}::uuid, ${after.project_id}::uuid, ${after.queue_id}::uuid)`;
  const next = openMessages(sql);
  const in_order = firstOfQueues(sql);
  return sql<SendQueue[]>`
    with recursive hop as (
      (${next} ${beyond} ${in_order})
      union all
      select n.* from hop cross join lateral (
        ${next} and (s.tenant_id, s.project_id, coalesce(s.queue_id, s.campaign_id))
          > (hop.tenant_id, hop.project_id, hop.queue_id)
        ${in_order}) n
    )
    select h.tenant_id, h.project_id, h.queue_id, q.channel, q.provider_id, q.is_cancelled
    from (select * from hop limit ${MAX_QUEUES}) h
    cross join lateral (
      select c.channel, c.provider_id, c.status = 'cancelled' as is_cancelled from campaigns c
      where c.tenant_id = h.tenant_id and c.project_id = h.project_id and c.campaign_id = h.queue_id
        and c.provider_id is not null
      union all
      select j.channel, j.provider_id, false from journey_queues j
      where j.tenant_id = h.tenant_id and j.project_id = h.project_id and j.queue_id = h.queue_id) q
    order by h.tenant_id, h.project_id, h.queue_id`;
}

/** A message that is due, and the ids of its player and of others with its address. */
export type DueMessage = AddressedPlayer & { send_id: string };

/** Up to `limit` due messages of a queue after the one with the id `after`, in the order in which they are claimed. */
export async function selectDueMessages(
  sql: Tx,
  queue: SendQueue,
  now: Date,
  after: string,
  limit: number,
): Promise<DueMessage[]> {
  const { tenant_id, project_id, queue_id, channel } = queue;
  const due = sql`
    select s.send_id, s.player_id from message_sends s
    where s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and ${inQueue(sql, queue_id)}
      and s.status = 'queued' and ${hasComeDue(sql, now)} and s.send_id > ${after}
    order by ${queueOrder(sql)} limit ${limit}`;
  return sql<DueMessage[]>`
    select send_id, player_id, ids, others from (${addressedSql(sql, due, queue, channel)}) d order by send_id`;
}

/** The most messages that {@link giveUpLate} looks at. */
const MAX_LOOKED_AT = 1_000;

/** What {@link giveUpLate} found. */
export interface LateSends {
  /** How many were given up. */
  late: number;
  /** The last message that is old enough; undefined when none is. */
  last_old: string | undefined;
  /** Whether there may be old messages after it. */
  has_more: boolean;
}

/**
 * Gives up queued messages of the queue that have waited too long for their provider, with PROVIDER_UNAVAILABLE. It
 * looks at a thousand of them, after the message `after`: ids are ordered by time, so all messages behind the first
 * young one are young, too, and a long queue is not read as a whole. An old message that was queued again may wait for longer.
 */
export async function giveUpLate(
  sql: Tx,
  { tenant_id, project_id, queue_id }: SendQueue,
  now: Date,
  after: string = NIL_ID,
): Promise<LateSends> {
  const [row] = await sql<{ late: number; last_old: string | null; old: number }[]>`
    with first as materialized (
      select s.ctid, s.send_id, s.enqueued_at + interval '24 hours' <= ${now} as is_old,
        coalesce(s.give_up_at, s.enqueued_at + interval '24 hours') <= ${now} as is_late
      from message_sends s
      where s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and ${inQueue(sql, queue_id)}
        and s.status = 'queued' and s.send_id > ${after}
      order by ${queueOrder(sql)} limit ${MAX_LOOKED_AT}
    ),
    late as materialized (
      select s.ctid from first cross join lateral (
        select o.ctid from message_sends o
        where o.ctid = first.ctid and o.status = 'queued'
          and coalesce(o.give_up_at, o.enqueued_at + interval '24 hours') <= ${now}
        for update skip locked) s
      where first.is_late
    ),
    given_up as (
      update message_sends m
      set status = 'failed', error_code = 'PROVIDER_UNAVAILABLE', retry_at = null, changed_xid = pg_current_xact_id()
      from late
      where m.ctid = late.ctid
      returning 1
    )
    select (select count(*) from given_up)::integer as late, count(*) filter (where is_old)::integer as old,
      (array_agg(send_id::text order by send_id desc) filter (where is_old))[1] as last_old
    from first`;
  const { late = 0, old = 0, last_old } = row ?? {};
  return { late, last_old: last_old ?? undefined, has_more: old === MAX_LOOKED_AT };
}
