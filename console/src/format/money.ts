import type { Int } from '../api/json.ts';
import { LOCALE } from './locale.ts';

/** A currency as `GET /v1/currencies` lists it. */
export interface Currency {
  code: string;
  kind: 'fiat' | 'crypto';
  /** Digits after the point of one unit. */
  scale: number;
  symbol: string;
}

/**
 * An amount in the smallest unit as a decimal text with all its digits: `(123450n, 2)` is `1234.50`. No float is
 * involved.
 */
export function decimalOf(amount_subunit: Int, scale: number): string {
  const amount = BigInt(amount_subunit);
  const digits = (amount < 0n ? -amount : amount).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const sign = amount < 0n ? '-' : '';
  return scale === 0 ? `${sign}${whole}` : `${sign}${whole}.${digits.slice(digits.length - scale)}`;
}

/**
 * An amount for the screen, in the reader's locale and with the currency's own number of digits. `Intl` knows fiat
 * currencies only: it refuses USDT and would show 0.12345678 BTC as 0.12. Others are a number and their code.
 */
export function formatMoney(amount_subunit: Int, currency: Currency, locale = LOCALE): string {
  const { code, kind, scale } = currency;
  // Typed as a number in the library; engines format decimal texts exactly.
  const decimal = decimalOf(amount_subunit, scale) as unknown as number;
  const digits = { minimumFractionDigits: scale, maximumFractionDigits: scale };
  if (kind === 'fiat') {
    return formatter(locale, { style: 'currency', currency: code, ...digits }).format(decimal);
  }
  const least = kind === 'crypto' ? { minimumFractionDigits: 0, maximumFractionDigits: scale } : digits;
  return `${formatter(locale, least).format(decimal)} ${code}`;
}

/** A rounded amount for the axis of a plot, in the smallest unit: `€1.2K`. */
export function formatMoneyShort(amount_subunit: number, currency: Currency, locale = LOCALE): string {
  const { code, kind, scale } = currency;
  const short = { notation: 'compact', maximumSignificantDigits: 3 } as const;
  const amount = amount_subunit / 10 ** scale;
  if (kind === 'fiat')
    return formatter(locale, { style: 'currency', currency: code, ...short }).format(amount);
  return `${formatter(locale, short).format(amount)} ${code}`;
}

const formatters = new Map<string, Intl.NumberFormat>();

function formatter(locale: string | undefined, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${locale ?? ''} ${JSON.stringify(options)}`;
  const known = formatters.get(key) ?? new Intl.NumberFormat(locale, options);
  formatters.set(key, known);
  return known;
}

/** The texts that are amounts: digits, in groups by spaces if one likes, and digits after a point. */
const AMOUNT = /^(\d+)(?:\.(\d*))?$/;

/**
 * The amount of a typed decimal text in the smallest unit: `('1 234.5', 2)` is `123450n`. Undefined for anything else
 * than a number from 0 on with at most `scale` digits after the point. No float is involved.
 */
export function parseMoney(text: string, scale: number): bigint | undefined {
  const [, whole = '', decimals = ''] = AMOUNT.exec(text.replaceAll(/\s/g, '')) ?? [];
  if (whole === '' || decimals.length > scale) return undefined;
  return BigInt(whole + decimals.padEnd(scale, '0'));
}
