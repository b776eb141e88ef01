import { growthOf, isExactNumber, isShort, MAX_GROWTH, problemOf } from '../../platform/exact-json.ts';

const MAX_DEPTH = 32;
/** The one key of JSON that sets the prototype of an object that it is written to. */
export const UNSAFE_KEY = '__proto__';

/**
 * Why a JSON value cannot be stored, with the path to the value; undefined when it can. A value is refused when it is
 * nested deeper than 32, has more than `max_keys` keys at all depths together, has the key `__proto__`, has text with NUL
 * or a lone surrogate (no database stores those), has a number beyond the range of a double or of more than 400 digits, or
 * has numbers that Postgres, which writes them without exponents, makes more than 64 KiB longer. The depth limit also bounds
 * the recursion.
 */
export function findUnsafe(value: unknown, path: string, max_keys = Infinity): string | undefined {
  return find(value, path, 0, { path, max: max_keys, keys: 0, growth: 0 });
}

/** The keys so far, of how many at most, and the growth so far, in the value at `path`. */
interface Count {
  path: string;
  max: number;
  keys: number;
  growth: number;
}

function find(value: unknown, path: string, depth: number, count: Count): string | undefined {
  if (typeof value === 'string')
    return unsafeText(value) ? `${path} contains NUL or a lone surrogate` : undefined;
  if (typeof value === 'number' || isExactNumber(value)) {
    const problem = problemOf(value);
    if (problem !== undefined) return `${path} ${problem}`;
    count.growth += growthOf(value);
    return count.growth > MAX_GROWTH ? `${count.path} ${GROWS}` : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= MAX_DEPTH) return `${path} is nested deeper than ${MAX_DEPTH}`;
  // A path is built only for values that may be unsafe: it costs.
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = mayBeUnsafe(value[i]) ? find(value[i], `${path}[${i}]`, depth + 1, count) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }
  // `for … in` suffices: parsed JSON has own keys only.
  for (const key in value) {
    if (++count.keys > count.max) return `${count.path} has more than ${count.max} keys`;
    if (key === UNSAFE_KEY) return `${path} has the key ${key}, which is not allowed`;
    if (unsafeText(key)) return `a key of ${path} contains NUL or a lone surrogate`;
    const child = (value as Record<string, unknown>)[key];
    if (mayBeUnsafe(child)) {
      const found = find(child, `${path}.${key}`, depth + 1, count);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** A cheap first check: true for values that {@link find} must examine with their path. */
function mayBeUnsafe(value: unknown): boolean {
  if (typeof value === 'string') return unsafeText(value);
  if (typeof value === 'number') return !isShort(value);
  return typeof value === 'object';
}

const GROWS = `has numbers that are over ${MAX_GROWTH} characters longer without exponents`;

/** Whether text holds NUL or is not well-formed UTF-16. */
export function unsafeText(value: string): boolean {
  return value.includes('\0') || !value.isWellFormed();
}
