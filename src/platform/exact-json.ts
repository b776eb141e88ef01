import { isSafeNumber, parse, stringify } from 'lossless-json';

// JSON in which every number keeps its value. `JSON.parse` alone rounds: 2^64 becomes another integer.

/**
 * A JSON number that a double does not hold: with more digits, closer to 0, or an integer beyond 2^53 − 1, where two
 * integers may be one double. Every other number is a `number`, so an integer among these is always a safe one.
 * `JSON.stringify` writes the nearest double; {@link exactJson} writes the text.
 */
export class ExactNumber {
  /** The number as it was sent; an integer that was sent with a fraction or an exponent of zeros: its digits. */
  readonly text: string;

  constructor(text: string) {
    this.text = text.replace(ZERO_EXPONENT, '').replace(ZERO_FRACTION, '');
  }

  toString(): string {
    return this.text;
  }

  /** The nearest double, for arithmetic and `JSON.stringify`. */
  valueOf(): number {
    return Number(this.text);
  }

  toJSON(): number {
    is_rounded = true;
    return this.valueOf();
  }
}

/**
 * A JSON value as it is compared, bigints and numbers by their value: an integer of any size is a bigint, if it is no safe
 * one; any other {@link ExactNumber} is the nearest double, in its shortest digits.
 */
export function comparable(value: unknown): unknown {
  if (!isExactNumber(value)) return value;
  if (/^-?\d+$/.test(value.text)) return BigInt(value.text);
  const double = value.valueOf();
  return Number.isInteger(double) && !Number.isSafeInteger(double) ? shortestInteger(double) : double;
}

/** The integer that JavaScript and ClickHouse write for a large double: with as few digits as tell it from its neighbours. */
export function shortestInteger(double: number): bigint {
  const [digits = '', exponent = ''] = double.toExponential().split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(Number(exponent) - fraction.length);
}

const ZERO_EXPONENT = /[eE][+-]?0+$/;
const ZERO_FRACTION = /\.0+$/;

/** Numbers with an exponent, of more than 15 digits with a fraction, or of more than 2^53 − 1 without: few are. */
const LONG = String.raw`[:,[ \t\n\r](-?(?:9\d{15}|[\d.]{17}|[\d.]{1,16}[eE])[\d.eE+-]*)`;
/** Finds nothing in most texts, in half the time that `JSON.parse` takes. It may find digits inside of texts, too. */
const MAY_BE_ROUNDED = new RegExp(LONG);
const LONG_NUMBERS = new RegExp(LONG, 'g');

/**
 * As `JSON.parse` of an object or a list, but numbers that it would round are {@link ExactNumber}s. Of a repeated key
 * the last value counts. A number beyond the range of a double is infinite. Throws SyntaxError.
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return hasExactNumbers(text) ? parseSlowly(text) : value;
}

/** Whether a JSON text has numbers that a double does not hold; as cheap as possible. */
export function hasExactNumbers(text: string): boolean {
  if (!MAY_BE_ROUNDED.test(text)) return false;
  for (const [, number = ''] of text.matchAll(LONG_NUMBERS)) if (!isHeld(number)) return true;
  return false;
}

/** Ten to thirty times slower than `JSON.parse`. */
function parseSlowly(text: string): unknown {
  try {
    return parse(text, undefined, {
      parseNumber: (number) => (isHeld(number) ? Number(number) : new ExactNumber(number)),
      onDuplicateKey: ({ newValue }) => newValue,
    });
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new SyntaxError('the JSON is nested too deeply', { cause });
  }
}

function isHeld(number: string): boolean {
  return !Number.isFinite(Number(number)) || isSafeNumber(number);
}

/**
 * As `JSON.stringify` of a value that is not undefined, but {@link ExactNumber}s (as `textOf` writes them) and bigints
 * have all their digits. It costs no more where there are none.
 */
export function exactJson(value: unknown, textOf: (number: ExactNumber) => string = String): string {
  is_rounded = false;
  try {
    const text = JSON.stringify(value);
    if (!is_rounded) return text;
  } catch (error) {
    // A bigint, which JSON.stringify refuses.
    if (!(error instanceof TypeError)) throw error;
  }
  const numbers = { test: isExactNumber, stringify: (number: unknown) => textOf(number as ExactNumber) };
  return stringify(value, undefined, undefined, [numbers]) ?? 'null';
}

/** Whether `JSON.stringify` has rounded an {@link ExactNumber} since {@link exactJson} began. */
let is_rounded = false;

function isExactNumber(value: unknown): value is ExactNumber {
  return value instanceof ExactNumber;
}
