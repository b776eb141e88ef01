import type { Tx } from '../../platform/postgres/port.ts';

/** The columns of {@link import('./send-row.ts').SendRow}. */
export function sendColumns(tx: Tx) {
  return tx`send_id, campaign_id, journey_run_id, player_id, channel, template_id, variant_id, provider_id, recipient,
    status, error_code, provider_message_id, provider_code, provider_message, enqueued_at, sent_at, delivered_at, opened_at, clicked_at, bounced_at`;
}
