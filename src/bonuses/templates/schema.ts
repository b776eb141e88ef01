import { z } from 'zod';
import { nameSchemas, trimmedText } from '../../http/field-schemas.ts';
import { BONUS_TYPES, CONFIG_SCHEMAS, positiveAmount, shownAmount, twoDecimals } from './config.ts';
import { MAX_BET_ACTIONS, PRODUCTS, WALLET_MODELS } from './terms.ts';
import { WAGERING_BASES, writtenContribution } from './wagering.ts';

export const BONUS_TEMPLATE_STATUSES = ['active', 'paused'] as const;
export type BonusTemplateStatus = (typeof BONUS_TEMPLATE_STATUSES)[number];

const MAX_COUNT = 1_000_000;

/** Any value here; its type's schema checks it, and a fault in it is BONUS_CONFIG_INVALID. */
const config = z.unknown().meta({
  description: 'By type, see docs/bonuses.md. Replaced as a whole',
  examples: [{ match_percent: 100, cap_amount: 20_000, currency: 'EUR' }],
  anyOf: Object.entries(CONFIG_SCHEMAS).map(([type, schema]) => {
    // Its named schemas are written once, where the document has them.
    const {
      $schema: _dialect,
      $defs: _named,
      ...json
    } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
    return { title: type, ...json };
  }),
});

const fields = {
  name: trimmedText(1, 200),
  config,
  wagering_requirement_multiplier: twoDecimals(200, 'zero').describe('0: nothing to wager'),
  wagering_basis: z
    .enum(WAGERING_BASES)
    .describe(
      'The bases of deposits only for deposit_match and reload, winnings for free_spins and free_bet',
    ),
  game_contribution: writtenContribution.describe(
    'Percent of a stake that counts; null or {}: every game counts in full',
  ),
  max_bet_during_wagering: positiveAmount.nullable(),
  max_win_cap: positiveAmount.nullable(),
  max_bet_action: z.enum(MAX_BET_ACTIONS),
  time_limit_hours: z.int().min(1).max(8_784).nullable(),
  wallet_model: z.enum(WALLET_MODELS),
  product: z.enum(PRODUCTS),
  status: z.enum(BONUS_TEMPLATE_STATUSES),
  max_grants_per_player: z.int().min(1).max(MAX_COUNT).nullable(),
  grant_window_days: z
    .int()
    .min(1)
    .max(3_660)
    .nullable()
    .describe('The limit counts grants of so many days; null: of all time'),
  exclusion_group: trimmedText(1, 64).nullable().describe('A player has at most one live grant of a group'),
  budget_base: positiveAmount
    .refine((amount) => amount < 2n ** 63n, 'must be below 2^63')
    .nullable()
    .describe("Of all grants together, in the smallest unit of the tenant's base currency"),
  min_kyc_level: z.int().min(1).max(100).nullable(),
  eligible_segment_id: z.guid().toLowerCase().nullable().describe('Only its members get the bonus'),
};

/** `POST /v1/bonus-templates`. The config is checked by `readTemplateBody`. */
export const createBonusTemplateBody = z.strictObject({
  ...fields,
  config: config.optional(),
  type: z.enum(BONUS_TYPES),
  wagering_requirement_multiplier: fields.wagering_requirement_multiplier.default(0),
  wagering_basis: fields.wagering_basis.default('bonus'),
  game_contribution: fields.game_contribution.default(null),
  max_bet_during_wagering: fields.max_bet_during_wagering.default(null),
  max_win_cap: fields.max_win_cap.default(null),
  max_bet_action: fields.max_bet_action.default('flag'),
  time_limit_hours: fields.time_limit_hours.default(null),
  wallet_model: fields.wallet_model.default('sticky'),
  /** Absent: what bonuses of the type are for. */
  product: fields.product.optional(),
  status: fields.status.default('active'),
  max_grants_per_player: fields.max_grants_per_player.default(null),
  grant_window_days: fields.grant_window_days.default(null),
  exclusion_group: fields.exclusion_group.default(null),
  budget_base: fields.budget_base.default(null),
  min_kyc_level: fields.min_kyc_level.default(null),
  eligible_segment_id: fields.eligible_segment_id.default(null),
});
export type CreateBonusTemplateBody = z.infer<typeof createBonusTemplateBody>;

/** `PATCH /v1/bonus-templates/:id`; config and game_contribution are replaced as a whole. */
export const patchBonusTemplateBody = z.strictObject(fields).partial();
export type PatchBonusTemplateBody = z.infer<typeof patchBonusTemplateBody>;

/** The filters of `GET /v1/bonus-templates`. */
export const BONUS_TEMPLATE_FILTERS = {
  status: z.enum(BONUS_TEMPLATE_STATUSES).optional(),
  type: z.enum(BONUS_TYPES).optional(),
};
export type BonusTemplateFilters = z.infer<z.ZodObject<typeof BONUS_TEMPLATE_FILTERS>>;

/** Fields that only the service sets: a caller that sends one gets FIELD_NOT_WRITABLE. */
export const COMPUTED_FIELDS = new Set([
  'id',
  'tenant_id',
  'project_id',
  'version',
  'licence_warnings',
  'created_at',
  'updated_at',
  'deleted_at',
]);
/** Fields that cannot change after creation: grants of a template would have configs of different types. */
export const FIXED_FIELDS = new Set([...COMPUTED_FIELDS, 'type']);

const timestamp = z.iso.datetime();

/** The bonus template resource (spec part 2). Amounts above 2^53 - 1 are digit strings. */
export const bonusTemplateResource = z.object({
  id: z.uuid(),
  project_id: z.uuid(),
  name: z.string(),
  type: z.enum(BONUS_TYPES),
  config: z.record(z.string(), z.unknown()),
  wagering_requirement_multiplier: z.number(),
  wagering_basis: z.enum(WAGERING_BASES),
  game_contribution: z.record(z.string(), z.int()).nullable(),
  max_bet_during_wagering: shownAmount.nullable(),
  max_win_cap: shownAmount.nullable(),
  max_bet_action: z.enum(MAX_BET_ACTIONS),
  time_limit_hours: z.int().nullable(),
  wallet_model: z.enum(WALLET_MODELS),
  product: z.enum(PRODUCTS),
  status: z.enum(BONUS_TEMPLATE_STATUSES),
  max_grants_per_player: z.int().nullable(),
  grant_window_days: z.int().nullable(),
  exclusion_group: z.string().nullable(),
  budget_base: shownAmount.nullable(),
  min_kyc_level: z.int().nullable(),
  eligible_segment_id: z.uuid().nullable(),
  version: z.int().describe('Grows by 1 with each change of the terms; a grant keeps those of its moment'),
  licence_warnings: z
    .array(z.object({ rule_id: z.string(), message: z.string() }))
    .describe('Licence rules that the terms break, but that only warn'),
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: timestamp.nullable(),
});

nameSchemas({
  CreateBonusTemplateBody: createBonusTemplateBody,
  PatchBonusTemplateBody: patchBonusTemplateBody,
  BonusTemplate: bonusTemplateResource,
  BonusConfig: config,
});
