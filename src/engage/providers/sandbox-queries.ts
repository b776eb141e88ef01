import type { PendingQuery } from 'postgres';
import type { Channel } from '../../tenants/config/channels.ts';
import type { Message } from './message.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProviderRef } from './queries.ts';

/** A message that a sandbox was given to send. */
export interface SandboxMessageRow {
  message_id: string;
  provider_id: string;
  send_id: string | null;
  channel: Channel;
  recipient: string;
  subject: string | null;
  preheader: string | null;
  body: string;
  data: Record<string, string>;
  headers: Record<string, string>;
  sent_at: Date;
}

/**
 * Stores messages and returns their ids, in the order of the messages. A message whose send_id is stored already is not
 * stored again; its id is the earlier one. Concurrent calls with the same send_id would both store it; that does not
 * happen, because one messenger holds the send.
 */
export async function keepMessages(
  sql: Tx,
  { tenant_id, provider_id }: ProviderRef,
  messages: readonly (Message & { message_id: string })[],
  now: Date,
): Promise<string[]> {
  const rows = messages.map((message, position) => ({ ...message, position }));
  const kept = await sql<{ message_id: string }[]>`
    with given as (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as g(position integer, message_id uuid,
        send_id uuid, channel text, recipient text, subject text, preheader text, body text, data jsonb, headers jsonb)
    ), before as (
      select g.position, min(s.message_id::text)::uuid as message_id
      from given g
      join sandbox_messages s on s.tenant_id = ${tenant_id} and s.send_id = g.send_id and s.provider_id = ${provider_id}
      group by g.position
    ), added as (
      insert into sandbox_messages (tenant_id, provider_id, message_id, send_id, channel, recipient, subject, preheader,
        body, data, headers, sent_at)
      select ${tenant_id}, ${provider_id}, message_id, send_id, channel, recipient, subject, preheader, body, data,
        headers, ${now}
      from given where position not in (select position from before)
      order by position
    )
    select coalesce(b.message_id, g.message_id) as message_id
    from given g left join before b using (position)
    order by g.position`;
  return kept.map(({ message_id }) => message_id);
}

/** A page of the sandbox's messages, the newest first: ids increase with time. */
export function listMessages(
  tx: Tx,
  { tenant_id, provider_id }: ProviderRef,
  filters: { recipient?: string | undefined; send_id?: string | undefined },
  after_message_id: string | undefined,
  limit: number,
): PendingQuery<SandboxMessageRow[]> {
  const nothing = tx``;
  return tx<SandboxMessageRow[]>`
    select message_id, provider_id, send_id, channel, recipient, subject, preheader, body, data, headers, sent_at
    from sandbox_messages
    where tenant_id = ${tenant_id} and provider_id = ${provider_id}
      ${after_message_id === undefined ? nothing : tx`and message_id < ${after_message_id}`}
      ${filters.recipient === undefined ? nothing : tx`and recipient = ${filters.recipient}`}
      ${filters.send_id === undefined ? nothing : tx`and send_id = ${filters.send_id}`}
    order by message_id desc
    limit ${limit}`;
}
