import { assert, bigInt, constantFrom, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decimalOf, formatMoney, parseMoney, type Currency } from '../../console/src/format/money.ts';
import { cellOf } from '../../console/src/format/csv.ts';
import { DEFAULT_CATALOGUE } from '../../src/tenants/currency-catalogue.ts';
import { runs } from '../engines/effort.ts';

// Every direction of writing, four kinds of digits, groups of two, three and none, points, commas and signs of each kind.
const LOCALES = 'ar ar-EG bn de de-CH en en-IN es fa fr he hi ja mr-u-nu-deva pl pt-BR ru sv tr zh'.split(
  ' ',
);
const CODES = ['EUR', 'USD', 'SEK', 'CHF', 'JPY', 'KRW', 'ISK', 'KWD', 'BTC', 'ETH', 'USDT', 'TRX'];
const MAX = 2n ** 63n - 1n;
/** Ten whole ethers in wei, with a digit in the last place: more than a float holds. */
const WEI = 10n * 10n ** 18n + 1n;

const currencies: Currency[] = CODES.map((code) => {
  const found = DEFAULT_CATALOGUE.find((one) => one.code === code);
  if (found === undefined) throw new Error(`the catalogue has no ${code}`);
  return found;
});

/** The digits of a locale as those of ASCII. */
function readable(locale: string, text: string): string {
  const format = new Intl.NumberFormat(locale, { useGrouping: false });
  const digits = Array.from({ length: 10 }, (_none, n) => format.format(n));
  return Array.from(text, (one) => (digits.includes(one) ? String(digits.indexOf(one)) : one)).join('');
}

/** What a text for the screen says, read as a reader does: all of its digits, how many stand behind the point, a minus. */
function read(locale: string, text: string, currency: Currency) {
  const plain = readable(locale, text);
  const point = readable(locale, new Intl.NumberFormat(locale).format(0.5)).replaceAll(/\d/g, '');
  // A symbol such as "S/." may have a point, too: the amount goes from the first digit to the last.
  const amount = /\d(?:.*\d)?/su.exec(plain)?.[0] ?? '';
  const [whole = '', decimals = ''] = amount.split(point);
  return {
    whole: whole.replaceAll(/\D/g, ''),
    decimals: currency.kind === 'fiat' ? decimals : decimals.padEnd(currency.scale, '0'),
    is_negative: /[-−‐]/u.test(plain),
  };
}

/** The same by text alone: the last `scale` digits stand behind the point. */
function expected(amount: bigint, { scale }: Currency) {
  const digits = String(amount)
    .replace('-', '')
    .padStart(scale + 1, '0');
  const split = digits.length - scale;
  return { whole: digits.slice(0, split), decimals: digits.slice(split), is_negative: amount < 0n };
}

describe.each(LOCALES)('in %s', (locale) => {
  test.each(currencies)('$code is shown to its last digit', (currency) => {
    const shown = (amount: bigint) => read(locale, formatMoney(amount, currency, locale), currency);
    for (const amount of [0n, 1n, -1n, 99n, -12_345n, 123_456_789n, WEI, MAX, -MAX - 1n]) {
      expect(shown(amount), String(amount)).toEqual(expected(amount, currency));
    }
    assert(
      property(bigInt({ min: -MAX - 1n, max: MAX }), (amount) => {
        expect(shown(amount)).toEqual(expected(amount, currency));
      }),
      { numRuns: runs(30) },
    );
  });

  test('a currency is named by its symbol or its code', () => {
    for (const currency of currencies) {
      const text = formatMoney(123_456n, currency, locale);
      expect(text.replaceAll(/[\d\s.,٫٬’']/gu, '').length, text).toBeGreaterThan(0);
      if (currency.kind === 'crypto') expect(text).toContain(currency.code);
    }
  });
});

test('what is typed means what is shown without groups', () => {
  assert(
    property(bigInt({ min: 0n, max: MAX }), constantFrom(...currencies), (amount, currency) => {
      const { whole, decimals } = expected(amount, currency);
      expect(parseMoney(decimals === '' ? whole : `${whole}.${decimals}`, currency.scale)).toBe(amount);
      expect(parseMoney(`${whole}.${decimals}1`, currency.scale)).toBeUndefined();
    }),
  );
});

test('an amount in a CSV file is a number that a spreadsheet reads, with all its digits', () => {
  assert(
    property(bigInt({ min: -MAX - 1n, max: MAX }), constantFrom(...currencies), (amount, { scale }) => {
      const cell = cellOf(decimalOf(amount, scale));
      expect(cell).toMatch(/^-?\d+(?:\.\d+)?$/);
      const [whole = '', decimals = ''] = cell.split('.');
      expect(BigInt(whole + decimals)).toBe(amount);
      expect(decimals).toHaveLength(scale);
    }),
    { numRuns: runs(100) },
  );
});
