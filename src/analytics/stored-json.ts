import { exactJson, parseExact } from '../platform/exact-json.ts';

// How JSON objects of callers are written into columns of ClickHouse, which reads them with its JSON functions. Its
// default parser (simdjson) refuses a whole text for one integer beyond 64 bits. The other one (`allow_simdjson = 0`)
// reads the text, but takes three times as long, and a fifth of random doubles are not the nearest ones.

/** What follows the digits of an integer beyond 64 bits, in the object itself: ClickHouse reads it as a double. */
const MARK = 'e+00';
/** The same in a deeper object or list, so that the digits of a key's value are found even if something else has that key. */
const DEEP_MARK = 'E+00';

/**
 * The text of an object for a column of ClickHouse, with numbers as they were sent. An integer beyond 64 bits gets the
 * exponent 0, so that ClickHouse can read the text; it keeps its digits. `stored_json` is the same in Postgres.
 */
export function storedJson(object: Record<string, unknown>): string {
  let own: Set<unknown> | undefined;
  return exactJson(object, (number) => {
    // Few objects have such a number.
    own ??= new Set(Object.values(object));
    return columnText(number.text, own.has(number) ? MARK : DEEP_MARK);
  });
}

/** The text that {@link storedJson} was made of, its numbers as they were sent. */
export function sentJson(stored: string): string {
  return stored.includes(MARK) || stored.includes(DEEP_MARK) ? exactJson(parseExact(stored)) : stored;
}

function columnText(number: string, mark: string): string {
  return /^-?\d+$/.test(number) && !isOf64Bits(BigInt(number)) ? number + mark : number;
}

/** Whether ClickHouse reads it as Int64 or UInt64, and so exactly. */
function isOf64Bits(integer: bigint): boolean {
  return integer >= -(2n ** 63n) && integer < 2n ** 64n;
}

/** An integer as {@link storedJson} writes it as an element of a list. */
export function storedElement(integer: bigint): string {
  return columnText(String(integer), DEEP_MARK);
}

/**
 * The pattern (re2) whose group has the digits of a key's integer beyond 64 bits, as {@link storedJson} writes it; it matches
 * nothing where the key has another value.
 */
export function storedNumberPattern(key: string): string {
  return `[{,]${JSON.stringify(key).replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}:(-?[0-9]+)e[+]00`;
}
