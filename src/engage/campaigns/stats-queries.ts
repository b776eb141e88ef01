import type { PendingQuery } from 'postgres';
import { sendColumns } from '../messaging/send-row-queries.ts';
import type { SendStatus } from '../../analytics/message-status.ts';
import type { SendRow } from '../messaging/send-row.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { CampaignRef } from './queries.ts';

/** How far the messages of a campaign have come; each message counts for every stage it has been through. */
export interface Counters {
  recipients_total: bigint;
  sent: bigint;
  delivered: bigint;
  opened: bigint;
  clicked: bigint;
  bounced: bigint;
  /** With those that were skipped. */
  failed: bigint;
  /** Skipped over a frequency cap: not among the failed. */
  capped: bigint;
}

/** Always one row. A callback can be lost: whoever clicked has opened, whether or not that was told. */
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
      count(*) filter (where bounced_at is not null or status = 'bounced') as bounced,
      count(*) filter (where status = 'failed') as failed,
      count(*) filter (where status = 'capped') as capped
    from message_sends
    where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}`;
}

/** Which recipients are listed: of a status, with an error code, or every one that was skipped. */
export type RecipientFilter = { status: SendStatus } | { error_code: string } | 'skipped' | undefined;

/** Where a page of recipients ends. */
export type RecipientPosition = readonly [player_id: string, send_id: string];

/** A page of a campaign's rows by player; an index has them in this order but for several of one player. */
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
