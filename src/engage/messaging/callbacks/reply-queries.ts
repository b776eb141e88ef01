import type { Tx } from '../../../platform/postgres/port.ts';
import type { Reply } from './callback.ts';

/** Notes a reply to a provider's messages; false when it was noted before. */
export async function insertReply(
  tx: Tx,
  { tenant_id, provider_id }: { tenant_id: string; provider_id: string },
  { message_id, wants_messages }: Reply,
  now: Date,
): Promise<boolean> {
  const { count } = await tx`
    insert into sms_replies (tenant_id, provider_id, message_id, wants_messages, received_at)
    values (${tenant_id}, ${provider_id}, ${message_id}, ${wants_messages}, ${now})
    on conflict do nothing`;
  return count > 0;
}
