import { isSafeNumber } from 'lossless-json';

// JSON in which every number keeps its value. `JSON.parse` alone rounds: 2^64 becomes another integer.

/** Characters of a number that is kept, without an exponent. Every double has fewer. */
const MAX_DIGITS = 400;
/** A double has at most 309 digits before the point. */
const SURELY_SHORT = 64;

/**
 * A JSON number that a double does not hold: with more digits, or an integer beyond 2^53 − 1, where two integers may be one
 * double. Every other number is a `number`, so an integer among these is always a safe one.
 * `JSON.stringify` writes the nearest double; {@link exactJson} writes the text.
 */
export class ExactNumber {
  /**
   * The number as it was sent; an integer that was sent with a fraction or an exponent of zeros: its digits. A number that
   * {@link problemOf} refuses: the nearest double.
   */
  readonly text: string;
  /** It has more than 400 digits: Postgres, which writes them all, may refuse it. */
  readonly is_too_long: boolean;

  constructor(text: string) {
    const short = text.endsWith('0') ? text.replace(ZERO_EXPONENT, '').replace(ZERO_FRACTION, '') : text;
    const may_be_long = short.length > SURELY_SHORT || short.includes('-', 1);
    this.is_too_long = may_be_long && digitsOf(short) > MAX_DIGITS;
    this.text = this.is_too_long ? String(Number(text)) : short;
  }

  toString(): string {
    return this.text;
  }

  /** The nearest double, for arithmetic and `JSON.stringify`. */
  valueOf(): number {
    return Number(this.text);
  }

  toJSON(): number {
    if (is_exact) throw INEXACT;
    return this.valueOf();
  }
}

/** Why a number of a JSON value cannot be stored; undefined: it can. */
export function problemOf(number: number | ExactNumber): string | undefined {
  if (typeof number !== 'number')
    return number.is_too_long ? `is a number of more than ${MAX_DIGITS} digits` : undefined;
  return Number.isFinite(number) ? undefined : 'is a number beyond the range of a double';
}

/** How many characters longer a value may become when it is stored: {@link growthOf}. */
export const MAX_GROWTH = 65_536;

/**
 * How many more characters than {@link exactJson} Postgres writes for the numbers of a value: `jsonb` has no exponents, so
 * `1e300` becomes 301 digits. Beyond {@link MAX_GROWTH} they are not all counted. The value is nested at most as deeply as
 * `findUnsafe` and `refuseUnstorable` allow.
 */
export function growthOf(value: unknown): number {
  if (typeof value === 'number')
    return isShort(value) || !Number.isFinite(value) ? 0 : growthOfText(String(value));
  if (typeof value !== 'object' || value === null) return 0;
  if (isExactNumber(value)) return growthOfText(value.text);
  const children: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let growth = 0;
  for (let i = 0; i < children.length && growth <= MAX_GROWTH; i++) {
    const child = children[i];
    if (typeof child === 'object' || (typeof child === 'number' && !isShort(child)))
      growth += growthOf(child);
  }
  return growth;
}

/** The bytes of a JSON value, its numbers as `jsonb` writes them. */
export function storedBytes(value: unknown): number {
  return Buffer.byteLength(exactJson(value)) + growthOf(value);
}

/** Whether JavaScript writes the number without an exponent. */
export function isShort(number: number): boolean {
  const size = Math.abs(number);
  return (size < 1e21 && size >= 1e-6) || number === 0;
}

function growthOfText(number: string): number {
  return Math.max(digitsOf(number) - number.length, 0);
}

const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The characters of the number without an exponent: of 2.5e-3, which is 0.0025, six. */
function digitsOf(number: string): number {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(number) ?? [];
  const sign = number.startsWith('-') ? 1 : 0;
  const digits = whole.length + fraction.length;
  const point = whole.length + Number(exponent);
  if (point <= 0) return sign + 2 - point + digits;
  return sign + (point >= digits ? point : digits + 1);
}

/**
 * A JSON value as it is compared, bigints and numbers by their value: an integer of any size is a bigint, if it is
 * not a safe one; any other {@link ExactNumber} is the nearest double, in its shortest digits.
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

/**
 * Finds nothing in most texts, in half the time that `JSON.parse` takes: numbers with an exponent, of more than 15 digits with
 * a fraction, or of more than 2^53 − 1 without. It may find digits inside of texts, too.
 */
const MAY_BE_ROUNDED = /[:,[ \t\n\r]-?(?:9\d{15}|\d(?:[\d.]{16}|[\d.]{0,15}[eE]))/;

/**
 * As `JSON.parse` of an object or a list, but numbers that it would round are {@link ExactNumber}s. If a key is
 * repeated, its last value counts. A number closer to 0 than a double can be is 0, one beyond the range of a double is
 * infinite. Throws SyntaxError.
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!hasExactNumbers(text)) return value;
  try {
    return new Reader(text).value();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new SyntaxError('the JSON is nested too deeply', { cause });
  }
}

/** Whether a JSON text has numbers that a double does not hold; as cheap as possible. */
export function hasExactNumbers(text: string): boolean {
  return MAY_BE_ROUNDED.test(text) && new Reader(text).findsExact();
}

const [QUOTE, PLUS, COMMA, MINUS, DOT, ZERO, NINE, SMALL_E] = [34, 43, 44, 45, 46, 48, 57, 101];
const [SPACE, OPEN_LIST, BACKSLASH, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [32, 91, 92, 93, 123, 125];
const [SMALL_F, SMALL_N, SMALL_T] = [102, 110, 116];
const isDigit = (code: number) => code >= ZERO && code <= NINE;

/** A double holds all numbers of so many digits, if they are not too large or too close to 0. */
const HELD_DIGITS = 15;
const HELD_EXPONENT = -250;

/** The place after the string whose opening quote is at `at`, in JSON; the end of the text if it does not end. */
export function endOfText(json: string, at: number): number {
  for (let end = json.indexOf('"', at + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let before = end;
    while (json.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((end - before) % 2 === 0) return end + 1;
  }
  return json.length;
}

/** Reads a text that JSON.parse has read, several times slower than that. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Whether a number that a double does not hold is behind the place. Any text may be read so. */
  findsExact(): boolean {
    const text = this.#text;
    while (this.#at < text.length) {
      const code = text.charCodeAt(this.#at);
      if (code === QUOTE) this.#at = endOfText(text, this.#at);
      else if (code !== MINUS && !isDigit(code)) this.#at++;
      else if (typeof this.#number(true) === 'object') return true;
    }
    return false;
  }

  /** The value at the place. Throws RangeError where it is nested too deeply. */
  value(): unknown {
    switch (this.#next()) {
      case QUOTE:
        return this.#string();
      case OPEN_OBJECT:
        return this.#object();
      case OPEN_LIST:
        return this.#list();
      case SMALL_T:
        this.#at += 4;
        return true;
      case SMALL_F:
        this.#at += 5;
        return false;
      case SMALL_N:
        this.#at += 4;
        return null;
      default:
        return this.#number();
    }
  }

  /** The first character that is not a space. */
  #next(): number {
    let code = this.#text.charCodeAt(this.#at);
    while (code <= SPACE) code = this.#text.charCodeAt(++this.#at);
    return code;
  }

  #list(): unknown[] {
    this.#at++;
    // Begun with its first element: an empty list would get room for many.
    const list = this.#next() === CLOSE_LIST ? [] : [this.value()];
    while (this.#next() === COMMA) {
      this.#at++;
      list.push(this.value());
    }
    this.#at++;
    return list;
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    do {
      this.#at++;
      if (this.#next() === CLOSE_OBJECT) break;
      const key = this.#string();
      // To the place of the colon, and behind it.
      this.#next();
      this.#at++;
      const value = this.value();
      if (key !== '__proto__') object[key] = value;
      else
        Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    } while (this.#next() === COMMA);
    this.#at++;
    return object;
  }

  #string(): string {
    const [from, end] = [this.#at, endOfText(this.#text, this.#at)];
    this.#at = end;
    const text = this.#text.slice(from + 1, end - 1);
    return text.includes('\\') ? (JSON.parse(this.#text.slice(from, end)) as string) : text;
  }

  /** The number at the place; with `is_passed` any number where a double surely holds it. */
  #number(is_passed = false): number | ExactNumber {
    const text = this.#text;
    const from = this.#at;
    let at = from + 1;
    while (isDigit(text.charCodeAt(at))) at++;
    const whole = at - from;
    if (text.charCodeAt(at) === DOT) for (at++; isDigit(text.charCodeAt(at));) at++;
    const digits = at - from;
    let exponent = 0;
    if ((text.charCodeAt(at) | 32) === SMALL_E) {
      const sign = text.charCodeAt(++at);
      if (sign === MINUS || sign === PLUS) at++;
      for (; isDigit(text.charCodeAt(at)); at++) exponent = exponent * 10 + text.charCodeAt(at) - ZERO;
      if (sign === MINUS) exponent = -exponent;
    }
    this.#at = at;
    const is_short = digits <= HELD_DIGITS && exponent >= HELD_EXPONENT;
    const is_small = is_short && whole + exponent <= HELD_DIGITS;
    if (is_small && is_passed) return 0;
    const number = text.slice(from, at);
    const double = Number(number);
    if (is_small) return double;
    const is_held = is_short ? isHeldInteger(double) : isHeld(number, double);
    return is_held ? double : new ExactNumber(number);
  }
}

function isHeld(number: string, double: number): boolean {
  if (double === 0) return true;
  return (
    isHeldInteger(double) && (String(double) === number || !Number.isFinite(double) || isSafeNumber(number))
  );
}

/** Whether no other integer is the same double. What is beyond the range of a double is refused where values are checked. */
function isHeldInteger(double: number): boolean {
  return !Number.isInteger(double) || Number.isSafeInteger(double);
}

/**
 * As `JSON.stringify` of a value that is not undefined, but {@link ExactNumber}s (as `textOf` writes them) and bigints
 * have all their digits, and a {@link JsonText} is what it holds. It costs no more where there are none.
 */
export function exactJson(value: unknown, textOf: (number: ExactNumber) => string = String): string {
  is_exact = true;
  try {
    return JSON.stringify(value);
  } catch (error) {
    // JSON.stringify refuses bigints with a TypeError.
    if (error !== INEXACT && !(error instanceof TypeError)) throw error;
  } finally {
    is_exact = false;
  }
  return written(value, textOf) ?? 'null';
}

/** Undefined for what JSON does not have. */
function written(value: unknown, textOf: (number: ExactNumber) => string): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isExactNumber(value)) return textOf(value);
  if (value instanceof JsonText) return value.text;
  if ('toJSON' in value && typeof value.toJSON === 'function') return written(value.toJSON(), textOf);
  let text = '';
  if (Array.isArray(value)) {
    for (const one of value) text += `${written(one, textOf) ?? 'null'},`;
    return `[${text.slice(0, -1)}]`;
  }
  for (const name of Object.keys(value)) {
    const one = written((value as Record<string, unknown>)[name], textOf);
    if (one !== undefined) text += `${JSON.stringify(name)}:${one},`;
  }
  return `{${text.slice(0, -1)}}`;
}

/** Whether {@link exactJson} is at work: what `JSON.stringify` would write inexactly ends it. */
let is_exact = false;
const INEXACT = new Error('JSON.stringify cannot write it exactly');

/** A part of JSON that is text already, such as an amount as digits or an event's properties: it is written unchanged. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    if (is_exact) throw INEXACT;
    return JSON.parse(this.text);
  }
}

/** The digits of a number as JSON; null stays null. */
export function jsonDigits(digits: string | null): JsonText | null {
  return digits === null ? null : new JsonText(digits);
}

export function isExactNumber(value: unknown): value is ExactNumber {
  return value instanceof ExactNumber;
}
