import * as fc from 'fast-check';

const nearPowers = fc
  .tuple(fc.constantFrom(53n, 63n, 64n, 128n), fc.bigInt(-3n, 3n), fc.boolean())
  .map(([power, off, is_negative]) => String((2n ** power + off) * (is_negative ? -1n : 1n)));
const integer = fc
  .oneof(fc.bigInt(-1_000n, 1_000n), fc.bigInt(-(2n ** 64n), 2n ** 64n), fc.bigInt(-(10n ** 40n), 10n ** 40n))
  .map(String);
const fraction = fc
  .tuple(integer, fc.stringMatching(/^[0-9]{1,25}$/))
  .map(([whole, decimals]) => `${whole}.${decimals}`);
const withExponent = fc
  .tuple(
    fc.oneof(fc.integer({ min: -9, max: 9 }).map(String), fraction),
    fc.constantFrom('e', 'E', 'e+', 'E-', 'e-'),
    fc.integer({ min: 0, max: 45 }),
  )
  .map(([digits, e, exponent]) => `${digits}${e}${exponent}`);

/** The text of a JSON number: integers of up to 41 digits, around the bounds of 53, 63 and 64 bits, fractions, exponents. */
export const jsonNumber = fc.oneof(
  { arbitrary: nearPowers, weight: 2 },
  { arbitrary: integer, weight: 3 },
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e45, max: 1e45 })
    .map((double) => JSON.stringify(double)),
  fraction,
  withExponent,
  fc.constantFrom('0', '-0', '0.0', '1.0', '-1e0', '1E5', '0e9'),
);

/** The value of a JSON number in one spelling: digits without zeros at either end, and the power of ten. */
export function decimalOf(number: string): string {
  const [, sign = '', whole = '', decimals = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number.trim()) ?? ['', '', 'no number'];
  const digits = (whole + decimals).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - decimals.length + digits.length - significant.length}`;
}
