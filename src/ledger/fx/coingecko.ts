import { LosslessNumber } from 'lossless-json';
import { z } from 'zod';
import { COINGECKO_IDS } from '../../tenants/currency-catalogue.ts';
import { positiveDecimal } from './decimal.ts';
import {
  addressBelow,
  askProvider,
  ProviderFailed,
  type ProviderDeps,
  type Published,
} from './rate-provider.ts';
import { MAX_AHEAD_MS } from './schema.ts';

export const COINGECKO = 'coingecko';

const UPDATED_AT = 'last_updated_at';
const HOUR_MS = 3_600_000;

/** Coin id → currency → price; null where the coin has no price. */
const answerSchema = z.record(z.string(), z.record(z.string(), z.instanceof(LosslessNumber).nullable()));

/**
 * The latest prices from CoinGecko: from each crypto currency of `codes` to each of `quotes` except itself. The time of
 * a rate is the start of the hour in which the price was last updated. Rejects with {@link ProviderFailed}, also when
 * only a part of the answer is invalid.
 */
export async function fetchCryptoRates(
  provider_url: string,
  codes: readonly string[],
  quotes: readonly string[],
  deps: ProviderDeps,
  stop: AbortSignal | undefined,
): Promise<Published> {
  const ids = codes.flatMap((code) => COINGECKO_IDS[code] ?? []);
  const url = addressBelow(provider_url, '/api/v3/simple/price', {
    ids,
    vs_currencies: quotes.map((quote) => quote.toLowerCase()),
    include_last_updated_at: ['true'],
  });
  const answer = await askProvider(COINGECKO, url, deps, stop);
  const malformed = (what: string) =>
    new ProviderFailed(COINGECKO, `GET ${url}: ${what}`, { is_down: false });
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) throw malformed(`the answer is malformed: ${z.prettifyError(parsed.error)}`);
  const known = new Set([...quotes.map((quote) => quote.toLowerCase()), UPDATED_AT]);
  for (const [id, prices] of Object.entries(parsed.data)) {
    if (!ids.includes(id)) throw malformed(`the answer has ${id}, which was not requested`);
    const unknown = Object.keys(prices).find((name) => !known.has(name));
    if (unknown !== undefined) throw malformed(`the answer has ${id} in ${unknown}, which was not requested`);
  }
  const published: Published = { rates: [], missing: [] };
  for (const code of codes) {
    const prices = parsed.data[COINGECKO_IDS[code] ?? ''];
    for (const quote of quotes.filter((quote) => quote !== code)) {
      const price = prices?.[quote.toLowerCase()];
      if (prices === undefined || price === undefined || price === null) {
        published.missing.push(`${code}/${quote}`);
        continue;
      }
      const rate = positiveDecimal(price.value);
      if (rate === undefined) throw malformed(`${price.value} is not a valid price of ${code} in ${quote}`);
      const ts = hourOf(prices[UPDATED_AT], deps);
      if (ts === undefined) throw malformed(`${code} has no usable ${UPDATED_AT}`);
      published.rates.push({ base: code, quote, rate, ts, source: COINGECKO });
    }
  }
  return published;
}

/** The start of the hour of a time in whole seconds since the epoch; undefined for an invalid or a future time. */
function hourOf(seconds: LosslessNumber | null | undefined, { clock }: ProviderDeps): Date | undefined {
  if (!/^[1-9]\d{0,11}$/.test(seconds?.value ?? '')) return undefined;
  const ms = Number(seconds?.value) * 1000;
  return ms > clock.now_ms() + MAX_AHEAD_MS ? undefined : new Date(ms - (ms % HOUR_MS));
}
