import { isNumeric, type Numeric, type PositiveComparison } from '../language/forms.ts';

/** A range of consecutive whole numbers; both ends are included. */
export interface Interval {
  low: bigint;
  high: bigint;
}

/** No total, count or field exceeds it. */
const BOUND = 10n ** 38n - 1n;

/** The whole numbers that satisfy a comparison; undefined for comparisons whose numbers are not one range. */
export function intervalOf(positive: PositiveComparison): Interval | undefined {
  if (positive.form === 'one_of') {
    const [value, ...more] = positive.values;
    return isNumeric(value) && more.length === 0 ? { low: atLeast(value), high: atMost(value) } : undefined;
  }
  if (positive.form !== 'numbers') return undefined;
  const { low, high } = positive.range;
  return {
    low: low === undefined ? -BOUND : low.is_included ? atLeast(low.value) : atMost(low.value) + 1n,
    high: high === undefined ? BOUND : high.is_included ? atMost(high.value) : atLeast(high.value) - 1n,
  };
}

/** The least whole number that is not below `value`. */
function atLeast(value: Numeric): bigint {
  return clamp(typeof value === 'bigint' ? value : BigInt(Math.ceil(value)));
}

/** The greatest whole number that is not above `value`. */
function atMost(value: Numeric): bigint {
  return clamp(typeof value === 'bigint' ? value : BigInt(Math.floor(value)));
}

function clamp(value: bigint): bigint {
  if (value > BOUND) return BOUND;
  return value < -BOUND ? -BOUND : value;
}

/**
 * Whether a comparison of a count only asks if it is 0: it holds for all counts from 1 on and not for 0, or only for 0.
 */
export function isOfPresence(positive: PositiveComparison): boolean {
  const interval = intervalOf(positive);
  if (interval === undefined) return false;
  const { low, high } = interval;
  return (low === 1n && high === BOUND) || (low <= 0n && high === 0n);
}
