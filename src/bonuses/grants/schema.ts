import { z } from 'zod';
import { MAX_ID_LENGTH } from '../../ingest/events/catalogue.ts';
import { nameSchemas, trimmedText } from '../../http/field-schemas.ts';
import { RULE_PRODUCTS } from '../../tenants/licence/rule.ts';
import { positiveAmount, shownAmount } from '../templates/config.ts';
import { WAGERING_BASES } from '../templates/wagering.ts';
import { EVENT_SOURCES, GRANTED_BY_KINDS } from './grant-row.ts';
import { GRANT_STATUSES, OUTCOMES } from './transition.ts';

const uuid = z.guid().toLowerCase();

/** `POST /v1/bonus-grants`. Parsed, amounts are bigints in the smallest unit of the grant's currency. */
export const createGrantBody = z.strictObject({
  template_id: uuid,
  player_id: uuid,
  granted_by_kind: z.enum(GRANTED_BY_KINDS).default('manual').describe('With a session: manual or api'),
  granted_by_id: uuid.nullable().default(null).describe('The journey run or the campaign, when one granted'),
  deposit_amount: positiveAmount
    .nullable()
    .default(null)
    .describe("Required for deposit_match and reload; in the grant's currency"),
  deposit_transaction_id: z
    .string()
    .min(1)
    .max(MAX_ID_LENGTH)
    .nullable()
    .default(null)
    .describe(
      'The deposit for which it is granted, by the transaction_id of its events: when it is reversed to 0, the live grant gets `needs_review`',
    ),
  currency_override: z
    .string()
    .min(1)
    .max(16)
    .nullable()
    .default(null)
    .describe("Default: the template's currency"),
  amount_override: positiveAmount.nullable().default(null).describe('At most what the template gives'),
  qualifying_product: z
    .enum(RULE_PRODUCTS)
    .nullable()
    .default(null)
    .describe(
      'What the player bet on to get the bonus (any: on several products); null: nothing, or not known',
    ),
});
export type CreateGrantBody = z.infer<typeof createGrantBody>;

/** `POST /v1/bonus-grants/:id/cancel`. */
export const cancelGrantBody = z.strictObject({ reason: trimmedText(1, 500).optional() }).optional();
export type CancelGrantBody = z.infer<typeof cancelGrantBody>;

/** The filters of `GET /v1/bonus-grants`. */
export const GRANT_FILTERS = {
  player_id: uuid.optional(),
  template_id: uuid.optional(),
  campaign_id: uuid.optional(),
  status: z.enum(GRANT_STATUSES).optional(),
  granted_by_kind: z.enum(GRANTED_BY_KINDS).optional(),
  needs_review: z.enum(['true', 'false']).optional(),
};
export type GrantFilters = z.infer<z.ZodObject<typeof GRANT_FILTERS>>;

const timestamp = z.iso.datetime();

/** The grant resource (spec part 2). */
export const grantResource = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  template_id: z.uuid(),
  template_version: z.int(),
  player_id: z.uuid(),
  player_external_id: z.string(),
  campaign_id: z.uuid().nullable(),
  granted_by_kind: z.enum(GRANTED_BY_KINDS),
  granted_by_id: z.uuid().nullable(),
  granted_by_user: z.string().nullable(),
  status: z.enum(GRANT_STATUSES),
  outcome: z.enum(OUTCOMES).describe('What is known of the platform'),
  adapter_slug: z.string(),
  platform_bonus_id: z.string().nullable(),
  currency: z.string(),
  deposit_amount: shownAmount.nullable(),
  deposit_transaction_id: z
    .string()
    .nullable()
    .describe('The deposit for which it was granted; null: none, or it is not known'),
  deposit_reversed_at: timestamp
    .nullable()
    .describe('When it was found that this deposit is reversed to 0; nothing is cancelled by itself'),
  bonus_amount: shownAmount,
  bonus_amount_base: shownAmount.describe("In the tenant's base currency, rounded up"),
  fx: z
    .object({ rate: z.number().describe('All digits are significant'), ts: z.string() })
    .nullable()
    .describe(
      "The rate that converted the template's amounts, else the one to the base currency; null: none was needed",
    ),
  wagering_multiplier: z.number(),
  wagering_basis: z.enum(WAGERING_BASES),
  wagering_required: shownAmount,
  wagering_progress: shownAmount,
  progress_source: z.enum(['none', 'events', 'platform']),
  max_bet: shownAmount.nullable(),
  max_win_cap: shownAmount.nullable(),
  max_bet_breaches: z.int(),
  released_amount: shownAmount.nullable(),
  released_amount_base: shownAmount.nullable(),
  status_reason: z.string().nullable(),
  needs_review: z.boolean(),
  last_error: z.object({ code: z.string(), message: z.string(), at: timestamp }).nullable(),
  attempts: z.int(),
  next_attempt_at: timestamp.nullable(),
  cancel_requested_at: timestamp.nullable(),
  created_at: timestamp,
  activated_at: timestamp.nullable(),
  expires_at: timestamp.nullable(),
  completed_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
  updated_at: timestamp,
});

/** A grant with its history. */
export const grantWithHistory = grantResource.extend({
  history: z
    .array(
      z.object({
        seq: z.int(),
        event: z.string(),
        source: z.enum(EVENT_SOURCES),
        event_id: z.uuid().nullable(),
        from_status: z.enum(GRANT_STATUSES).nullable(),
        to_status: z.enum(GRANT_STATUSES),
        occurred_at: timestamp,
        received_at: timestamp,
        data: z.record(z.string(), z.unknown()),
      }),
    )
    .describe('The last 500 events, the oldest first'),
});

nameSchemas({
  CreateGrantBody: createGrantBody,
  CancelGrantBody: cancelGrantBody,
  Grant: grantResource,
  GrantWithHistory: grantWithHistory,
});
