/** z of a two-sided interval of 95 %, and of a power of 80 %. */
const Z = 1.959963984540054;
const Z_POWER = 0.8416212335729143;

/** Successes among trials; both whole and not negative, successes at most trials. */
export interface Share {
  successes: number;
  trials: number;
}

export interface Interval {
  low: number;
  high: number;
}

/** The share of successes; 0 of no trials. */
export function shareOf({ successes, trials }: Share): number {
  return trials === 0 ? 0 : successes / trials;
}

/** Wilson's score interval of 95 %: where the true share lies, also for few trials and for shares near 0 and 1. */
export function wilson({ successes, trials }: Share): Interval {
  if (trials === 0) return { low: 0, high: 1 };
  const p = successes / trials;
  const z2 = Z * Z;
  const middle = (p + z2 / (2 * trials)) / (1 + z2 / trials);
  const half = (Z / (1 + z2 / trials)) * Math.sqrt((p * (1 - p)) / trials + z2 / (4 * trials * trials));
  // At both ends the interval begins or ends exactly there, which rounding would miss.
  const low = successes === 0 ? 0 : Math.max(0, middle - half);
  const high = successes === trials ? 1 : Math.min(1, middle + half);
  return { low, high };
}

/** Newcombe's interval of 95 % for the difference `a` − `b` of two shares (his method 10, of Wilson's intervals). */
export function newcombe(a: Share, b: Share): Interval {
  const [p, q] = [shareOf(a), shareOf(b)];
  const [of_a, of_b] = [wilson(a), wilson(b)];
  return {
    low: p - q - Math.hypot(p - of_a.low, of_b.high - q),
    high: p - q + Math.hypot(of_a.high - p, q - of_b.low),
  };
}

/** Whether an interval of a difference excludes 0, which means no difference. */
export function isBeyondChance({ low, high }: Interval): boolean {
  return low > 0 || high < 0;
}

/**
 * How many trials each of two variants needs for a difference of these shares to be found in 80 % of tests, at 95 %;
 * undefined when the shares are the same: no number is enough.
 */
export function trialsNeeded(p: number, q: number): number | undefined {
  if (p === q) return undefined;
  const pooled = (p + q) / 2;
  const spread = Z * Math.sqrt(2 * pooled * (1 - pooled)) + Z_POWER * Math.sqrt(p * (1 - p) + q * (1 - q));
  const needed = Math.ceil((spread / (p - q)) ** 2);
  return Number.isSafeInteger(needed) ? Math.max(1, needed) : undefined;
}
