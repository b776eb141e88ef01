import { LosslessNumber } from 'lossless-json';
import { z } from 'zod';
import { positiveDecimal } from './decimal.ts';
import {
  addressBelow,
  askProvider,
  ProviderFailed,
  type Days,
  type ProviderDeps,
  type Published,
  type PublishedRate,
} from './rate-provider.ts';
import { MAX_AHEAD_MS } from './schema.ts';

export const FRANKFURTER = 'frankfurter';
/** The second provider of fiat rates: version 2 of Frankfurter's API, which has the rates of many central banks. */
export const FRANKFURTER_V2 = 'frankfurter-v2';

/** The currencies of the European Central Bank, which version 1 of Frankfurter's API has. */
export const FRANKFURTER_CODES: ReadonlySet<string> = new Set(
  `AUD BGN BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR NOK NZD PHP PLN RON SEK SGD THB TRY
   USD ZAR`.split(/\s+/),
);

const ratesOfDay = z.record(z.string(), z.instanceof(LosslessNumber));
const latestSchema = z.object({ base: z.string(), date: z.iso.date(), rates: ratesOfDay });
const historySchema = z.object({ base: z.string(), rates: z.record(z.iso.date(), ratesOfDay) });
const rowsSchema = z.array(
  z.object({
    date: z.iso.date(),
    base: z.string(),
    quote: z.string(),
    rate: z.instanceof(LosslessNumber),
  }),
);

/** What is asked of a provider of fiat rates: the rates from `base` to each of `quotes`, the latest or those of `days`. */
export interface FiatRequest {
  base: string;
  quotes: readonly string[];
  days: Days | undefined;
}

interface Call {
  provider: string;
  url: string;
  deps: ProviderDeps;
}

/**
 * Rates of central banks from version 1 of Frankfurter's API, as of their date at 00:00 UTC. The provider refuses a
 * request for a base that it does not know; then all pairs are in `missing`. Rejects with {@link ProviderFailed}, also
 * when only a part of the answer is invalid.
 */
export async function fetchFiatRates(
  provider_url: string,
  { base, quotes, days }: FiatRequest,
  deps: ProviderDeps,
  stop: AbortSignal | undefined,
): Promise<Published> {
  const path = days === undefined ? '/v1/latest' : `/v1/${days.from}..${days.to}`;
  const url = addressBelow(provider_url, path, { base: [base], symbols: quotes });
  const call: Call = { provider: FRANKFURTER, url, deps };
  const answer = await askKnown(call, stop);
  if (answer === undefined) return published(base, quotes, []);
  const data = days === undefined ? latestOf(call, answer) : parsed(call, historySchema, answer);
  if (data.base !== base) throw malformed(call, `the answer is for ${data.base}`);
  const rates = Object.entries(data.rates).flatMap(([date, of_day]) => {
    const ts = timeOf(call, date, days);
    return Object.entries(of_day).map(([quote, { value }]): PublishedRate => {
      if (!quotes.includes(quote)) throw malformed(call, `the answer has ${quote}, which was not requested`);
      return { base, quote, rate: rateOf(call, quote, value), ts, source: FRANKFURTER };
    });
  });
  return published(base, quotes, rates);
}

/**
 * The same from version 2 of Frankfurter's API. It refuses a request with one unknown quote, so all are requested, and
 * the others are ignored: also their rates.
 */
export async function fetchSecondFiatRates(
  provider_url: string,
  { base, quotes, days }: FiatRequest,
  deps: ProviderDeps,
  stop: AbortSignal | undefined,
): Promise<Published> {
  const range = days === undefined ? {} : { from: [days.from], to: [days.to] };
  const url = addressBelow(provider_url, '/v2/rates', { base: [base], ...range });
  const call: Call = { provider: FRANKFURTER_V2, url, deps };
  const answer = await askKnown(call, stop);
  if (answer === undefined) return published(base, quotes, []);
  const rows = parsed(call, rowsSchema, answer).filter(({ quote }) => quotes.includes(quote));
  const rates = rows.map((row): PublishedRate => {
    if (row.base !== base) throw malformed(call, `the answer is for ${row.base}`);
    const ts = timeOf(call, row.date, days);
    return {
      base,
      quote: row.quote,
      rate: rateOf(call, row.quote, row.rate.value),
      ts,
      source: FRANKFURTER_V2,
    };
  });
  if (new Set(rates.map(({ quote, ts }) => `${quote} ${ts.getTime()}`)).size < rates.length)
    throw malformed(call, 'the answer has two rates of one currency and date');
  return published(base, quotes, rates);
}

/** The answer; undefined when the provider does not know what was requested. */
function askKnown({ provider, url, deps }: Call, stop: AbortSignal | undefined): Promise<unknown> {
  return askProvider(provider, url, deps, stop).catch((error: unknown) => {
    if (error instanceof ProviderFailed && error.is_unknown) return undefined;
    throw error;
  });
}

function latestOf(call: Call, answer: unknown): z.infer<typeof historySchema> {
  const { base, date, rates } = parsed(call, latestSchema, answer);
  return { base, rates: { [date]: rates } };
}

function parsed<T>(call: Call, schema: z.ZodType<T>, answer: unknown): T {
  const result = schema.safeParse(answer);
  if (!result.success) throw malformed(call, `the answer is malformed: ${z.prettifyError(result.error)}`);
  return result.data;
}

function malformed({ provider, url }: Call, what: string): ProviderFailed {
  return new ProviderFailed(provider, `GET ${url}: ${what}`, { is_down: false });
}

/** A day at 00:00 UTC. Frankfurter's history may begin with the last working day before its first day. */
function timeOf(call: Call, date: string, days: Days | undefined): Date {
  const ts = new Date(`${date}T00:00:00Z`);
  const until_ms = call.deps.clock.now_ms() + MAX_AHEAD_MS;
  if (ts.getTime() > until_ms || (days !== undefined && date > days.to))
    throw malformed(call, `the answer is from the future: ${date}`);
  return ts;
}

function rateOf(call: Call, quote: string, digits: string): string {
  const rate = positiveDecimal(digits);
  if (rate === undefined) throw malformed(call, `${digits} is not a valid rate for ${quote}`);
  return rate;
}

function published(base: string, quotes: readonly string[], rates: PublishedRate[]): Published {
  const found = new Set(rates.map(({ quote }) => quote));
  const missing = quotes.filter((quote) => !found.has(quote)).map((quote) => ({ base, quote }));
  return { rates, missing };
}
