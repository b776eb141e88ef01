import { z } from 'zod';
import { holdoutPercent } from '../../engage/experiments/schema.ts';
import { nameSchemas, timestampWithOffset, trimmedText } from '../../http/field-schemas.ts';
import { ADVERTISING, RULE_PRODUCTS } from '../../tenants/licence/rule.ts';
import { positiveAmount, shownAmount } from '../templates/config.ts';
import { PACES } from './pacing.ts';

/** The statuses of a bonus campaign. */
export const BONUS_CAMPAIGN_STATUSES = [
  'draft',
  'scheduled',
  'issuing',
  'issued',
  'paused',
  'cancelled',
] as const;
export type BonusCampaignStatus = (typeof BONUS_CAMPAIGN_STATUSES)[number];

const uuid = z.guid().toLowerCase();
const product = z.enum(RULE_PRODUCTS);
const advertising = z.enum(ADVERTISING);
const pace = z.enum(PACES);
const status = z.enum(BONUS_CAMPAIGN_STATUSES);
const MAX_RATE = 100_000;
const MAX_GRANTS = 100_000_000;

const fields = {
  name: trimmedText(1, 200),
  template_id: uuid,
  segment_id: z.guid().toLowerCase(),
  deposit_amount: positiveAmount
    .nullable()
    .optional()
    .describe("Of every member, in the grants' currency; or give deposit_from"),
  deposit_from: z
    .enum(['last_deposit'])
    .nullable()
    .optional()
    .describe("Each member's last confirmed deposit of the last 24 hours in the grants' currency"),
  currency_override: z.string().min(1).max(16).nullable().optional(),
  schedule_at: timestampWithOffset.nullable().optional(),
  max_liability: positiveAmount
    .refine((amount) => amount < 2n ** 63n, 'must be below 2^63')
    .nullable()
    .optional()
    .describe("What all grants may cost together, in the smallest unit of the tenant's base currency"),
  max_grants: z.int().min(1).max(MAX_GRANTS).nullable().optional(),
  rate_per_second: z.int().min(1).max(MAX_RATE).nullable().optional().describe('Grants sent in a second'),
  daily_budget_base: positiveAmount
    .refine((amount) => amount < 2n ** 63n, 'must be below 2^63')
    .nullable()
    .optional()
    .describe('What grants of one day may cost, in the base currency; who finds no room waits'),
  pace: pace.optional().describe('even (default): as players are active over the day'),
  qualifying_product: product
    .nullable()
    .optional()
    .describe(
      'What members bet on to get the bonus (any: on several products); null: what the segment asks for, else nothing',
    ),
  advertising: advertising.optional().describe('Where the offer is shown; default: direct'),
  holdout_percent: holdoutPercent.optional(),
};

/** `POST /v1/bonus-campaigns`. Parsed, amounts are bigints. */
export const createBonusCampaignBody = z.strictObject(fields);
export type CreateBonusCampaignBody = z.infer<typeof createBonusCampaignBody>;

/** `PATCH /v1/bonus-campaigns/:id`. */
export const patchBonusCampaignBody = z
  .strictObject({
    ...fields,
    status: z
      .enum(['issuing', 'paused', 'cancelled'])
      .describe('Without other fields: `paused` and `cancelled` from issuing, `issuing` from paused'),
  })
  .partial();
export type PatchBonusCampaignBody = z.infer<typeof patchBonusCampaignBody>;

/** Fields that only the service sets. */
export const COMPUTED_FIELDS: ReadonlySet<string> = new Set([
  'id',
  'tenant_id',
  'project_id',
  'stats',
  'skips',
  'cost',
  'daily_budget',
  'last_error',
  'created_at',
  'updated_at',
  'issued_at',
  'finished_at',
]);

/** The filters of `GET /v1/bonus-campaigns`. */
export const BONUS_CAMPAIGN_FILTERS = { status: z.enum(BONUS_CAMPAIGN_STATUSES).optional() };
export type BonusCampaignFilters = z.infer<z.ZodObject<typeof BONUS_CAMPAIGN_FILTERS>>;

/** The query of `POST /v1/bonus-campaigns/:id/issue`. */
export const issueQuery = z.strictObject({ dry_run: z.enum(['true', 'false']).optional() });

const timestamp = z.iso.datetime();
const stats = z.object({ pending: z.int(), granted: z.int(), skipped: z.int(), failed: z.int() });
const skips = z.record(z.string(), z.int()).describe('Skipped members by code');

/** The bonus campaign resource (spec part 2). */
export const bonusCampaignResource = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  name: z.string(),
  template_id: z.uuid(),
  segment_id: z.guid(),
  deposit_amount: shownAmount.nullable(),
  deposit_from: z.enum(['last_deposit']).nullable(),
  currency_override: z.string().nullable(),
  schedule_at: timestamp.nullable(),
  max_liability: shownAmount.nullable(),
  max_grants: z.int().nullable(),
  rate_per_second: z.int().nullable(),
  daily_budget_base: shownAmount.nullable(),
  pace,
  qualifying_product: product.nullable(),
  advertising,
  holdout_percent: holdoutPercent,
  status,
  stats: stats.describe('Their sum is the number of members at issue time'),
  skips,
  cost: z
    .object({
      granted_base: shownAmount,
      released_base: shownAmount,
      ended_unreleased_base: shownAmount,
      open_base: shownAmount,
    })
    .describe("Of the granted, in the tenant's base currency: all, paid out, ended without, still running"),
  daily_budget: z
    .object({
      day_from: timestamp,
      day_to: timestamp,
      used_base: shownAmount,
      waiting: z.int().describe('Pending members who wait for room'),
      waits_until: timestamp.nullable(),
    })
    .nullable()
    .describe('The day in which members were decided about last'),
  last_error: z
    .string()
    .nullable()
    .describe('Why it could not be issued when it was due, or why it has stopped'),
  created_at: timestamp,
  updated_at: timestamp,
  issued_at: timestamp.nullable(),
  finished_at: timestamp.nullable(),
});

/** The answer to issuing a campaign, or to a dry run. */
export const issueResult = z.union([
  z.object({ id: z.uuid(), status, stats }),
  z
    .object({ members: z.int(), would_grant: z.int(), skips, cost_base: shownAmount })
    .describe('Of a dry run'),
]);

/** `POST /v1/internal/bonus-grant`. */
export const internalGrantBody = z.strictObject({ tenant_id: uuid, campaign_id: uuid, player_id: uuid });

export const internalGrantResult = z.object({
  grant_id: z.uuid().nullable(),
  outcome: z.enum(['granted', 'pending', 'skipped', 'failed']),
  code: z.string().optional(),
});

nameSchemas({
  QualifyingProduct: product,
  Advertising: advertising,
  Pace: pace,
  BonusCampaignStatus: status,
  CreateBonusCampaignBody: createBonusCampaignBody,
  PatchBonusCampaignBody: patchBonusCampaignBody,
  BonusCampaign: bonusCampaignResource,
  IssueResult: issueResult,
  InternalGrantBody: internalGrantBody,
  InternalGrantResult: internalGrantResult,
  BonusCampaignStats: stats,
});
