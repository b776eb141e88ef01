import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { SendRow } from './send-row.ts';

/** The columns of {@link SendRow}. */
export function sendColumns(tx: Tx) {
  return tx`send_id, campaign_id, journey_run_id, player_id, channel, template_id, variant_id, provider_id, recipient,
    status, error_code, provider_message_id, provider_code, provider_message, enqueued_at, sent_at, delivered_at, opened_at, clicked_at, bounced_at`;
}

/** The last messages of a player, skipped ones too, the newest first. */
export function selectPlayerMessages(
  tx: Tx,
  ref: { tenant_id: string; project_id: string; player_id: string },
  limit: number,
): PendingQuery<SendRow[]> {
  return tx<SendRow[]>`
    select ${sendColumns(tx)}
    from message_sends
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and player_id = ${ref.player_id}
    order by enqueued_at desc, send_id desc
    limit ${limit}`;
}
