import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { TierRule } from './recompute.ts';

/** The key of a tier. */
export interface TierRef {
  tenant_id: string;
  tier_id: string;
}

/** A tier as Postgres has it. */
export interface TierRow extends TierRef {
  code: string;
  name: string;
  rank: number;
  color: string | null;
  glyph: string | null;
  lifetime_deposit_subunit: bigint;
  lifetime_wagered_subunit: bigint;
  min_days_active: number;
  inactivity_days: number | null;
  /** Null: the tier has no `demotion`. */
  grace_days: number | null;
  perks: Record<string, unknown>;
  is_active: boolean;
  created_at: Date;
  updated_at: Date;
}

function columns(tx: Tx) {
  return tx`tenant_id, tier_id, code, name, rank, color, glyph, lifetime_deposit_subunit, lifetime_wagered_subunit,
    min_days_active, inactivity_days, grace_days, perks, is_active, created_at, updated_at`;
}

/** A page of the tenant's tiers, inactive ones too, the lowest rank first. */
export function listTiers(
  tx: Tx,
  tenant_id: string,
  after: readonly [rank: string, tier_id: string] | undefined,
  limit: number,
): PendingQuery<TierRow[]> {
  const beyond =
    after === undefined ? tx`` : tx`and (rank, tier_id) > (${after[0]}::text::integer, ${after[1]}::uuid)`;
  return tx<TierRow[]>`
    select ${columns(tx)} from vip_tiers where tenant_id = ${tenant_id} ${beyond}
    order by rank, tier_id limit ${limit}`;
}

/** One tier, active or not; no row when the tenant has no such tier. */
export function selectTier(tx: Tx, { tenant_id, tier_id }: TierRef): PendingQuery<TierRow[]> {
  return tx<TierRow[]>`
    select ${columns(tx)} from vip_tiers where tenant_id = ${tenant_id} and tier_id = ${tier_id}`;
}

/** All tiers of the tenant, after locking them against other changes until the transaction ends. */
export async function lockTiers(tx: Tx, tenant_id: string): Promise<TierRow[]> {
  const [, rows] = await Promise.all([
    tx`select pg_advisory_xact_lock(hashtextextended(${`vip tiers ${tenant_id}`}, 0))`,
    tx<TierRow[]>`select ${columns(tx)} from vip_tiers where tenant_id = ${tenant_id}`,
  ]);
  return rows;
}

/** Adds a tier. */
export async function insertTier(tx: Tx, row: TierRow): Promise<void> {
  await tx`
    insert into vip_tiers (tenant_id, tier_id, code, name, rank, color, glyph, lifetime_deposit_subunit,
      lifetime_wagered_subunit, min_days_active, inactivity_days, grace_days, perks, is_active, created_at, updated_at)
    values (${row.tenant_id}, ${row.tier_id}, ${row.code}, ${row.name}, ${row.rank}, ${row.color}, ${row.glyph},
      ${row.lifetime_deposit_subunit}, ${row.lifetime_wagered_subunit}, ${row.min_days_active},
      ${row.inactivity_days}, ${row.grace_days}, ${JSON.stringify(row.perks)}::text::jsonb, ${row.is_active},
      ${row.created_at}, ${row.updated_at})`;
}

/** Changes a tier; its code stays. */
export async function updateTier(tx: Tx, row: TierRow): Promise<void> {
  await tx`
    update vip_tiers set name = ${row.name}, rank = ${row.rank}, color = ${row.color}, glyph = ${row.glyph},
      lifetime_deposit_subunit = ${row.lifetime_deposit_subunit},
      lifetime_wagered_subunit = ${row.lifetime_wagered_subunit}, min_days_active = ${row.min_days_active},
      inactivity_days = ${row.inactivity_days}, grace_days = ${row.grace_days},
      perks = ${JSON.stringify(row.perks)}::text::jsonb, is_active = ${row.is_active}, updated_at = ${row.updated_at}
    where tenant_id = ${row.tenant_id} and tier_id = ${row.tier_id}`;
}

/** What the rules read of a tier, but for the licence. */
export type TierRuleRow = Omit<TierRule, 'needs_checks'> & { has_host: boolean };

/** What the rules read of the tenant's tiers. */
export function selectTierRows(tx: Tx, tenant_id: string): PendingQuery<TierRuleRow[]> {
  return tx<TierRuleRow[]>`
    select code, rank, is_active, lifetime_deposit_subunit as deposit_subunit,
      lifetime_wagered_subunit as wagered_subunit, min_days_active, inactivity_days,
      coalesce(grace_days, 0) as grace_days, coalesce(perks ->> 'dedicated_host' = 'true', false) as has_host
    from vip_tiers where tenant_id = ${tenant_id}`;
}
