/** An exact fraction; the denominator is above 0. */
export interface Rational {
  numerator: bigint;
  denominator: bigint;
}

/** A whole number as a fraction. */
export const whole = (numerator: bigint): Rational => ({ numerator, denominator: 1n });

/** The fraction of two numbers; null when it has no value, because the denominator is 0. */
export function fraction(numerator: bigint, denominator: bigint): Rational | null {
  if (denominator === 0n) return null;
  return denominator < 0n ? { numerator: -numerator, denominator: -denominator } : { numerator, denominator };
}

/** Negative, 0 or positive, as `one` is less than, equal to or greater than `other`. */
export function compare(one: Rational, other: Rational): bigint {
  return one.numerator * other.denominator - other.numerator * one.denominator;
}

export function minus(one: Rational, other: Rational): Rational {
  return {
    numerator: one.numerator * other.denominator - other.numerator * one.denominator,
    denominator: one.denominator * other.denominator,
  };
}

export function times(one: Rational, other: Rational): Rational {
  return {
    numerator: one.numerator * other.numerator,
    denominator: one.denominator * other.denominator,
  };
}

export function sizeOf({ numerator, denominator }: Rational): Rational {
  return { numerator: numerator < 0n ? -numerator : numerator, denominator };
}

/** The middle of the values, or the mean of the two in the middle; at least one value. */
export function medianOf(values: readonly Rational[]): Rational {
  const sorted = values.toSorted((one, other) => sign(compare(one, other)));
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (low === undefined || high === undefined) throw new RangeError('no values have no median');
  const sum = minus(low, { ...high, numerator: -high.numerator });
  return { numerator: sum.numerator, denominator: sum.denominator * 2n };
}

function sign(value: bigint): -1 | 0 | 1 {
  return value < 0n ? -1 : value > 0n ? 1 : 0;
}

/** The number that JSON digits such as `-1.25e3` stand for. Throws SyntaxError for any other text. */
export function parseDecimal(text: string): Rational {
  const [, digits = '', decimals = '', exponent = '0'] =
    /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text) ?? [];
  const power = Number(exponent) - decimals.length;
  const numerator = BigInt(digits + decimals) * (power > 0 ? 10n ** BigInt(power) : 1n);
  if (digits === '') throw new SyntaxError('not a number');
  return { numerator, denominator: power < 0 ? 10n ** BigInt(-power) : 1n };
}

/** The fraction as decimal digits with at most so many places, rounded towards 0. */
export function decimalOf({ numerator, denominator }: Rational, places: number): string {
  const scaled = (numerator * 10n ** BigInt(places)) / denominator;
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(places + 1, '0');
  const [units, rest] = [digits.slice(0, digits.length - places), digits.slice(digits.length - places)];
  const decimals = rest.replace(/0+$/, '');
  return `${scaled < 0n ? '-' : ''}${units}${decimals === '' ? '' : `.${decimals}`}`;
}
