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
 * The filter `divided_by`: an integer, rounded down, where both numbers are integers. Throws RangeError where an integer is
 * divided by 0.
 */
export const dividedBy: Filter = function dividedBy(value, ...args) {
  const result = (filters['divided_by'] as Filter).call(this, value, ...args);
  const [dividend, divisor] = [value, args[0]];
  if (isDecimal(dividend) || isDecimal(divisor)) return new Decimal(Number(result));
  if (Number(toValue(divisor)) === 0) throw new RangeError('divided by 0');
  return Math.floor(Number(result));
};

function isDecimal(value: unknown): boolean {
  if (value instanceof Decimal) return true;
  const plain: unknown = toValue(value);
  return typeof plain === 'string'
    ? plain.includes('.')
    : typeof plain === 'number' && !Number.isInteger(plain);
}
