/** A whole number of the API: a `bigint` where its schema says that it may have more digits than a double holds. */
export type Int = number | bigint;

export { parseExactly } from '@player-engagement/client';

/** JSON to read and to edit, with so many spaces of `indent`; a `bigint` becomes a number with all its digits, undefined nothing. */
export function writeExactly(value: unknown, indent = 0): string {
  const marked = (_key: string, one: unknown) => (typeof one === 'bigint' ? `${mark}${one}` : one);
  // Not `JSON.rawJSON`, which browsers have since 2025 only.
  const text = JSON.stringify(value, marked, indent) as string | undefined;
  return text?.replaceAll(MARKED, '$1') ?? '';
}

/** Begins strings that stand for integers. Made afresh, so that no text of others can begin with it. */
const mark = `int:${crypto.getRandomValues(new BigUint64Array(2)).join(':')}:`;
const MARKED = new RegExp(`"${mark}(-?\\d+)"`, 'g');

/**
 * JSON that people have written, as the service reads it. It parses bodies into doubles, so a number with more digits is
 * rounded there; the client would send it as a string of digits, as amounts are, and that is another value in a condition.
 */
export function asDoubles(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(asDoubles);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, asDoubles(one)]));
}
