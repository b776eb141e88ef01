const MAX_DEPTH = 32;
/** Keys that pollute prototypes where objects are merged or written by key. */
export const UNSAFE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Why a JSON value cannot be stored, with the path to the value; undefined when it can. A value is refused when it is
 * nested deeper than 32, has a key that pollutes prototypes, has text with NUL or a lone surrogate (no database
 * stores those), or has a number beyond the range of a double. The depth limit also bounds the recursion.
 */
export function findUnsafe(value: unknown, path: string, depth = 0): string | undefined {
  if (typeof value === 'string')
    return unsafeText(value) ? `${path} contains NUL or a lone surrogate` : undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${path} ${TOO_LARGE}`;
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= MAX_DEPTH) return `${path} is nested deeper than ${MAX_DEPTH}`;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = findUnsafe(value[i], `${path}[${i}]`, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  // `for … in` suffices: parsed JSON has own keys only. A path is built only for values that may be unsafe: it costs.
  for (const key in value) {
    if (UNSAFE_KEYS.has(key)) return `${path} has the key ${key}, which is not allowed`;
    if (unsafeText(key)) return `a key of ${path} contains NUL or a lone surrogate`;
    const child = (value as Record<string, unknown>)[key];
    if (mayBeUnsafe(child)) {
      const found = findUnsafe(child, `${path}.${key}`, depth + 1);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** A cheap first check: true for values that {@link findUnsafe} must examine with their path. */
function mayBeUnsafe(value: unknown): boolean {
  if (typeof value === 'string') return unsafeText(value);
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object';
}

const TOO_LARGE = 'is a number beyond the range of a double';

/** Whether text holds NUL or is not well-formed UTF-16. */
export function unsafeText(value: string): boolean {
  return value.includes('\0') || !value.isWellFormed();
}
