import { z } from 'zod';
import { timestampWithOffset } from '../http/field-schemas.ts';

// What this service and a casino platform say to each other (docs/adapter.md is generated from these declarations):
// calls, fields, answers. Amounts are digit strings or integers in the smallest unit of their currency.

/** The longest answer that is read. */
export const MAX_ANSWER_BYTES = 64 * 1024;

/** The code with which a platform answers 409 to a grant that it has already. */
export const DUPLICATE_GRANT = 'DUPLICATE_GRANT';

/** The statuses of a bonus at a platform. */
export const PLATFORM_STATUSES = [
  'pending',
  'active',
  'completed',
  'forfeited',
  'expired',
  'lost',
  'cancelled',
  'failed',
] as const;
export type PlatformStatus = (typeof PLATFORM_STATUSES)[number];

const subunit = z.union([z.int().min(0), z.string().regex(/^\d{1,30}$/)]);
const bonus_id = z
  .string()
  .min(1)
  .max(200)
  // What Postgres cannot hold.
  .regex(/^[^\p{Cc}\p{Cs}]+$/u);

/** The body of `POST /v1/bonuses/grant`. */
export const grantBody = z.strictObject({
  action: z.literal('grant').describe('The body of one call cannot pass as the body of another'),
  grant_id: z.uuid().describe('The grant; also the Idempotency-Key'),
  tenant_id: z.uuid(),
  player_id: z.uuid(),
  player_external_id: z.string().describe("The platform's id of the player; player_id when none is known"),
  template: z.strictObject({
    id: z.uuid(),
    name: z.string(),
    type: z.string().describe('deposit_match, reload, free_spins, no_deposit, cashback or free_bet'),
    amount_subunit: subunit.describe('What to credit, in the smallest unit of currency'),
    currency: z.string(),
    wagering: z.strictObject({
      multiplier: z.number(),
      basis: z.string(),
      required_subunit: subunit,
      max_bet_subunit: subunit.nullable(),
      game_contribution: z.record(z.string(), z.int().min(0).max(100)).nullable(),
    }),
    max_win_cap_subunit: subunit.nullable(),
    wallet_model: z.string().nullable(),
    expires_at: z.iso.datetime().nullable(),
    config: z
      .record(z.string(), z.unknown())
      .describe("The template's config, and deposit_amount if there is one"),
  }),
  granted_by: z.strictObject({ kind: z.string(), ref: z.string().nullable() }),
});
export type GrantBody = z.infer<typeof grantBody>;

/** The body of `POST /v1/bonuses/cancel`. */
export const cancelBody = z.strictObject({
  action: z.literal('cancel').describe('The body of one call cannot pass as the body of another'),
  grant_id: z.uuid(),
  platform_bonus_id: z.string().nullable().describe('null while it is not known'),
  player_external_id: z.string(),
  reason: z.string().nullable(),
});
export type CancelBody = z.infer<typeof cancelBody>;

/** The body of `POST /v1/kyc/initiate`. */
export const kycInitiateBody = z.strictObject({
  tenant_id: z.uuid(),
  player_external_id: z.string(),
  level: z.int().min(1),
  requirements: z.array(z.string()),
});
export type KycInitiateBody = z.infer<typeof kycInitiateBody>;

/** The body of `POST /v1/kyc/update`. */
export const kycUpdateBody = z.strictObject({
  tenant_id: z.uuid(),
  player_external_id: z.string(),
  status: z.string(),
  level: z.int().min(0),
  reason: z.string().nullable(),
});
export type KycUpdateBody = z.infer<typeof kycUpdateBody>;

/** The answer to a grant; further fields are ignored, here and in the other answers. */
export const grantAnswer = z.object({
  platform_bonus_id: bonus_id,
  status: z.enum(['credited', 'pending']).describe('pending: accepted; a webhook reports the credit'),
});

/** The answer to a cancel. */
export const cancelAnswer = z.object({ status: z.literal('cancelled') });

/** The answer to a status query. */
export const statusAnswer = z.object({
  grant_id: z.uuid(),
  platform_bonus_id: bonus_id,
  status: z
    .preprocess((said) => (said === 'credited' ? 'active' : said), z.enum(PLATFORM_STATUSES))
    .describe('credited counts as active'),
  updated_at: timestampWithOffset,
  total_wagered: subunit.optional().describe('Absolute'),
  released_amount: subunit.optional(),
  amount: subunit.optional().describe('What was credited'),
});

/** The answer to the calls about KYC; the body may be empty. */
export const kycAnswer = z.object({ provider_ref: z.string().min(1).max(200).nullish() });

/** What an error says, alone or under `error`. */
export const errorAnswer = z.object({
  code: z.string().min(1).max(100).describe('Quoted to the operator as details.platform_code'),
  message: z.string().optional(),
});

/** What a platform can do. */
export const capabilities = z.strictObject({
  grant: z.boolean().default(true),
  cancel: z.boolean().default(true),
  status: z.boolean().default(true),
  kyc: z.boolean(),
  completion: z
    .enum(['platform', 'service'])
    .default('platform')
    .describe('Who says that wagering is complete; service: the sum of the bets that this service has seen'),
});
export type Capabilities = z.infer<typeof capabilities>;
