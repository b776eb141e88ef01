import { logGamma } from '../../../platform/statistics/log-gamma.ts';

// Tails and quantiles of the distributions that the other statistics are made of.

/** From this `x` on the continued fraction needs few terms; below it the series does. */
const FRACTION_FROM = 3;
const FRACTION_TERMS = 80;
const SERIES_TERMS = 100;

/** The complementary error function of `x` ≥ 0, correct to at least 14 decimals. */
export function erfc(x: number): number {
  if (x >= FRACTION_FROM) {
    let below = x;
    for (let k = FRACTION_TERMS; k >= 1; k--) below = x + k / 2 / below;
    return Math.exp(-x * x) / Math.sqrt(Math.PI) / below;
  }
  let term = x;
  let sum = x;
  for (let n = 1; n <= SERIES_TERMS; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** How likely a standard normal value is at least as far from 0 as `z`. */
export function normalTails(z: number): number {
  return erfc(Math.abs(z) / Math.SQRT2);
}

/** The `z` > 0 that a standard normal value is beyond, on either side, with probability `p`; 0 < p < 1. */
export function normalBeyond(p: number): number {
  return whereTailsAre(p, normalTails);
}

/** Terms of a continued fraction at most; it ends earlier once a term changes nothing. */
const MAX_TERMS = 10_000;
const TINY = 1e-300;

/** Lentz's method: the value of b0 + a1 / (b1 + a2 / (b2 + …)). */
function continuedFraction(b0: number, term: (n: number) => readonly [a: number, b: number]): number {
  let value = b0 === 0 ? TINY : b0;
  let [c, d] = [value, 0];
  for (let n = 1; n <= MAX_TERMS; n++) {
    const [a, b] = term(n);
    d = b + a * d;
    d = 1 / (d === 0 ? TINY : d);
    c = b + a / c;
    if (c === 0) c = TINY;
    const change = c * d;
    value *= change;
    if (Math.abs(change - 1) < 1e-15) break;
  }
  return value;
}

/** The regularised incomplete beta function I_x(a, b). */
function betaShare(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges quickly on this side only.
  if (x > (a + 1) / (a + b + 2)) return 1 - betaShare(1 - x, b, a);
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x) - Math.log(a),
  );
  const fraction = continuedFraction(1, (n) => {
    const m = Math.floor(n / 2);
    const top =
      n % 2 === 0
        ? (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
        : (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    return [top, 1];
  });
  return front / fraction;
}

/** Above so many degrees of freedom Student's distribution is the normal one to 9 decimals. */
const MANY_DEGREES = 1e9;

/** How likely a value of Student's distribution with `df` > 0 degrees of freedom is at least as far from 0 as `t`. */
export function studentTails(t: number, df: number): number {
  return df >= MANY_DEGREES ? normalTails(t) : betaShare(df / (df + t * t), df / 2, 0.5);
}

/** The `t` > 0 that a value of Student's distribution is beyond, on either side, with probability `p`; 0 < p < 1. */
export function studentBeyond(p: number, df: number): number {
  return whereTailsAre(p, (t) => studentTails(t, df));
}

/** How likely a value of the χ² distribution with `df` degrees of freedom is at least `x`. */
export function chiSquareTail(x: number, df: number): number {
  const a = df / 2;
  const y = x / 2;
  if (!(y > 0)) return 1;
  const front = Math.exp(a * Math.log(y) - y - logGamma(a));
  if (y < a + 1) {
    let term = 1 / a;
    let sum = term;
    for (let n = 1; n <= MAX_TERMS && term > sum * 1e-16; n++) {
      term *= y / (a + n);
      sum += term;
    }
    return 1 - front * sum;
  }
  return front / continuedFraction(y + 1 - a, (n) => [-n * (n - a), y + 2 * n + 1 - a]);
}

/** Halvings of an interval: more change nothing in 53 bits. */
const HALVINGS = 200;

/** Where falling tails of a distribution, from 1 at 0, have the probability `p`. */
export function whereTailsAre(p: number, tails: (at: number) => number): number {
  let [low, high] = [0, 1];
  while (tails(high) > p && high < 1e8) high *= 2;
  for (let n = 0; n < HALVINGS && high - low > 1e-15 * high; n++) {
    const middle = (low + high) / 2;
    if (tails(middle) > p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
