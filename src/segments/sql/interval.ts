import type { Numeric, PositiveComparison } from '../language/operators.ts';

/** A range of consecutive whole numbers; both ends are included. */
export interface Interval {
  low: bigint;
  high: bigint;
}

/** No total, count or field exceeds it. */
const BOUND = 10n ** 38n - 1n;

/** The whole numbers that satisfy a comparison; undefined for comparisons whose numbers are not one range. */
export function intervalOf(positive: PositiveComparison): Interval | undefined {
  switch (positive.op) {
    case 'eq':
      if (typeof positive.value !== 'number' && typeof positive.value !== 'bigint') return undefined;
      return { low: atLeast(positive.value), high: atMost(positive.value) };
    case 'gt':
      return { low: atMost(positive.value) + 1n, high: BOUND };
    case 'gte':
      return { low: atLeast(positive.value), high: BOUND };
    case 'lt':
      return { low: -BOUND, high: atLeast(positive.value) - 1n };
    case 'lte':
      return { low: -BOUND, high: atMost(positive.value) };
    case 'between':
      if (positive.kind === 'date') return undefined;
      return { low: atLeast(positive.low), high: atMost(positive.high) };
    case 'in':
    case 'contains':
    case 'starts_with':
    case 'exists':
    case 'before':
    case 'after':
    case 'within_last':
      return undefined;
  }
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
