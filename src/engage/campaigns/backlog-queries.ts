import { queueOrder } from '../messaging/queue-queries.ts';
import type { Backlog } from '../../platform/backlog-gauge.ts';
import type { Tx } from '../../platform/postgres/port.ts';

const NONE: Backlog = { items: 0, oldest_ms: null };
/** Queues of each kind whose oldest message is looked for. */
const MAX_QUEUES = 1_000;

/**
 * Messages that wait for a messenger, also those that wait for a retry, the end of quiet hours or the own hour. The age is that of
 * those that need not wait any more, since they may be sent.
 */
export async function readQueuedMessages(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select (select count(*) from (
        select from message_sends where status = 'queued' limit ${most}) as queued)::integer as items,
      (select epoch_ms(min(greatest(first.enqueued_at, first.retry_at)))::float8
        from (
          (select tenant_id, project_id, campaign_id as queue_id from campaigns where status = 'sending' limit ${MAX_QUEUES})
          union all
          (select tenant_id, project_id, queue_id from journey_queues limit ${MAX_QUEUES})) as c
        cross join lateral (
          select s.enqueued_at, s.retry_at from message_sends s
          where s.tenant_id = c.tenant_id and s.project_id = c.project_id and coalesce(s.queue_id, s.campaign_id) = c.queue_id
            and s.status = 'queued' and coalesce(s.retry_at, '-infinity') <= now()
          order by ${queueOrder(tx)} limit 1) as first) as oldest_ms`;
  return row ?? NONE;
}

/** Ranges of members that have not become messages. Their age is that of the campaign's start. */
export async function readRangesToFanOut(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select (select count(*) from (select from member_ranges where work = 'campaign' limit ${most}) as ranges)::integer as items,
      (select epoch_ms(min(c.started_at))::float8 from campaigns c
        where c.status = 'sending' and exists (
          select from member_ranges r
          where r.tenant_id = c.tenant_id and r.project_id = c.project_id and r.owner_id = c.campaign_id)
      ) as oldest_ms`;
  return row ?? NONE;
}
