import type { Tx } from '../../platform/postgres/port.ts';
import { addressedSql, type AddressedPlayer } from '../../protection/fence-queries.ts';
import { hasComeDue, inQueue, queueOrder, type SendQueue } from './messenger-queries.ts';

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
