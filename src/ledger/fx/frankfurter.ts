import { LosslessNumber } from 'lossless-json';
import { z } from 'zod';
import { positiveDecimal } from './decimal.ts';
import {
  addressBelow,
  askProvider,
  ProviderFailed,
  type ProviderDeps,
  type Published,
  type PublishedRate,
} from './rate-provider.ts';
import { MAX_AHEAD_MS } from './schema.ts';

export const FRANKFURTER = 'frankfurter';

const answerSchema = z.object({
  base: z.string(),
  date: z.iso.date(),
  rates: z.record(z.string(), z.instanceof(LosslessNumber)),
});

/**
 * The latest rates of central banks from Frankfurter: from `base` to each of `quotes`, as of the answer's date at 00:00
 * UTC. The provider refuses a request for a base that it does not know; then all pairs are in `missing`. Rejects with
 * {@link ProviderFailed}, also when only a part of the answer is invalid.
 */
export async function fetchFiatRates(
  provider_url: string,
  base: string,
  quotes: readonly string[],
  deps: ProviderDeps,
  stop: AbortSignal | undefined,
): Promise<Published> {
  const url = addressBelow(provider_url, '/v1/latest', { base: [base], symbols: quotes });
  const answer = await askProvider(FRANKFURTER, url, deps, stop).catch((error: unknown) => {
    if (error instanceof ProviderFailed && error.is_unknown) return undefined;
    throw error;
  });
  if (answer === undefined) return { rates: [], missing: quotes.map((quote) => `${base}/${quote}`) };
  const malformed = (what: string) =>
    new ProviderFailed(FRANKFURTER, `GET ${url}: ${what}`, { is_down: false });
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) throw malformed(`the answer is malformed: ${z.prettifyError(parsed.error)}`);
  const { data } = parsed;
  if (data.base !== base) throw malformed(`the answer is for ${data.base}`);
  const ts = new Date(`${data.date}T00:00:00Z`);
  if (ts.getTime() > deps.clock.now_ms() + MAX_AHEAD_MS)
    throw malformed(`the answer is from the future: ${data.date}`);
  const rates = Object.entries(data.rates).map(([quote, number]): PublishedRate => {
    if (!quotes.includes(quote)) throw malformed(`the answer has ${quote}, which was not requested`);
    const rate = positiveDecimal(number.value);
    if (rate === undefined) throw malformed(`${number.value} is not a valid rate for ${quote}`);
    return { base, quote, rate, ts, source: FRANKFURTER };
  });
  const found = new Set(rates.map(({ quote }) => quote));
  return { rates, missing: quotes.filter((quote) => !found.has(quote)).map((quote) => `${base}/${quote}`) };
}
