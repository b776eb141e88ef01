import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  divideHalfEven,
  fractionOf,
  inBase,
  needsRate,
  toBase,
  type Conversion,
} from '../../../src/ledger/money/conversion.ts';
import { runs } from '../../engines/effort.ts';

const LARGEST = 2n ** 63n - 1n;
const parameters = { numRuns: runs(5_000) };

/** An exact number: `over ÷ under`, `under` positive. */
interface Exact {
  over: bigint;
  under: bigint;
}

/** The exact value of a decimal, read digit by digit. */
function exactly(decimal: string): Exact {
  let number: Exact = { over: 0n, under: 1n };
  let isFraction = false;
  for (const sign of decimal) {
    if (sign === '.') isFraction = true;
    else {
      if (isFraction) number.under *= 10n;
      number = { over: number.over * 10n + BigInt(sign), under: number.under };
    }
  }
  return number;
}

/** Whether `exact` rounds to `rounded`, half to even. */
function isRounded(rounded: bigint, { over, under }: Exact): boolean {
  const twice_off = 2n * (rounded * under - over);
  const off = twice_off < 0n ? -twice_off : twice_off;
  return off < under || (off === under && rounded % 2n === 0n);
}

/** The value of an amount in the smallest unit of the base currency, before rounding. */
function worth(amount: bigint, { rate, is_inverse, from_scale, to_scale }: Conversion): Exact {
  const { over, under } = exactly(rate);
  const [times, by] = is_inverse ? [under, over] : [over, under];
  let exact: Exact = { over: amount * times, under: by };
  for (let i = 0; i < from_scale; i++) exact = { over: exact.over, under: exact.under * 10n };
  for (let i = 0; i < to_scale; i++) exact = { over: exact.over * 10n, under: exact.under };
  return exact;
}

/** Whether the rounded value of `exact` exceeds 64 bits. The largest value is odd, so a tie above it rounds up. */
function exceeds64Bits({ over, under }: Exact): boolean {
  return 2n * over >= (2n * LARGEST + 1n) * under;
}

const scale = fc.integer({ min: 0, max: 18 });
const amount = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n ** 38n - 1n }),
  fc.bigInt({ min: 0n, max: 10_000n }),
  fc.bigInt({ min: LARGEST - 3n, max: LARGEST + 3n }),
  fc.integer({ min: 0, max: 37 }).map((digits) => 10n ** BigInt(digits)),
);
const digits = (min: number, max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map((all) => all.join(''));
/**
 * The form in which Postgres writes a positive numeric: no exponent, with the trailing zeros that the operator wrote.
 */
const rate = fc
  .oneof(
    fc.tuple(fc.nat(100_000).map(String), digits(0, 12)),
    fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String), digits(0, 40)),
    fc.tuple(fc.constant('0'), digits(1, 60)),
    fc.constantFrom<[string, string]>(['1', ''], ['0', '5'], ['1', '000'], ['2', ''], ['0', '00000001']),
  )
  .map(([whole, decimals]) => (decimals === '' ? whole : `${whole}.${decimals}`))
  .filter((text) => /[1-9]/.test(text));
const conversion: fc.Arbitrary<Conversion> = fc.record({
  rate,
  ts_ms: fc.integer(),
  is_inverse: fc.boolean(),
  from_scale: scale,
  to_scale: scale,
});

describe('dividing', () => {
  it('rounds to the nearest whole number, and a half to the even one', () => {
    const halves = fc
      .tuple(fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.bigInt({ min: 1n, max: 10n ** 30n }))
      .map(([quotient, half]) => [quotient * 2n * half + half, 2n * half] as const);
    const any = fc.tuple(
      fc.bigInt({ min: 0n, max: 10n ** 80n }),
      fc.oneof(fc.bigInt({ min: 1n, max: 50n }), fc.bigInt({ min: 1n, max: 10n ** 60n })),
    );
    fc.assert(
      fc.property(fc.oneof(any, halves), ([over, under]) => {
        expect(isRounded(divideHalfEven(over, under), { over, under })).toBe(true);
      }),
      parameters,
    );
  });

  it.each([
    [1n, 2n, 0n],
    [3n, 2n, 2n],
    [5n, 2n, 2n],
    [7n, 2n, 4n],
    [1n, 3n, 0n],
    [2n, 3n, 1n],
    [0n, 7n, 0n],
    [10n ** 40n + 5n, 10n, 10n ** 39n],
    [10n ** 40n + 15n, 10n, 10n ** 39n + 2n],
  ])('%s ÷ %s is %s', (over, under, expected) => {
    expect(divideHalfEven(over, under)).toBe(expected);
  });
});

describe('converting', () => {
  it('is exact except for one rounding, whatever the scales, the rate and its direction', () => {
    fc.assert(
      fc.property(amount, conversion, (sent, at) => {
        const exact = worth(sent, at);
        const converted = toBase(sent, at);
        if (exceeds64Bits(exact)) expect(converted).toBeNull();
        else expect(converted !== null && isRounded(converted, exact)).toBe(true);
      }),
      parameters,
    );
  });

  it('rounds once', () => {
    // If 1.45 were first rounded to one decimal, 1.5 (or 1.4), the result could be 2.
    const at = { rate: '1.45', ts_ms: 0, is_inverse: false, from_scale: 0, to_scale: 0 };
    expect(toBase(1n, at)).toBe(1n);
    // The same with an inverse rate: 1 ÷ 0.4 = 2.5 rounds down to even; 1 ÷ 0.399 is more than 2.5.
    expect(toBase(1n, { ...at, rate: '0.4', is_inverse: true })).toBe(2n);
    expect(toBase(1n, { ...at, rate: '0.399', is_inverse: true })).toBe(3n);
  });

  it('leaves amounts in base currency unchanged, and amounts without a rate unconverted', () => {
    fc.assert(
      fc.property(amount, (sent) => {
        expect(toBase(sent, 'same')).toBe(sent);
        expect(toBase(sent, undefined)).toBe(sent === 0n ? 0n : null);
      }),
      parameters,
    );
  });

  it('records the rate when it converted at least one of the amounts, and no other', () => {
    const maybe = fc.option(amount);
    const known = fc.oneof(fc.constantFrom('same' as const, undefined), conversion);
    fc.assert(
      fc.property(maybe, maybe, known, (stake, payout, at) => {
        const money = inBase({ amount: stake, payout }, at);
        expect(money.base_amount).toBe(toBase(stake, at));
        expect(money.base_payout).toBe(toBase(payout, at));
        const owes = (sent: bigint | null, base: bigint | null) =>
          sent !== null && sent !== 0n && base !== null;
        if (typeof at === 'object' && (owes(stake, money.base_amount) || owes(payout, money.base_payout))) {
          expect(money.rate).toEqual({ rate: at.rate, ts_ms: at.ts_ms, is_inverse: at.is_inverse });
        } else expect(money.rate).toBeNull();
      }),
      parameters,
    );
  });

  it('does not depend on the rate when no rate is needed', () => {
    const currency = fc.constantFrom('EUR', 'SEK', null);
    const few = fc.option(fc.constantFrom(0n, 1n, 10n ** 30n));
    fc.assert(
      fc.property(few, few, currency, conversion, (stake, payout, code, at) => {
        fc.pre(code !== 'EUR' && !needsRate({ amount: stake, payout, currency: code }, 'EUR'));
        // Without a currency there is no amount: the catalogue's schemas ensure it.
        fc.pre(code !== null || (stake === null && payout === null));
        expect(inBase({ amount: stake, payout }, at)).toEqual(inBase({ amount: stake, payout }, undefined));
      }),
      parameters,
    );
  });

  it('reads decimals exactly', () => {
    fc.assert(
      fc.property(rate, (text) => {
        const { numerator, denominator } = fractionOf(text);
        const { over, under } = exactly(text);
        expect(numerator * under).toBe(over * denominator);
      }),
      parameters,
    );
  });
});

describe('published examples', () => {
  // The currencies that the euro replaced, at the rates of Council Regulation (EC) 2866/98: 1 euro = rate units.
  it.each([
    ['100 DEM', 100_00n, 2, '1.95583', 51_13n],
    ['1,000 FRF', 1_000_00n, 2, '6.55957', 152_45n],
    ['1,000,000 ITL', 1_000_000n, 0, '1936.27', 516_46n],
    ['1,000 ESP', 1_000n, 0, '166.386', 6_01n],
    ['1,000 ATS', 1_000_00n, 2, '13.7603', 72_67n],
    ['1 IEP', 1_00n, 2, '0.787564', 1_27n],
  ])('%s in cents', (_what, sent, from_scale, published, cents) => {
    const at = { rate: published, ts_ms: 0, is_inverse: true, from_scale, to_scale: 2 };
    expect(toBase(sent, at)).toBe(cents);
  });

  const direct = (published: string, from_scale: number, to_scale: number): Conversion => ({
    rate: published,
    ts_ms: 0,
    is_inverse: false,
    from_scale,
    to_scale,
  });
  it.each([
    ['a yen has no smaller unit', 12_345n, direct('0.0062', 0, 2), 76_54n],
    ['half a cent is rounded to the even one, down', 1n, direct('0.005', 0, 2), 0n],
    ['and up', 3n, direct('0.005', 0, 2), 2n],
    ['cents to yen', 99n, direct('161.5', 2, 0), 160n],
    ['a dinar has a thousand fils', 1_234n, direct('3.2475', 3, 2), 4_01n],
    ['cents to fils', 1_00n, direct('0.307929', 2, 3), 308n],
    ['a satoshi is less than half a cent', 1n, direct('60000', 8, 2), 0n],
    ['0.12345678 BTC', 12_345_678n, direct('60000', 8, 2), 7_407_41n],
    ['cents to satoshi', 1_00n, direct('0.000016666666', 2, 8), 1_667n],
    ['10 ETH exceed 64 bits in wei', 10n ** 19n, direct('3000.5', 18, 2), 30_005_00n],
    ['a wei is nothing', 1n, direct('3000.5', 18, 2), 0n],
    ['the last wei decides a tie', 5n * 10n ** 15n + 1n, direct('1', 18, 2), 1n],
    ['and without it the even one holds', 5n * 10n ** 15n, direct('1', 18, 2), 0n],
    ['wei to satoshi', 10n ** 18n, direct('0.05123456', 18, 8), 5_123_456n],
    ['the largest amount fits', LARGEST, direct('1', 2, 2), LARGEST],
    ['one more waits', LARGEST + 1n, direct('1', 2, 2), null],
    ['what rounds down to the largest fits', 10n * LARGEST + 4n, direct('1', 3, 2), LARGEST],
    ['what rounds up from it waits', 10n * LARGEST + 5n, direct('1', 3, 2), null],
  ])('%s', (_what, sent, at, expected) => {
    expect(toBase(sent, at)).toBe(expected);
  });
});
