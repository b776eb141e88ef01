import type { ExactNumber } from '../../platform/exact-json.ts';
import { Drop, filters, toValue, type Context } from 'liquidjs';

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

  override valueOf(): number {
    return this.#value;
  }

  override toString(): string {
    return String(this.#value);
  }

  toJSON(): number {
    return this.#value;
  }
}

/** A number that a double does not hold: written with all its digits, compared and computed with as the nearest double. */
export class Exact extends Drop {
  readonly number: ExactNumber;

  constructor(number: ExactNumber) {
    super();
    this.number = number;
  }

  override valueOf(): number {
    return this.number.valueOf();
  }

  override toString(): string {
    return String(this.number);
  }

  toJSON(): ExactNumber {
    return this.number;
  }
}

type Filter = (this: { context: Context }, value: unknown, ...args: unknown[]) => unknown;
type Arithmetic = 'plus' | 'minus' | 'times' | 'modulo';

/** A filter of arithmetic whose result stays a decimal where one of its numbers is. */
export function decimalFilter(name: Arithmetic): Filter {
  const compute = filters[name] as Filter;
  return function arithmetic(value, ...args) {
    const result = compute.call(this, value, ...args);
    const is_decimal = [value, ...args].some(isDecimal);
    return is_decimal && Number.isInteger(result) ? new Decimal(Number(result)) : result;
  };
}

/**
 * The filter `divided_by`: an integer, rounded down, where both numbers are integers. Throws RangeError where the divisor is
 * 0 or missing.
 */
export const dividedBy: Filter = function dividedBy(value, ...args) {
  const result = (filters['divided_by'] as Filter).call(this, value, ...args);
  const [dividend, divisor] = [value, args[0]];
  if (!Number.isFinite(Number(result))) throw new RangeError('divided by 0, or what is divided is no number');
  if (isDecimal(dividend) || isDecimal(divisor)) return new Decimal(Number(result));
  return Math.floor(Number(result));
};

function isDecimal(value: unknown): boolean {
  if (value instanceof Decimal) return true;
  if (value instanceof Exact) return !/^-?\d+$/.test(String(value));
  const plain: unknown = toValue(value);
  return typeof plain === 'string'
    ? plain.includes('.')
    : typeof plain === 'number' && !Number.isInteger(plain);
}
