import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';

/** Lifetime totals of a player that tiers look at, in the smallest unit of the tenant's base currency. */
export interface LifetimeTotals {
  total_deposited: bigint;
  total_wagered: bigint;
}

/** What one active tier of a tenant requires of the totals. */
export interface Threshold {
  deposit_subunit: bigint;
  wagered_subunit: bigint;
}

/** The thresholds of a tenant that has active tiers. */
export interface TenantThresholds {
  thresholds: readonly Threshold[];
  /** Whether a tier also requires days since the first event. */
  counts_days: boolean;
}

/** Whether the totals fit the threshold. */
export function fits(totals: LifetimeTotals, threshold: Threshold): boolean {
  return (
    totals.total_deposited >= threshold.deposit_subunit && totals.total_wagered >= threshold.wagered_subunit
  );
}

/** The totals of a player before the first event. */
export const NO_TOTALS: LifetimeTotals = { total_deposited: 0n, total_wagered: 0n };

/**
 * Whether a player whose totals changed from `before` to `after` fits a tier that he did not fit before. Totals that fall
 * change no tier (`bonuses.md` 7).
 */
export function crossed(
  { thresholds }: TenantThresholds,
  before: LifetimeTotals,
  after: LifetimeTotals,
): boolean {
  return thresholds.some((one) => fits(after, one) && !fits(before, one));
}

/** NOTIFY channel: players were added to `tier_requests`. A trigger of the table `players` uses it, too. */
export const TIER_REQUESTS_CHANNEL = 'tier_requests';

/** A player whose tier is to be computed again. */
export interface TierRequest {
  tenant_id: string;
  project_id: string;
  player_id: string;
}

/** The thresholds of these tenants; a tenant without active tiers is omitted. */
export async function readThresholds(
  sql: Tx,
  tenant_ids: readonly string[],
): Promise<Map<string, TenantThresholds>> {
  const rows = await sql<(Threshold & { tenant_id: string; min_days_active: number })[]>`
    select tenant_id, lifetime_deposit_subunit as deposit_subunit, lifetime_wagered_subunit as wagered_subunit,
      min_days_active
    from vip_tiers where tenant_id = any(${plainArray(tenant_ids)}::text::uuid[]) and is_active`;
  const found = new Map<string, TenantThresholds>();
  for (const { tenant_id, deposit_subunit, wagered_subunit, min_days_active } of rows) {
    const { thresholds = [], counts_days = false } = found.get(tenant_id) ?? {};
    found.set(tenant_id, {
      thresholds: [...thresholds, { deposit_subunit, wagered_subunit }],
      counts_days: counts_days || min_days_active > 0,
    });
  }
  return found;
}

/**
 * Queues players whose totals newly fit a tier, in the transaction that changed their totals; it is empty for most batches,
 * and costs nothing then.
 */
export async function requestTiers(tx: Tx, requests: readonly TierRequest[]): Promise<void> {
  if (requests.length === 0) return;
  await Promise.all([
    tx`
      insert into tier_requests (tenant_id, project_id, player_id)
      select * from ${rowsOf(tx, 'r', requests, { ...PROJECT_KEY, player_id: 'uuid' })}`,
    tx`select pg_notify(${TIER_REQUESTS_CHANNEL}, '')`,
  ]);
}

/**
 * Has the next daily sweep compute the tiers of these players, in the transaction that changed them: players who fit a
 * tier, but not because their totals crossed what it requires.
 */
export async function recheckDaily(tx: Tx, players: readonly TierRequest[], now: Date): Promise<void> {
  if (players.length === 0) return;
  const sorted = players.toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1));
  await tx`
    insert into tier_deadlines as d (tenant_id, project_id, player_id, due_at)
    select g.tenant_id, g.project_id, g.player_id, ${now}
    from ${rowsOf(tx, 'g', sorted, { ...PROJECT_KEY, player_id: 'uuid', n: 'ordinality' })}
    order by g.n
    on conflict (player_id, tenant_id, project_id) do update set due_at = least(d.due_at, excluded.due_at)`;
}
