import { BoundedCache } from '../../platform/bounded-cache.ts';
import { toValue } from 'liquidjs';
import { Amount, digitsOf } from './amount.ts';

/** The currencies of a tenant, as amounts in templates are written. */
export interface MoneyCatalogue {
  base_currency: string;
  /** By code; `scale`: the decimal places of the smallest unit. */
  currencies: ReadonlyMap<string, { kind: 'fiat' | 'crypto'; scale: number }>;
}

/** Of templates that do not use the filter. */
export const NO_MONEY: MoneyCatalogue = { base_currency: '', currencies: new Map() };

/** What the filter `money` reads in addition to its arguments: the catalogue, and the locale of the player. */
export interface MoneyContext {
  catalogue: MoneyCatalogue;
  locale: string;
}

/** The key of a {@link MoneyContext} in the globals of a context, which no template can read. */
export const MONEY = Symbol('money');

const DEFAULT_LOCALE = 'en';
const MAX_LOCALE = 35;
/** A three-letter code that no currency has: it is replaced in the output by codes that Intl does not take. */
const PLACEHOLDER = 'XTS';

/** The locale of the player of a scope: the attribute `locale` or `language`, if it is one that is known; else English. */
export function localeOf(scope: Readonly<Record<string, unknown>>): string {
  for (const name of ['locale', 'language']) {
    const found = Object.hasOwn(scope, name) ? knownLocale(scope[name]) : undefined;
    if (found !== undefined) return found;
  }
  return DEFAULT_LOCALE;
}

function knownLocale(given: unknown): string | undefined {
  if (typeof given !== 'string' || given.length === 0 || given.length > MAX_LOCALE) return undefined;
  try {
    return Intl.NumberFormat.supportedLocalesOf(given.replaceAll('_', '-'))[0];
  } catch {
    return undefined;
  }
}

/** A template uses the filter, or has the word in it. */
export function mentionsMoney(texts: readonly string[]): boolean {
  return texts.some((text) => /\bmoney\b/.test(text));
}

/**
 * The filter `money`: an amount in the smallest unit of a currency as a text of a locale, exactly. Fiat amounts have all
 * decimal places of the currency, crypto amounts at least two and no zeros behind them. Nothing for no amount. Without a
 * currency an {@link Amount} has its own, any other number the base currency. Throws a RangeError for an amount that is not
 * a whole number, a currency that the catalogue does not have, and a locale that is not
 * known. Its message has no value of a player.
 */
export function moneyText(context: MoneyContext | undefined, ...given: readonly unknown[]): string {
  const [amount, currency, locale] = given.map((value) => toValue(value) as unknown);
  const { catalogue, locale: of_player } = context ?? { catalogue: NO_MONEY, locale: DEFAULT_LOCALE };
  const digits = wholeDigits(amount);
  if (digits === undefined) return '';
  const code = isNothing(currency) ? (Amount.read(given[0]).currency ?? catalogue.base_currency) : currency;
  const known = typeof code === 'string' ? catalogue.currencies.get(code) : undefined;
  if (typeof code !== 'string' || known === undefined) throw unknownCurrency(code);
  const tag = isNothing(locale) ? of_player : knownLocale(locale);
  if (tag === undefined) {
    throw new RangeError('money: the locale must be one that is known, such as en, de or pt-BR');
  }
  const { kind, scale } = known;
  return written(formatOf(tag, code, kind, scale), code, decimal(digits, scale));
}

const isNothing = (value: unknown): value is null | undefined | '' =>
  value === null || value === undefined || value === '';

/** The digits of a whole number; undefined for no amount. */
function wholeDigits(amount: unknown): string | undefined {
  if (isNothing(amount)) return undefined;
  const digits = digitsOf(amount);
  if (digits !== undefined) return digits;
  throw new RangeError(
    'money: the amount must be a whole number in the smallest unit of its currency, such as 1250 for 12.50',
  );
}

function unknownCurrency(code: unknown): RangeError {
  // Anything else could be a value of a player.
  const shown = typeof code === 'string' && /^[A-Za-z]{2,8}$/.test(code) ? ` ${code}` : '';
  return new RangeError(
    `money: the currency${shown} is not in the catalogue of the tenant; codes are written like EUR`,
  );
}

/** The amount in whole units, as decimal digits. */
function decimal(digits: string, scale: number): string {
  const sign = digits.startsWith('-') ? '-' : '';
  const padded = digits.slice(sign.length).padStart(scale + 1, '0');
  return scale === 0 ? digits : `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}

const formats = new BoundedCache<string, Intl.NumberFormat>({ max: 1_000 });

function formatOf(locale: string, code: string, kind: 'fiat' | 'crypto', scale: number): Intl.NumberFormat {
  const key = `${locale} ${code} ${kind} ${scale}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const is_fiat = kind === 'fiat' && /^[A-Z]{3}$/.test(code);
  const made = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: is_fiat ? code : PLACEHOLDER,
    currencyDisplay: is_fiat ? 'symbol' : 'code',
    minimumFractionDigits: is_fiat ? scale : Math.min(2, scale),
    maximumFractionDigits: scale,
  });
  formats.set(key, made);
  return made;
}

/** The decimal digits in the format. Intl reads them exactly when they are a text. */
function written(format: Intl.NumberFormat, code: string, digits: string): string {
  const parts = format.formatToParts(digits as Intl.StringNumericLiteral);
  return parts
    .map(({ type, value }) => (type === 'currency' && value === PLACEHOLDER ? code : value))
    .join('');
}
