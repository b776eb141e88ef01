import { comparable, ExactNumber, shortestInteger } from '../../platform/exact-json.ts';
import { Drop, toValue } from 'liquidjs';

/**
 * A number that was written with a decimal point, such as `7.0`, or was computed from one. JavaScript takes it for an
 * integer, and Liquid divides integers without a remainder.
 */
export class Decimal extends Drop {
  readonly #value: number;

  constructor(value: number) {
    super();
    this.#value = value;
  }

  /** The number as it is compared: a bigint where it is an integer that is not a safe one. */
  override valueOf(): number | bigint {
    return exactWhole(this.#value);
  }

  override toString(): string {
    return String(this.#value);
  }

  toJSON(): number {
    return this.#value;
  }
}

/**
 * A number with a fraction or an exponent that a double does not hold: written with all its digits, computed with as the
 * nearest double. Integers of any size are numbers or bigints instead.
 */
export class Exact extends Drop {
  readonly #number: ExactNumber;
  readonly #value: number | bigint;

  constructor(number: ExactNumber) {
    super();
    this.#number = number;
    this.#value = comparable(number) as number | bigint;
  }

  override valueOf(): number | bigint {
    return this.#value;
  }

  override toString(): string {
    return String(this.#number);
  }

  toJSON(): ExactNumber {
    // JSON.stringify does not ask what this returns for its JSON; so `exactJson` learns that it has to write the digits.
    this.#number.toJSON();
    return this.#number;
  }
}

/** What templates read of a number that a double does not hold: a bigint for an integer. */
export function exactOf(number: ExactNumber): bigint | Exact {
  const value = comparable(number);
  return typeof value === 'bigint' && String(value) === number.text ? value : new Exact(number);
}

/** What templates read of whole digits: a number that Liquid compares and computes with. */
export function wholeOf(digits: string): number | ExactNumber {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : new ExactNumber(digits);
}

/** The longest text that is read as an integer of any size: no double is as large. */
const MAX_TEXT = 400;

/**
 * The number that a value is to arithmetic and comparisons, NaN if it is not a number. An integer that is not a safe one is
 * a bigint, and digits in a text are an integer of any size.
 */
export function readNumber(value: unknown): number | bigint {
  const plain: unknown = toValue(value);
  if (typeof plain === 'bigint') return plain;
  const double = Number(plain);
  if (!Number.isInteger(double) || Number.isSafeInteger(double)) return double;
  const is_digits = typeof plain === 'string' && plain.length <= MAX_TEXT && /^\s*[+-]?\d+\s*$/.test(plain);
  return is_digits ? BigInt(plain) : shortestInteger(double);
}

/** The double, or the integer that it is written as where it is not a safe one. */
export function exactWhole(double: number): number | bigint {
  return Number.isInteger(double) && !Number.isSafeInteger(double) ? shortestInteger(double) : double;
}

export function isDecimal(value: unknown): boolean {
  if (value instanceof Decimal || value instanceof Exact) return true;
  const plain: unknown = toValue(value);
  return typeof plain === 'string'
    ? plain.includes('.')
    : typeof plain === 'number' && !Number.isInteger(plain);
}
