import { comparable } from '../../platform/exact-json.ts';
import {
  isNumeric,
  timesAt,
  type Comparison,
  type PositiveComparison,
  type Range,
  type Scalar,
} from './forms.ts';
import { jsonMomentMs } from './json-moment.ts';

/**
 * Whether a comparison holds for one JSON value at the time `now_ms`, with the meaning that its SQL has (json-sql.ts): a
 * value is compared by its JSON type, a missing one is as null, and a negated comparison also holds for these. Integers
 * and bigints are compared exactly at any size.
 */
export function holds({ negated, positive }: Comparison, value: unknown, now_ms: number): boolean {
  return holdsPositively(positive, comparable(value) ?? null, now_ms) !== negated;
}

function holdsPositively(positive: PositiveComparison, value: unknown, now_ms: number): boolean {
  switch (positive.form) {
    case 'exists':
      return value !== null;
    case 'one_of':
      if (typeof value === 'string') return textsOf(positive.values).has(value);
      return positive.values.some((one) => typeof one !== 'string' && equals(value, one));
    case 'contains':
      if (Array.isArray(value)) return value.some((one) => equals(comparable(one), positive.value));
      return (
        typeof value === 'string' && typeof positive.value === 'string' && value.includes(positive.value)
      );
    case 'starts_with':
      return typeof value === 'string' && value.startsWith(positive.value);
    case 'numbers':
      return isIn(positive.range, value);
    case 'times':
      return isIn(timesAt(positive.range, now_ms), jsonMomentMs(value));
  }
}

/** The texts of a list, which may have thousands of them. */
const texts = new WeakMap<readonly Scalar[], ReadonlySet<Scalar>>();

function textsOf(values: readonly Scalar[]): ReadonlySet<Scalar> {
  const known = texts.get(values) ?? new Set(values);
  texts.set(values, known);
  return known;
}

/** A bigint and a number are never identical, but `<` and `>` between them are exact at any size. */
function equals(value: unknown, expected: Scalar): boolean {
  if (!isNumeric(value) || !isNumeric(expected)) return value === expected;
  return !(value < expected) && !(value > expected);
}

function isIn({ low, high }: Range<number | bigint>, value: unknown): boolean {
  if (!isNumeric(value)) return false;
  if (low !== undefined && !(low.is_included ? value >= low.value : value > low.value)) return false;
  return high === undefined || (high.is_included ? value <= high.value : value < high.value);
}
