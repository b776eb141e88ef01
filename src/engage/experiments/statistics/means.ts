import { studentBeyond, studentTails } from './distributions.ts';
import type { Interval } from './interval.ts';

/**
 * Exact sums over the players of an arm. `y`: what is measured, `x`: the same of the time before the assignment, both in
 * the smallest unit of the currency; `y2` is the sum of squares, `xy` that of products.
 */
export interface Sums {
  n: bigint;
  y: bigint;
  y2: bigint;
  y3: bigint;
  x: bigint;
  x2: bigint;
  xy: bigint;
}

/** The sums of nobody. */
export const NO_SUMS: Sums = { n: 0n, y: 0n, y2: 0n, y3: 0n, x: 0n, x2: 0n, xy: 0n };

/** The sums of two groups together. */
export function addSums(one: Sums, other: Sums): Sums {
  return {
    n: one.n + other.n,
    y: one.y + other.y,
    y2: one.y2 + other.y2,
    y3: one.y3 + other.y3,
    x: one.x + other.x,
    x2: one.x2 + other.x2,
    xy: one.xy + other.xy,
  };
}

/** A mean, the variance of the single values (of a sample: over n − 1), and of how many players. */
export interface Sample {
  mean: number;
  variance: number;
  n: number;
}

/** The covariance of a sample times n (n − 1), without rounding. */
function spread(n: bigint, product: bigint, a: bigint, b: bigint): bigint {
  return n * product - a * b;
}

function quotient(top: bigint, below: bigint): number {
  return below === 0n ? 0 : Number(top) / Number(below);
}

/**
 * How much of a player's value follows from the value before: the slope of the regression over both arms. 0 where nothing
 * was different before.
 */
export function slopeOf(one: Sums, other: Sums): number {
  const { n, x, y, x2, xy } = addSums(one, other);
  return quotient(spread(n, xy, x, y), spread(n, x2, x, x));
}

/**
 * The sample of y − `slope` · x: CUPED (Deng and others, 2013). Its difference between the arms estimates the same as that of
 * y, because the arms were drawn at random, with less variance. Slope 0: the sample of y.
 */
export function sampleOf({ n, y, x, y2, x2, xy }: Sums, slope: number): Sample {
  const pairs = n * (n - 1n);
  const ofY = quotient(spread(n, y2, y, y), pairs);
  const variance =
    slope === 0
      ? ofY
      : ofY -
        2 * slope * quotient(spread(n, xy, x, y), pairs) +
        slope * slope * quotient(spread(n, x2, x, x), pairs);
  return { mean: quotient(y, n) - slope * quotient(x, n), variance: Math.max(variance, 0), n: Number(n) };
}

/** A difference of two means, its standard error, and the degrees of freedom of the latter. */
export interface Difference {
  difference: number;
  standard_error: number;
  df: number;
}

/**
 * The difference of two means, `one` minus `other`, of arms whose variances may differ (Welch 1947). Undefined while an arm
 * has fewer than two players, or nobody's value differs.
 */
export function welch(one: Sample, other: Sample): Difference | undefined {
  if (one.n < 2 || other.n < 2) return undefined;
  const [a, b] = [one.variance / one.n, other.variance / other.n];
  if (!(a + b > 0)) return undefined;
  const df = (a + b) ** 2 / (a ** 2 / (one.n - 1) + b ** 2 / (other.n - 1));
  return { difference: one.mean - other.mean, standard_error: Math.sqrt(a + b), df };
}

/** The interval that covers the difference in 1 − `alpha` of all experiments. */
export function welchInterval({ difference, standard_error, df }: Difference, alpha: number): Interval {
  const width = studentBeyond(alpha, df) * standard_error;
  return [difference - width, difference + width];
}

/** How likely a difference of at least this size is when there is none. */
export function welchP({ difference, standard_error, df }: Difference): number {
  return studentTails(difference / standard_error, df);
}

/** The skewness of y: its third central moment over that of the variance; 0 where all values are equal. */
export function skewOf({ n, y, y2, y3 }: Sums): number {
  const second = spread(n, y2, y, y);
  if (second === 0n) return 0;
  const third = n * n * y3 - 3n * n * y * y2 + 2n * y * y * y;
  return Number(third) / Number(second) ** 1.5;
}

/** Kohavi and others (KDD 2014): the mean of so many players times the square of the skewness is about normal. */
const PLAYERS_PER_SKEW = 355;

/** How many players an arm must have before the mean of such values is about normal. */
export function playersNeeded(skew: number): number {
  return Math.ceil(PLAYERS_PER_SKEW * skew * skew);
}
