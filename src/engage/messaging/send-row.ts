import type { SendStatus } from '../../analytics/message-status.ts';
import type { Channel } from '../../tenants/config/channels.ts';

/**
 * Why a message was skipped (spec part 2), by the gate or because of its campaign or template. The gate's codes are in
 * the order in which the gate checks them, and the first that applies is stored; only a missing or deleted player is
 * SKIPPED_NO_RECIPIENT before all others. Who passes the gate may be held out: by the project, or by the campaign. The last two
 * are checked before the gate.
 */
export const SKIP_CODES = [
  'SKIPPED_SELF_EXCLUDED',
  'SKIPPED_BANNED',
  'SKIPPED_COOLDOWN',
  'SKIPPED_AT_RISK',
  'SKIPPED_NO_RECIPIENT',
  'SKIPPED_SUPPRESSED',
  'SKIPPED_NO_CONSENT',
  'SKIPPED_FREQUENCY_CAP',
  'SKIPPED_QUIET_HOURS',
  'SKIPPED_GLOBAL_HOLDOUT',
  'SKIPPED_HOLDOUT',
  'SKIPPED_TEMPLATE_MISSING',
  'SKIPPED_CANCELLED',
] as const;
export type SkipCode = (typeof SKIP_CODES)[number];

/** Those of them that protect the player. The index of the list of blocked messages has them in its condition. */
export const PROTECTION_CODES = [
  'SKIPPED_SELF_EXCLUDED',
  'SKIPPED_COOLDOWN',
  'SKIPPED_AT_RISK',
  'SKIPPED_BANNED',
] as const satisfies readonly SkipCode[];

/** Why a message that passed the gate was not sent, or may not have been sent. */
export const FAILURE_CODES = [
  'PROVIDER_UNAVAILABLE',
  'PROVIDER_REJECTED',
  'PROVIDER_NOT_CONFIGURED',
  'TEMPLATE_FAILED',
  'OUTCOME_UNKNOWN',
  'DELIVERY_FAILED',
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

/** A send row as Postgres has it. */
export interface SendRow {
  send_id: string;
  campaign_id: string | null;
  journey_run_id: string | null;
  player_id: string;
  channel: Channel;
  template_id: string | null;
  variant_id: string | null;
  provider_id: string | null;
  recipient: string | null;
  status: SendStatus;
  error_code: SkipCode | FailureCode | null;
  provider_message_id: string | null;
  /** The provider's own code and text of a failure. */
  provider_code: string | null;
  provider_message: string | null;
  enqueued_at: Date;
  sent_at: Date | null;
  delivered_at: Date | null;
  opened_at: Date | null;
  clicked_at: Date | null;
  bounced_at: Date | null;
}

/** The send resource (spec part 2): the row with its id as `id`, times in ISO-8601. */
export function sendResourceOf({ send_id, ...row }: SendRow) {
  const time = (at: Date | null) => at?.toISOString() ?? null;
  return {
    id: send_id,
    campaign_id: row.campaign_id,
    journey_run_id: row.journey_run_id,
    player_id: row.player_id,
    channel: row.channel,
    template_id: row.template_id,
    variant_id: row.variant_id,
    provider_id: row.provider_id,
    recipient: row.recipient,
    status: row.status,
    error_code: row.error_code,
    provider_message_id: row.provider_message_id,
    provider_code: row.provider_code,
    provider_message: row.provider_message,
    enqueued_at: row.enqueued_at.toISOString(),
    sent_at: time(row.sent_at),
    delivered_at: time(row.delivered_at),
    opened_at: time(row.opened_at),
    clicked_at: time(row.clicked_at),
    bounced_at: time(row.bounced_at),
  };
}
