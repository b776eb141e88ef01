import type { PendingQuery } from 'postgres';
import { sendColumns } from '../messaging/queries.ts';
import type { SendStatus } from '../../analytics/message-status.ts';
import type { FailureCode, SendRow, SkipCode } from '../messaging/send-row.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { CampaignRef } from './queries.ts';

/** The messages of a campaign by stage; each message counts for every stage that it has reached. */
export interface Counters {
  recipients_total: bigint;
  sent: bigint;
  delivered: bigint;
  opened: bigint;
  clicked: bigint;
  bounced: bigint;
  /** Fetched by a mail program by itself, whether or not a person opened them. */
  machine_opened: bigint;
  /** Includes skipped messages, except the capped ones. */
  failed: bigint;
  /** Skipped because of a frequency cap. */
  capped: bigint;
}

/**
 * Counts the messages of a campaign by stage; always one row. Because a callback can be lost, a later stage implies the
 * earlier ones: a clicked message was also opened.
 */
export function countSends(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: CampaignRef,
): PendingQuery<Counters[]> {
  return tx<Counters[]>`
    select count(*) as recipients_total,
      count(*) filter (where sent_at is not null
        or status in ('sent', 'delivered', 'opened', 'clicked', 'bounced')) as sent,
      count(*) filter (where delivered_at is not null or opened_at is not null or clicked_at is not null
        or status in ('delivered', 'opened', 'clicked')) as delivered,
      count(*) filter (where opened_at is not null or clicked_at is not null
        or status in ('opened', 'clicked')) as opened,
      count(*) filter (where clicked_at is not null or status = 'clicked') as clicked,
      count(machine_opened_at) as machine_opened,
      count(*) filter (where bounced_at is not null or status = 'bounced') as bounced,
      count(*) filter (where status = 'failed') as failed,
      count(*) filter (where status = 'capped') as capped
    from message_sends
    where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}`;
}

/** How many messages of the campaign have each code of a skip or failure; those without a code are omitted. */
export function countCodes(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: CampaignRef,
): PendingQuery<{ error_code: SkipCode | FailureCode; messages: bigint }[]> {
  return tx<{ error_code: SkipCode | FailureCode; messages: bigint }[]>`
    select error_code, count(*) as messages
    from message_sends
    where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}
      and error_code is not null
    group by error_code`;
}

/** Which recipients are listed: those of a status, those with an error code, or all that were skipped. */
export type RecipientFilter = { status: SendStatus } | { error_code: string } | 'skipped' | undefined;

/** Where a page of recipients ends. */
export type RecipientPosition = readonly [player_id: string, send_id: string];

/** A page of a campaign's rows by player and send. An index gives the order by player, so little is left to sort. */
export function listRecipients(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: CampaignRef,
  filter: RecipientFilter,
  after: RecipientPosition | undefined,
  limit: number,
): PendingQuery<SendRow[]> {
  const beyond =
    after === undefined ? tx`` : tx`and (player_id, send_id) > (${after[0]}::uuid, ${after[1]}::uuid)`;
  return tx<SendRow[]>`
    select ${sendColumns(tx)}
    from message_sends
    where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}
      ${beyond} ${filtered(tx, filter)}
    order by player_id, send_id
    limit ${limit}`;
}

function filtered(tx: Tx, filter: RecipientFilter) {
  if (filter === undefined) return tx``;
  if (filter === 'skipped') return tx`and starts_with(error_code, 'SKIPPED_')`;
  return 'status' in filter ? tx`and status = ${filter.status}` : tx`and error_code = ${filter.error_code}`;
}
