import { filters, toValue, type Context } from 'liquidjs';
import { Decimal, exactWhole, isDecimal, readNumber } from './decimals.ts';

// The filters that compute. Those of the library know doubles alone: whole numbers stay exact here, as they do in Ruby.

type Filter = (this: { context: Context }, value: unknown, ...args: unknown[]) => unknown;
type Whole = number | bigint;

/** As the library reads the operands of arithmetic: 0 for anything but a number. */
const numberOf = (value: unknown): Whole => readNumber(value) || 0;
const isWhole = (number: Whole | undefined): number is Whole =>
  typeof number === 'bigint' || Number.isInteger(number);

/** An integer that was computed: a number where that is exact. Throws RangeError beyond the range of a double. */
function held(integer: bigint): Whole {
  const double = Number(integer);
  if (Number.isSafeInteger(double)) return double;
  if (!Number.isFinite(double)) throw new RangeError('the result has more than 308 digits');
  return integer;
}

const ofLibrary = (name: string) => filters[name] as Filter;

/**
 * A filter of two operands: of integers exact, else as the library computes it, where the result stays a decimal if one of the
 * numbers is.
 */
function binary(name: string, exactly: (a: bigint, b: bigint) => bigint | undefined): Filter {
  const approximately = ofLibrary(name);
  return function arithmetic(value, ...args) {
    const given = [value, ...args];
    const is_decimal = given.some(isDecimal);
    const numbers = given.map(numberOf);
    const [a, b] = numbers;
    if (!is_decimal && isWhole(a) && isWhole(b)) {
      const result = exactly(BigInt(a), BigInt(b));
      if (result !== undefined) return held(result);
    }
    const result = approximately.call(this, ...(numbers.map(Number) as [number, ...number[]]));
    return is_decimal && Number.isInteger(result) ? new Decimal(Number(result)) : result;
  };
}

const floorMod = (a: bigint, b: bigint) => ((a % b) + b) % b;

/**
 * The filter `divided_by`: an integer, rounded down, where both numbers are integers. Throws RangeError where the divisor is
 * 0 or missing.
 */
const dividedBy: Filter = function dividedBy(value, ...args) {
  const numbers = [value, ...args].map(numberOf);
  const [a, b] = numbers;
  const is_decimal = isDecimal(value) || isDecimal(args[0]);
  if (!is_decimal && isWhole(a) && isWhole(b) && Number(b) !== 0) {
    const [dividend, divisor] = [BigInt(a), BigInt(b)];
    return held((dividend - floorMod(dividend, divisor)) / divisor);
  }
  const result = Number(
    ofLibrary('divided_by').call(this, ...(numbers.map(Number) as [number, ...number[]])),
  );
  if (!Number.isFinite(result)) throw new RangeError('divided by 0, or what is divided is not a number');
  return is_decimal ? new Decimal(result) : Math.floor(result);
};

const absolute = (value: bigint) => (value < 0n ? -value : value);

/** The integer rounded to a multiple of 10^places, half away from 0. */
function roundTo(value: bigint, places: Whole): Whole {
  const number = Number(places);
  // Beyond the digits of a double all of them are rounded away.
  if (number > 400) return 0;
  const unit = 10n ** BigInt(number);
  const rounded = ((absolute(value) + unit / 2n) / unit) * unit;
  return held(value < 0n ? -rounded : rounded);
}

const round: Filter = function round(value, ...args) {
  const number = numberOf(value);
  const digits = numberOf(args[0]);
  if (!isWhole(number)) return ofLibrary('round').call(this, number, Number(digits));
  return isWhole(digits) && digits < 0 ? roundTo(BigInt(number), -digits) : number;
};

/** The larger or smaller one of all operands. */
const extreme = (is_better: (a: Whole, b: Whole) => boolean): Filter =>
  function extreme(...given) {
    return given.map(numberOf).reduce((best, number) => (is_better(number, best) ? number : best));
  };

function add(a: Whole, b: Whole): Whole {
  if (!isWhole(a) || !isWhole(b)) return Number(a) + Number(b);
  const sum = Number(a) + Number(b);
  return Number.isSafeInteger(sum) ? sum : held(BigInt(a) + BigInt(b));
}

/** The filter `sum`: of the elements of a list, or of a property of each; anything but a number does not count. */
function* sum(
  this: { context: Context },
  list: unknown,
  property?: unknown,
): Generator<unknown, Whole, unknown> {
  const plain: unknown = toValue(list);
  const given: unknown = toValue(property);
  const path = typeof given === 'string' ? given : '';
  let total: Whole = 0;
  for (const element of Array.isArray(plain) ? (plain as unknown[]) : [plain]) {
    const value: unknown = path === '' ? element : yield this.context._getFromScope(element, path, false);
    const number = readNumber(value);
    if (!Number.isNaN(number)) total = add(total, number);
  }
  return total;
}

/** The filters that compute with numbers, by their names. */
export const ARITHMETIC: Readonly<Record<string, Filter>> = {
  plus: binary('plus', (a, b) => a + b),
  minus: binary('minus', (a, b) => a - b),
  times: binary('times', (a, b) => a * b),
  modulo: binary('modulo', (a, b) => (b === 0n ? undefined : floorMod(a, b))),
  divided_by: dividedBy,
  abs: (value) => {
    const number = numberOf(value);
    return typeof number === 'bigint' ? absolute(number) : Math.abs(number);
  },
  at_least: extreme((a, b) => a > b),
  at_most: extreme((a, b) => a < b),
  ceil: (value) => {
    const number = numberOf(value);
    return typeof number === 'bigint' ? number : exactWhole(Math.ceil(number));
  },
  floor: (value) => {
    const number = numberOf(value);
    return typeof number === 'bigint' ? number : exactWhole(Math.floor(number));
  },
  round,
  to_integer: readNumber,
  sum,
};
