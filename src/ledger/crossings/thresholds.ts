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

/**
 * Whether a player whose totals changed from `before` to `after` fits a tier that he did not fit before; `before` is
 * undefined for a new player. Totals that fall change no tier (`bonuses.md` 7).
 */
export function crossed(
  { thresholds }: TenantThresholds,
  before: LifetimeTotals | undefined,
  after: LifetimeTotals,
): boolean {
  return thresholds.some((one) => fits(after, one) && (before === undefined || !fits(before, one)));
}
