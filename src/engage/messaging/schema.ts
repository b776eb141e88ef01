import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { RULE_PRODUCTS } from '../../tenants/licence/rule.ts';
import { CHANNELS } from '../../tenants/config/channels.ts';
import { SEND_STATUSES } from '../../analytics/message-status.ts';
import { FAILURE_CODES, SKIP_CODES } from './send-row.ts';

/** `GET /v1/players/:id/messages`. */
export const playerMessagesQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(25),
});

const timestamp = z.iso.datetime();

/** The send resource (spec part 2, "Message send"). */
export const sendResource = z.object({
  id: z.uuid(),
  campaign_id: z.uuid().nullable(),
  journey_run_id: z.uuid().nullable(),
  player_id: z.uuid(),
  channel: z.enum(CHANNELS),
  template_id: z.uuid().nullable(),
  variant_id: z.uuid().nullable(),
  provider_id: z.uuid().nullable(),
  recipient: z.string().nullable(),
  status: z.enum(SEND_STATUSES),
  error_code: z.enum([...SKIP_CODES, ...FAILURE_CODES]).nullable(),
  provider_message_id: z.string().nullable(),
  provider_code: z.string().nullable().describe("The provider's own code of a failure"),
  provider_message: z.string().nullable().describe("The provider's own text of a failure"),
  enqueued_at: timestamp,
  sent_at: timestamp.nullable(),
  delivered_at: timestamp.nullable(),
  opened_at: timestamp.nullable(),
  clicked_at: timestamp.nullable(),
  bounced_at: timestamp.nullable(),
});

/** `GET /v1/players/:id/reachability`. */
export const reachabilityQuery = z.strictObject({
  bonus_product: z
    .enum(RULE_PRODUCTS)
    .describe('Of the bonus that the message is about; absent: it is about none')
    .optional(),
});

const cap = z.object({ used: z.int(), limit: z.int().nullable().describe('Null: there is no cap') });

/** What would happen to a message on a channel that was sent now. */
export const reachabilityResource = z.object({
  channel: z.enum(CHANNELS),
  verdict: z.enum(['reachable', ...SKIP_CODES]),
  codes: z.array(z.enum(SKIP_CODES)).describe('Every code that applies, the verdict first'),
  caps: z.object({ day: cap, week: cap }),
  quiet_until: z.iso.datetime().nullable().describe('Null: it is not quiet'),
  consent: z.boolean().nullable().describe('Null: the player has said nothing'),
  consent_required: z.boolean().describe('Whether a player who has said nothing gets no messages'),
  suppressed: z.boolean(),
});

nameSchemas({ MessageSend: sendResource, Reachability: reachabilityResource });
