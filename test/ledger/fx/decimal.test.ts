import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { exactDecimal, positiveDecimal, roundedDecimal } from '../../../src/ledger/fx/decimal.ts';
import { runs } from '../../engines/effort.ts';

it.each([
  ['57000.12', '57000.12'],
  ['11.0200', '11.0200'],
  ['1', '1'],
  ['1e3', '1000'],
  ['1.25E+1', '12.5'],
  ['8.1e-06', '0.0000081'],
  ['0.12e1', '1.2'],
  ['12.5e-1', '1.25'],
  ['100e-2', '1.00'],
  [`${'9'.repeat(40)}.${'1'.repeat(40)}`, `${'9'.repeat(40)}.${'1'.repeat(40)}`],
])('%s is the decimal %s', (number, decimal) => {
  expect(positiveDecimal(number)).toBe(decimal);
});

it.each([
  '0',
  '0.00',
  '-1',
  '-0.5',
  '0e5',
  '1e400',
  '1e41',
  '1e-41',
  `1${'0'.repeat(40)}`,
  `0.${'0'.repeat(40)}1`,
  '',
])('%s is no rate', (number) => {
  expect(positiveDecimal(number)).toBeUndefined();
});

it('decimals keep their value, whatever the exponent', () => {
  const digits = fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 18n }), fc.integer({ min: 0, max: 18 }));
  fc.assert(
    fc.property(digits, fc.integer({ min: -15, max: 15 }), ([value, places], exponent) => {
      const text = value.toString().padStart(places + 1, '0');
      const plain = places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
      const read = positiveDecimal(`${plain}e${exponent}`) ?? '';
      expect(read).toMatch(/^(0|[1-9]\d*)(\.\d+)?$/);
      const [whole = '', decimals = ''] = read.split('.');
      // Both sides as multiples of 10^-60.
      expect(BigInt(whole + decimals.padEnd(60, '0'))).toBe(value * 10n ** BigInt(60 - places + exponent));
    }),
  );
});

/** Long division, digit by digit. */
function byHand(dividend: bigint, divisor: bigint, precision: number): string {
  const whole = (dividend / divisor).toString();
  const digits = whole === '0' ? [] : whole.split('');
  let point = digits.length;
  let rest = dividend % divisor;
  while (digits.length < precision && rest > 0n) {
    rest *= 10n;
    const digit = rest / divisor;
    rest %= divisor;
    if (digits.length === 0 && digit === 0n) point--;
    else digits.push(String(digit));
  }
  const kept = digits.slice(0, precision);
  const dropped = digits.slice(precision);
  // Compares the dropped part with half of the last kept digit.
  const tail = dropped.join('').replace(/0+$/, '');
  const twice = dropped.length === 0 ? rest * 2n : undefined;
  const above = twice === undefined ? tail > '5' || (tail === '5' && rest > 0n) : twice > divisor;
  const half = twice === undefined ? tail === '5' && rest === 0n : twice === divisor;
  let value = BigInt(kept.join(''));
  if (above || (half && value % 2n === 1n)) value += 1n;
  return plain(value, kept.length - point);
}

/** Value ÷ 10^places. */
function plain(value: bigint, places: number): string {
  const text = value.toString();
  if (places <= 0) return text + '0'.repeat(-places);
  const padded = text.padStart(places + 1, '0');
  return `${padded.slice(0, -places)}.${padded.slice(-places)}`.replace(/\.?0+$/, '');
}

it('quotients have 20 significant digits, rounded half to even', () => {
  expect(roundedDecimal({ numerator: 1n, denominator: 3n })).toBe('0.33333333333333333333');
  expect(roundedDecimal({ numerator: 2n, denominator: 3n })).toBe('0.66666666666666666667');
  expect(roundedDecimal({ numerator: 1n, denominator: 4n })).toBe('0.25');
  expect(roundedDecimal({ numerator: 100n, denominator: 5_700_012n })).toBe('0.000017543822714759196998');
  expect(roundedDecimal({ numerator: 10n ** 30n, denominator: 3n })).toBe(
    `${'3'.repeat(20)}${'0'.repeat(10)}`,
  );
  // A tie rounds to the even digit.
  const between = (n: bigint) => roundedDecimal({ numerator: 2n * (10n ** 19n + n) + 1n, denominator: 2n });
  expect(between(0n)).toBe('10000000000000000000');
  expect(between(1n)).toBe('10000000000000000002');
  expect(roundedDecimal({ numerator: 2n * 10n ** 21n - 1n, denominator: 2n })).toBe(`1${'0'.repeat(21)}`);
  const positive = fc.oneof(
    fc.bigInt({ min: 1n, max: 10n ** 40n }),
    fc.bigInt({ min: 1n, max: 1000n }),
    fc.integer({ min: 0, max: 60 }).map((zeros) => 10n ** BigInt(zeros)),
  );
  fc.assert(
    fc.property(positive, positive, (numerator, denominator) => {
      expect(roundedDecimal({ numerator, denominator })).toBe(byHand(numerator, denominator, 20));
    }),
    { numRuns: runs(2_000) },
  );
});

it('products keep all their digits', () => {
  expect(exactDecimal({ numerator: 1_210n, denominator: 100n })).toBe('12.1');
  expect(exactDecimal({ numerator: 5n, denominator: 1n })).toBe('5');
  expect(exactDecimal({ numerator: 7n, denominator: 10n ** 30n })).toBe(`0.${'0'.repeat(29)}7`);
  expect(exactDecimal({ numerator: 500n, denominator: 1n })).toBe('500');
});
