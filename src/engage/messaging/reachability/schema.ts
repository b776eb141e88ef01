import { z } from 'zod';
import { RULE_PRODUCTS } from '../../../tenants/licence/rule.ts';
import { nameSchemas } from '../../../http/schema-names.ts';
import { CHANNELS } from '../../../tenants/config/channels.ts';
import { SKIP_CODES } from '../send-row.ts';

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

nameSchemas({ Reachability: reachabilityResource });
