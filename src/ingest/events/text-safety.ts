const MAX_DEPTH = 32;
const UNSAFE_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Why a JSON value cannot be kept, with the path to the value, or undefined: nested deeper than 32, a key that
 * poisons prototypes, text with NUL or a lone surrogate (no database stores those), or a number beyond a
 * double's range. Bounded recursion.
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
  // JSON objects have own keys only. Paths are built when there is something to say, not on the way.
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

/** A cheap first look: true for everything that has to be looked at with its path. */
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
