import { z } from 'zod';
import { nameSchemas, int64, trimmedText, timestampWithOffset } from '../../http/field-schemas.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';

const MAX_DAYS = 36_500;
const MAX_PERKS = 50;
const MAX_PERKS_BYTES = 8_192;

const amount = int64.min(0).meta({
  format: 'int64',
  description: "In the smallest unit of the tenant's base currency",
});
const days = z.int().min(0).max(MAX_DAYS);

const fields = {
  name: trimmedText(1, 200),
  rank: z.int().min(0).max(1_000_000),
  color: z
    .string()
    .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #D4AF37')
    .nullable(),
  glyph: trimmedText(1, 32).nullable(),
  is_active: z.boolean(),
};

const requirements = {
  lifetime_deposit_subunit: amount,
  lifetime_wagered_subunit: amount,
  min_days_active: days.describe('Days since the first event of the player'),
};

const inactivity_days = days.min(1).nullable().describe('Null: never');
const grace_days = days;

const perk = {
  cashback_pct: z.number().min(0).max(100),
  dedicated_host: z.boolean(),
  priority_kyc: z.boolean(),
};
/** Perks are data for the operator's systems: the three of the specification, and any others. */
function perks<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .object(shape)
    .catchall(z.unknown())
    .refine((value) => Object.keys(value).length <= MAX_PERKS, `must have at most ${MAX_PERKS} keys`)
    .refine(
      (value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_PERKS_BYTES,
      `must be at most ${MAX_PERKS_BYTES} bytes of JSON`,
    );
}

/** `POST /v1/vip-tiers`. */
export const createTierBody = z.strictObject({
  ...fields,
  code: z.string().regex(/^[a-z0-9_]{1,40}$/, 'must be 1 to 40 of a-z, 0-9 and _'),
  color: fields.color.default(null),
  glyph: fields.glyph.default(null),
  is_active: fields.is_active.default(true),
  requirements: z
    .strictObject({
      lifetime_deposit_subunit: amount.default(0),
      lifetime_wagered_subunit: amount.default(0),
      min_days_active: days.default(0),
    })
    .prefault({}),
  demotion: z
    .strictObject({ inactivity_days: inactivity_days.default(null), grace_days: grace_days.default(0) })
    .nullable()
    .default(null),
  perks: perks({
    cashback_pct: perk.cashback_pct.optional(),
    dedicated_host: perk.dedicated_host.optional(),
    priority_kyc: perk.priority_kyc.optional(),
  }).prefault({}),
});
export type CreateTierBody = z.infer<typeof createTierBody>;

/** `PATCH /v1/vip-tiers/:id`: objects are merged field by field; a null perk is removed, a null demotion never happens. */
export const patchTierBody = z.strictObject({
  name: fields.name.optional(),
  rank: fields.rank.optional(),
  color: fields.color.optional(),
  glyph: fields.glyph.optional(),
  is_active: fields.is_active.optional(),
  requirements: z
    .strictObject({
      lifetime_deposit_subunit: amount.optional(),
      lifetime_wagered_subunit: amount.optional(),
      min_days_active: days.optional(),
    })
    .optional(),
  demotion: z
    .strictObject({ inactivity_days: inactivity_days.optional(), grace_days: grace_days.optional() })
    .nullable()
    .optional(),
  perks: perks({
    cashback_pct: perk.cashback_pct.nullable().optional(),
    dedicated_host: perk.dedicated_host.nullable().optional(),
    priority_kyc: perk.priority_kyc.nullable().optional(),
  }).optional(),
});
export type PatchTierBody = z.infer<typeof patchTierBody>;

/** Perks as a tier keeps them, after a merge. */
export const storedPerks = perks({});

/** Fields that a POST cannot set, and those that a PATCH cannot. */
export const COMPUTED_FIELDS = new Set(['id', 'tenant_id', 'created_at', 'updated_at']);
export const FIXED_FIELDS = new Set([...COMPUTED_FIELDS, 'code']);

export const listTiersQuery = z.strictObject(PAGE_QUERY);

const timestamp = z.iso.datetime();
const code = z.string().nullable();

/** The VIP tier (spec part 2). */
export const tierResource = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  code: z.string(),
  ...fields,
  requirements: z.object(requirements),
  demotion: z.object({ inactivity_days, grace_days }).nullable(),
  perks: z.record(z.string(), z.unknown()),
  created_at: timestamp,
  updated_at: timestamp,
});

/** The checks of a player before a tier with a host, where the licence asks for them. */
const approval = z.strictObject({
  affordability_at: timestampWithOffset,
  harm_check_at: timestampWithOffset,
  edd_at: timestampWithOffset,
  approved_by: trimmedText(1, 200),
});

/** `POST /v1/players/:id/tier`: `{}` computes the tier by the rules, the other form sets it by hand. */
export const setTierBody = z
  .strictObject({
    to_code: z.string().min(1).max(64).optional(),
    reason: trimmedText(1, 500).optional(),
    lock: z
      .boolean()
      .describe('The tier does not rise by itself; without it a new tier is not locked')
      .optional(),
    approval: approval.optional(),
  })
  .superRefine(({ to_code, reason, lock, approval: approved }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (to_code !== undefined && reason === undefined) refuse('reason', 'must be given with to_code');
    if (to_code !== undefined) return;
    const message = 'must be given with reason, lock and approval; without them the tier is computed';
    if (reason !== undefined || lock !== undefined || approved !== undefined) refuse('to_code', message);
  });
export type SetTierBody = z.infer<typeof setTierBody>;

/** `POST /v1/internal/recompute-tier` (spec part 4). */
export const recomputeTierBody = z.strictObject({
  tenant_id: z.guid(),
  player_id: z.guid(),
  trigger: z.literal('auto'),
});
export type RecomputeTierBody = z.infer<typeof recomputeTierBody>;

const TRIGGERS = ['auto', 'manual', 'reset'] as const;

/** The answer to a computation or a change of a player's tier. */
export const tierChange = z.object({
  player_id: z.uuid(),
  changed: z.boolean(),
  from_code: code,
  to_code: code,
  trigger: z.enum(TRIGGERS),
  tier_promoted_at: timestamp.nullable(),
  reason: z.string().optional(),
  context: z
    .object({ pending_approval: z.string() })
    .describe('While a higher tier waits for checks of the player: its code')
    .optional(),
});

/** `GET /v1/tier-changes`. */
export const tierChangesQuery = z
  .strictObject({
    ...PAGE_QUERY,
    from: timestampWithOffset.describe('Changes at this time or later').optional(),
    to: timestampWithOffset.describe('Changes before this time').optional(),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || Date.parse(from) <= Date.parse(to), {
    path: ['from'],
    message: 'must not be after `to`',
  });
export type TierChangesQuery = z.infer<typeof tierChangesQuery>;

/** One entry of the history of a player's tier. */
const historyEntry = z.object({
  from_code: code,
  to_code: code,
  trigger: z.enum(TRIGGERS),
  context: z.record(z.string(), z.unknown()),
  occurred_at: timestamp,
});

/** A change of any player's tier. */
export const movedPlayer = historyEntry.extend({
  player_id: z.uuid(),
  player_external_id: z.string().nullable(),
});

/** `GET /v1/players/:id/tier`, the newest 200 entries first. */
export const playerTier = z.object({
  current_tier_code: code,
  tier_promoted_at: timestamp.nullable(),
  tier_demoted_at: timestamp.nullable(),
  tier_locked: z.boolean(),
  pending_approval: code,
  history: z.array(historyEntry),
});

nameSchemas({
  CreateTierBody: createTierBody,
  PatchTierBody: patchTierBody,
  Tier: tierResource,
  SetTierBody: setTierBody,
  RecomputeTierBody: recomputeTierBody,
  TierChange: tierChange,
  PlayerTier: playerTier,
  MovedPlayer: movedPlayer,
});
