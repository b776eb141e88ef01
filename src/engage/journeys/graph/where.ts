import type { Comparison, PositiveComparison, Scalar } from '../../../segments/language/operators.ts';
import { jsonMomentMs } from './json-moment.ts';
import type { Where } from './shapes.ts';
import { comparable } from '../../../platform/exact-json.ts';

// The comparisons of the segment language on one JSON value, with the meaning that their SQL has (json-sql.ts): a value
// is compared by its JSON type, a missing one is as null, and a negated comparison also holds for these. Integers are
// compared exactly, whatever their size.

/**
 * Whether every clause holds for an event's properties. The property of a clause is a key, not a path. `amount` and
 * `payout` are compared as they stand in `properties`: a caller for whom they are money in the base currency passes them
 * so. Anything but an object has no properties.
 */
export function matches(where: Where, properties: unknown, now_ms: number): boolean {
  return where.every(({ property, comparison }) => holds(comparison, ownValue(properties, property), now_ms));
}

/** The value of an amount of another currency while no rate is known. */
export const UNRATED = Symbol('an amount without a rate');

/**
 * As {@link matches}, with the value of each property given by `valueOf`; bigints are compared as numbers, exactly.
 * Undefined: that depends on an amount which is {@link UNRATED}. No comparison holds for it, a negated one neither: what a
 * journey does cannot be undone when the rate comes.
 */
export function verdictOf(
  where: Where,
  valueOf: (property: string) => unknown,
  now_ms: number,
): boolean | undefined {
  let verdict: boolean | undefined = true;
  for (const { property, comparison } of where) {
    const value = valueOf(property);
    if (value === UNRATED) verdict = undefined;
    else if (!holds(comparison, value, now_ms)) return false;
  }
  return verdict;
}

/**
 * Whether every clause holds for a run's context; the property of a clause is a path such as `trigger_payload.amount`.
 * `amountAt`: what the amount at a path comes to in the base currency, null while no rate is known; undefined: it is none,
 * and its value is compared as it is. Undefined as in {@link verdictOf}.
 */
export function matchesContext(
  where: Where,
  context: unknown,
  amountAt: (path: string) => bigint | null | undefined,
  now_ms: number,
): boolean | undefined {
  const valueOf = (property: string) => {
    const amount = amountAt(property);
    if (amount !== undefined) return amount ?? UNRATED;
    return contextValue(context, property.split('.'));
  };
  return verdictOf(where, valueOf, now_ms);
}

/**
 * The value at a path of keys; undefined where an object on the way lacks the key. Only keys of the objects themselves
 * count (not `__proto__`, unless the JSON has it), and lists have none.
 */
export function contextValue(context: unknown, path: readonly string[]): unknown {
  return path.reduce(ownValue, context);
}

/** The value of an object's own key. */
export function ownValue(object: unknown, key: string): unknown {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return undefined;
  return Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;
}

function holds({ negated, positive }: Comparison, value: unknown, now_ms: number): boolean {
  return holdsPositively(positive, comparable(value) ?? null, now_ms) !== negated;
}

function holdsPositively(positive: PositiveComparison, value: unknown, now_ms: number): boolean {
  switch (positive.op) {
    case 'exists':
      return value !== null;
    case 'eq':
      return equals(value, positive.value);
    case 'in':
      return positive.values.some((one) => equals(value, one));
    case 'contains':
      if (Array.isArray(value)) return value.some((one) => equals(comparable(one), positive.value));
      return (
        typeof value === 'string' && typeof positive.value === 'string' && value.includes(positive.value)
      );
    case 'starts_with':
      return typeof value === 'string' && value.startsWith(positive.value);
    case 'gt':
      return isNumeric(value) && value > positive.value;
    case 'gte':
      return isNumeric(value) && value >= positive.value;
    case 'lt':
      return isNumeric(value) && value < positive.value;
    case 'lte':
      return isNumeric(value) && value <= positive.value;
    case 'between': {
      const compared = positive.kind === 'date' ? jsonMomentMs(value) : value;
      return isNumeric(compared) && compared >= positive.low && compared <= positive.high;
    }
    case 'before':
    case 'after':
    case 'within_last': {
      const at_ms = jsonMomentMs(value);
      return at_ms !== undefined && isAt(positive, at_ms, now_ms);
    }
  }
}

/** A bigint and a number are never identical, but `<` and `>` between them are exact, whatever their size. */
function equals(value: unknown, expected: Scalar): boolean {
  if (!isNumeric(value) || !isNumeric(expected)) return value === expected;
  return !(value < expected) && !(value > expected);
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

type DateComparison = Extract<PositiveComparison, { op: 'before' | 'after' | 'within_last' }>;

function isAt(positive: DateComparison, at_ms: number, now_ms: number): boolean {
  if (positive.op === 'within_last') return at_ms > now_ms - positive.span_ms && at_ms <= now_ms;
  return positive.op === 'before' ? at_ms < positive.at_ms : at_ms > positive.at_ms;
}
