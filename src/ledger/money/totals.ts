const NO_SUMS = {
  total_deposited: 0n,
  total_withdrawn: 0n,
  total_wagered: 0n,
  total_won: 0n,
  total_bonus_wagered: 0n,
  total_bonus_won: 0n,
  total_credited: 0n,
  total_debited: 0n,
  bet_count: 0n,
  session_count: 0n,
  pending_conversions: 0n,
};

export type Sum = keyof typeof NO_SUMS;

/** The columns of `player_totals` that are sums; GGR is always total_wagered − total_won and not stored. */
export const SUMS = Object.keys(NO_SUMS) as readonly Sum[];

/**
 * Net gaming revenue: ggr less what bonus money staked, plus what it won, less what was credited, plus what was debited
 * (docs/feeds.md, What counts how).
 */
export function ngrOf(totals: Record<'total_wagered' | 'total_won' | FeedSum, bigint>): bigint {
  const { total_wagered, total_won, total_bonus_wagered, total_bonus_won, total_credited, total_debited } =
    totals;
  return total_wagered - total_won - total_bonus_wagered + total_bonus_won - total_credited + total_debited;
}

type FeedSum = 'total_bonus_wagered' | 'total_bonus_won' | 'total_credited' | 'total_debited';

/** What is added to one player's sums; absent means 0. Money is in the smallest unit of the base currency. */
export type TotalsDelta = { player_id: string } & Partial<Record<Sum, bigint>>;

/** Collects deltas per player. */
export class TotalsAccumulator {
  readonly byPlayer = new Map<string, Record<Sum, bigint>>();

  add(delta: TotalsDelta, sign: 1n | -1n = 1n): void {
    const sums = this.of(delta.player_id);
    for (const sum of SUMS) {
      const value = delta[sum];
      if (value !== undefined && value !== 0n) sums[sum] += sign * value;
    }
  }

  /** The player's sums so far, zeros at first. */
  of(player_id: string): Record<Sum, bigint> {
    let sums = this.byPlayer.get(player_id);
    if (sums === undefined) {
      sums = { ...NO_SUMS };
      this.byPlayer.set(player_id, sums);
    }
    return sums;
  }
}
