import type { Tx } from '../../platform/postgres/port.ts';

/** Postgres notifies on this channel, with the id of a queue, when it may have messages to send or ranges to fan out. */
export const MESSAGES_CHANNEL = 'messages';

/** Wakes the messengers for a queue (of a campaign: its id) when the transaction commits. */
export async function notifyMessengers(tx: Tx, queue_id: string): Promise<void> {
  await tx`select pg_notify(${MESSAGES_CHANNEL}, ${queue_id})`;
}
