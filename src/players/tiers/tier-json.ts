import type { TierRow } from './queries.ts';

/** The tier as the API shows it (spec part 2); its amounts were accepted as safe integers. */
export function tierResourceOf(row: TierRow) {
  const { tier_id, tenant_id, code, name, rank, color, glyph, perks, is_active, created_at, updated_at } =
    row;
  return {
    id: tier_id,
    tenant_id,
    code,
    name,
    rank,
    color,
    glyph,
    requirements: {
      lifetime_deposit_subunit: Number(row.lifetime_deposit_subunit),
      lifetime_wagered_subunit: Number(row.lifetime_wagered_subunit),
      min_days_active: row.min_days_active,
    },
    demotion:
      row.grace_days === null ? null : { inactivity_days: row.inactivity_days, grace_days: row.grace_days },
    perks,
    is_active,
    created_at,
    updated_at,
  };
}
