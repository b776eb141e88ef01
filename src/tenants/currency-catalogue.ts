/** A currency of a tenant's catalogue (spec part 2); `scale` is the decimal places of its smallest unit. */
export interface CatalogueCurrency {
  code: string;
  kind: 'fiat' | 'crypto';
  scale: number;
  symbol: string;
  display_name: string;
}

/** The largest scale of a base currency. Totals are 64-bit integers in its smallest unit: 8 places allow 92 billion. */
export const MAX_BASE_SCALE = 8;

const FIAT: readonly [string, number, string, string][] = [
  ['AED', 2, 'د.إ', 'UAE Dirham'],
  ['ARS', 2, '$', 'Argentine Peso'],
  ['AUD', 2, '$', 'Australian Dollar'],
  ['BGN', 2, 'лв', 'Bulgarian Lev'],
  ['BRL', 2, 'R$', 'Brazilian Real'],
  ['CAD', 2, '$', 'Canadian Dollar'],
  ['CHF', 2, 'CHF', 'Swiss Franc'],
  ['CLP', 0, '$', 'Chilean Peso'],
  ['CNY', 2, '¥', 'Chinese Yuan'],
  ['COP', 2, '$', 'Colombian Peso'],
  ['CZK', 2, 'Kč', 'Czech Koruna'],
  ['DKK', 2, 'kr', 'Danish Krone'],
  ['EUR', 2, '€', 'Euro'],
  ['GBP', 2, '£', 'Pound Sterling'],
  ['GEL', 2, '₾', 'Georgian Lari'],
  ['HKD', 2, '$', 'Hong Kong Dollar'],
  ['HUF', 2, 'Ft', 'Hungarian Forint'],
  ['IDR', 2, 'Rp', 'Indonesian Rupiah'],
  ['ILS', 2, '₪', 'Israeli New Shekel'],
  ['INR', 2, '₹', 'Indian Rupee'],
  ['ISK', 0, 'kr', 'Icelandic Króna'],
  ['JPY', 0, '¥', 'Japanese Yen'],
  ['KES', 2, 'KSh', 'Kenyan Shilling'],
  ['KRW', 0, '₩', 'South Korean Won'],
  ['KWD', 3, 'د.ك', 'Kuwaiti Dinar'],
  ['KZT', 2, '₸', 'Kazakhstani Tenge'],
  ['MXN', 2, '$', 'Mexican Peso'],
  ['MYR', 2, 'RM', 'Malaysian Ringgit'],
  ['NGN', 2, '₦', 'Nigerian Naira'],
  ['NOK', 2, 'kr', 'Norwegian Krone'],
  ['NZD', 2, '$', 'New Zealand Dollar'],
  ['PEN', 2, 'S/', 'Peruvian Sol'],
  ['PHP', 2, '₱', 'Philippine Peso'],
  ['PLN', 2, 'zł', 'Polish Złoty'],
  ['RON', 2, 'lei', 'Romanian Leu'],
  ['SEK', 2, 'kr', 'Swedish Krona'],
  ['SGD', 2, '$', 'Singapore Dollar'],
  ['THB', 2, '฿', 'Thai Baht'],
  ['TRY', 2, '₺', 'Turkish Lira'],
  ['UAH', 2, '₴', 'Ukrainian Hryvnia'],
  ['USD', 2, '$', 'US Dollar'],
  ['ZAR', 2, 'R', 'South African Rand'],
];

const CRYPTO: readonly [string, number, string, string][] = [
  ['BTC', 8, '₿', 'Bitcoin'],
  ['DOGE', 8, 'Ð', 'Dogecoin'],
  ['ETH', 18, 'Ξ', 'Ether'],
  ['LTC', 8, 'Ł', 'Litecoin'],
  ['TRX', 6, 'TRX', 'TRON'],
  ['USDC', 6, 'USDC', 'USD Coin'],
  ['USDT', 6, '₮', 'Tether'],
];

/** The ids that CoinGecko uses for the crypto currencies of the catalogue. */
export const COINGECKO_IDS: Readonly<Record<string, string>> = {
  BTC: 'bitcoin',
  DOGE: 'dogecoin',
  ETH: 'ethereum',
  LTC: 'litecoin',
  TRX: 'tron',
  USDC: 'usd-coin',
  USDT: 'tether',
};

/** The currencies of a new tenant, all active. */
export const DEFAULT_CATALOGUE: readonly CatalogueCurrency[] = [
  ...FIAT.map(([code, scale, symbol, display_name]) => currency('fiat', code, scale, symbol, display_name)),
  ...CRYPTO.map(([code, scale, symbol, display_name]) =>
    currency('crypto', code, scale, symbol, display_name),
  ),
];

/** The codes that a tenant may have as its base currency. */
export const BASE_CURRENCIES: readonly string[] = DEFAULT_CATALOGUE.filter(
  ({ scale }) => scale <= MAX_BASE_SCALE,
).map(({ code }) => code);

function currency(
  kind: CatalogueCurrency['kind'],
  code: string,
  scale: number,
  symbol: string,
  display_name: string,
): CatalogueCurrency {
  return { code, kind, scale, symbol, display_name };
}
