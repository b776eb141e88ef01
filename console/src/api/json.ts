/** A whole number of the API: a `bigint` where its schema says that it may have more digits than a double holds. */
export type Int = number | bigint;

export { parseExactly } from '@player-engagement/client/admin';

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
 * A body with what people have written, as its text, which the client sends as it is: a number keeps all its digits. By
 * itself the client writes one that a double cannot hold as a string of digits, as amounts are; in a condition that is
 * another value.
 */
export function asWritten<Body>(body: Body): Body {
  return writeExactly(body) as Body;
}
