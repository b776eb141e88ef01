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

/** By coin id. */
const answerSchema = z.record(z.string(), z.unknown());
/** Currency → price; null where the coin has no price. */
const coinSchema = z.record(z.string(), z.instanceof(LosslessNumber).nullable());

/** A coin of the answer is invalid; `message` names it. */
class BrokenCoin extends Error {}

/**
 * The latest prices from CoinGecko: from each crypto currency of `codes` to each of `quotes` except itself. The time of
 * a rate is the start of the hour in which the price was last updated. A coin with an invalid part gives no rate and is
 * in `broken`; the other coins are not affected. Codes without an id at CoinGecko are in `missing`. Rejects with
 * {@link ProviderFailed}.
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
  const answer = ids.length > 0 ? await askProvider(COINGECKO, url, deps, stop) : {};
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) {
    const what = `the answer is malformed: ${z.prettifyError(parsed.error)}`;
    throw new ProviderFailed(COINGECKO, `GET ${url}: ${what}`, { is_down: false });
  }
  const broken: NonNullable<Published['broken']> = [];
  const note = (what: string) =>
    broken.push({ provider: COINGECKO, message: `${COINGECKO}: GET ${url}: ${what}` });
  for (const id of Object.keys(parsed.data))
    if (!ids.includes(id)) note(`the answer has ${id}, which was not requested`);
  const published: Published = { rates: [], missing: [], broken };
  for (const code of codes) {
    try {
      const { rates, missing } = readCoin(code, parsed.data[COINGECKO_IDS[code] ?? ''], quotes, deps);
      published.rates.push(...rates);
      published.missing.push(...missing);
    } catch (error) {
      if (!(error instanceof BrokenCoin)) throw error;
      note(error.message);
    }
  }
  return published;
}

/** The prices of one coin. Throws {@link BrokenCoin}. */
function readCoin(code: string, coin: unknown, quotes: readonly string[], deps: ProviderDeps): Published {
  const wanted = quotes.filter((quote) => quote !== code);
  if (coin === undefined) return { rates: [], missing: wanted.map((quote) => ({ base: code, quote })) };
  const parsed = coinSchema.safeParse(coin);
  if (!parsed.success) throw new BrokenCoin(`${code} is malformed: ${z.prettifyError(parsed.error)}`);
  const prices = parsed.data;
  const known = new Set([...quotes.map((quote) => quote.toLowerCase()), UPDATED_AT]);
  const unknown = Object.keys(prices).find((name) => !known.has(name));
  if (unknown !== undefined)
    throw new BrokenCoin(`the answer has ${code} in ${unknown}, which was not requested`);
  const published: Published = { rates: [], missing: [] };
  for (const quote of wanted) {
    const price = prices[quote.toLowerCase()] ?? null;
    if (price === null) {
      published.missing.push({ base: code, quote });
      continue;
    }
    const rate = positiveDecimal(price.value);
    if (rate === undefined)
      throw new BrokenCoin(`${price.value} is not a valid price of ${code} in ${quote}`);
    const ts = hourOf(prices[UPDATED_AT], deps);
    if (ts === undefined) throw new BrokenCoin(`${code} has no usable ${UPDATED_AT}`);
    published.rates.push({ base: code, quote, rate, ts, source: COINGECKO });
  }
  return published;
}

/** The start of the hour of a time in whole seconds since the epoch; undefined for an invalid or a future time. */
function hourOf(seconds: LosslessNumber | null | undefined, { clock }: ProviderDeps): Date | undefined {
  if (!/^[1-9]\d{0,11}$/.test(seconds?.value ?? '')) return undefined;
  const ms = Number(seconds?.value) * 1000;
  return ms > clock.now_ms() + MAX_AHEAD_MS ? undefined : new Date(ms - (ms % HOUR_MS));
}
