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
