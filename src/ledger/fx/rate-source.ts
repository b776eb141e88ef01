import type { FxUrls } from '../../config.ts';
import { COINGECKO_IDS, DEFAULT_CATALOGUE } from '../../tenants/currency-catalogue.ts';
import { COINGECKO } from './coingecko.ts';
import { FRANKFURTER, FRANKFURTER_CODES, FRANKFURTER_V2 } from './frankfurter.ts';

const DAY_MS = 86_400_000;
/**
 * How old a provider's rate may be before it is stale. Central banks give none at weekends and on holidays: that of the
 * Thursday before Easter is followed on Tuesday afternoon.
 */
const FRESH_MS: Readonly<Record<string, number>> = {
  [COINGECKO]: DAY_MS,
  [FRANKFURTER]: 6 * DAY_MS,
  [FRANKFURTER_V2]: 6 * DAY_MS,
};

const OF_MANY_BANKS: ReadonlySet<string> = new Set(
  DEFAULT_CATALOGUE.flatMap(({ code, kind }) => (kind === 'fiat' ? [code] : [])),
);

/** Whether a rate of a provider is older than such rates are; a manual rate holds until another one is set. */
export function isStale(source: string, ts_ms: number, now_ms: number): boolean {
  return now_ms - ts_ms > (FRESH_MS[source] ?? Number.POSITIVE_INFINITY);
}

interface Kinds {
  code: string;
  kind: 'fiat' | 'crypto';
}

/** The provider that is asked for rates between a currency and the base currency and has them; `none`: there is none. */
export function providerOf(currency: Kinds, base: Kinds, urls: FxUrls): string {
  const coins = [currency, base].filter(({ kind }) => kind === 'crypto');
  if (coins.length > 0)
    return coins.every(({ code }) => Object.hasOwn(COINGECKO_IDS, code)) ? COINGECKO : 'none';
  const hasBoth = (codes: ReadonlySet<string>) => codes.has(currency.code) && codes.has(base.code);
  if (hasBoth(FRANKFURTER_CODES)) return FRANKFURTER;
  return urls.second_fiat_url !== undefined && hasBoth(OF_MANY_BANKS) ? FRANKFURTER_V2 : 'none';
}
