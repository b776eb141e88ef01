import type { Tx } from '../../platform/postgres/port.ts';

/** Postgres notifies on this channel, with the id of a queue, when it may have messages to send or ranges to fan out. */
export const MESSAGES_CHANNEL = 'messages';

/** Wakes the messengers for a queue (of a campaign: its id) when the transaction commits. */
export async function notifyMessengers(tx: Tx, queue_id: string): Promise<void> {
  await tx`select pg_notify(${MESSAGES_CHANNEL}, ${queue_id})`;
}

/** The most queues of one provider that are woken at once; the others look by themselves within 5 s. */
const MAX_WOKEN = 1_000;

/** Wakes the messengers for the queues that send through the provider, when the transaction commits. */
export async function notifyQueuesOf(
  tx: Tx,
  { tenant_id, provider_id }: { tenant_id: string; provider_id: string },
): Promise<void> {
  await tx`
    select pg_notify(${MESSAGES_CHANNEL}, q.queue_id::text) from (
      select campaign_id as queue_id from campaigns
      where tenant_id = ${tenant_id} and provider_id = ${provider_id} and status = 'sending'
      union all
      select queue_id from journey_queues where tenant_id = ${tenant_id} and provider_id = ${provider_id}
      limit ${MAX_WOKEN}) q`;
}
