import { holds } from '../../../segments/language/holds.ts';
import type { Where } from './shapes.ts';

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
 * `amountAt`: what the amount at a path comes to in the base currency, null while no rate is known; undefined: it is not an
 * amount, and its value is compared as it is. Undefined as in {@link verdictOf}.
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
