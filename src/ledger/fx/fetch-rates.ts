import type { FxUrls } from '../../config.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { fetchCryptoRates } from './coingecko.ts';
import { readTenantCurrencies, upsertRates, type TenantCurrencies } from './fetch-queries.ts';
import { fetchFiatRates } from './frankfurter.ts';
import { ProviderFailed, type ProviderDeps, type Published, type PublishedRate } from './rate-provider.ts';
import type { FetchReport, FetchRequest, RateKind } from './schema.ts';

export interface FetchDeps extends ProviderDeps {
  postgres: Postgres;
  logger: Logger;
  urls: FxUrls;
}

/** What a fetch did, and how long the providers that failed asked to be left alone (0: none did). */
export interface Fetched {
  report: FetchReport;
  retry_after_ms: number;
}

const TENANTS_PER_PAGE = 500;

/**
 * Asks the providers for what the tenants need and stores it. A provider that fails is in the report, with what it
 * failed at; everything else is stored all the same. Rejects when Postgres fails, and with the reason of `stop`.
 */
export async function fetchRates(
  deps: FetchDeps,
  { kinds, tenant_id }: FetchRequest,
  stop?: AbortSignal,
): Promise<Fetched> {
  const needs = new Needs();
  for await (const tenant of tenantsOf(deps.postgres, tenant_id)) needs.add(tenant);
  const asked = await Promise.all([...new Set(kinds)].map((kind) => askFor(kind, needs, deps, stop)));
  const rates = groupByCurrency(asked.flatMap((answers) => answers.rates));
  const report: FetchReport = {
    upserted: 0,
    tenants: 0,
    failures: asked.flatMap(({ failures }) => failures),
  };
  for await (const tenant of tenantsOf(deps.postgres, tenant_id)) {
    stop?.throwIfAborted();
    report.tenants += 1;
    const own = ratesOf(tenant, rates.get(tenant.base_currency) ?? []);
    if (own.length > 0) report.upserted += await upsertRates(deps.postgres.service, tenant.tenant_id, own);
  }
  return { report, retry_after_ms: Math.max(0, ...asked.map((answers) => answers.retry_after_ms)) };
}

async function* tenantsOf({ service }: Postgres, only: string | undefined): AsyncGenerator<TenantCurrencies> {
  for (let after: string | undefined; ;) {
    const page = await readTenantCurrencies(service, only, after, TENANTS_PER_PAGE);
    yield* page;
    after = page.at(-1)?.tenant_id;
    if (page.length < TENANTS_PER_PAGE) return;
  }
}

/** What has to be asked for all tenants together. */
class Needs {
  /** Per fiat base currency. */
  readonly fiat = new Map<string, Set<string>>();
  readonly crypto = new Set<string>();
  /** What crypto currencies are priced in. */
  readonly prices = new Set<string>();

  add({ base_currency, fiat, crypto }: TenantCurrencies): void {
    for (const code of crypto) this.crypto.add(code);
    if (crypto.length > 0) this.prices.add(base_currency);
    if (crypto.includes(base_currency)) {
      // No central bank has rates from a crypto currency: fiat is converted by its price turned round.
      for (const code of fiat) this.prices.add(code);
      return;
    }
    const quotes = this.fiat.get(base_currency) ?? new Set();
    for (const code of fiat) if (code !== base_currency) quotes.add(code);
    this.fiat.set(base_currency, quotes);
  }
}

interface Answers {
  rates: PublishedRate[];
  failures: FetchReport['failures'];
  /** The longest that a failure asked for. */
  retry_after_ms: number;
}

/** Asks the provider of one kind, request by request. */
async function askFor(
  kind: RateKind,
  needs: Needs,
  deps: FetchDeps,
  stop: AbortSignal | undefined,
): Promise<Answers> {
  const answers: Answers = { rates: [], failures: [], retry_after_ms: 0 };
  for (const request of requestsFor(kind, needs, deps, stop)) {
    try {
      const { rates, missing } = await request();
      if (missing.length > 0) deps.logger.warn({ kind, missing }, 'the provider has no rates of these pairs');
      answers.rates.push(...rates);
    } catch (error) {
      if (!(error instanceof ProviderFailed)) throw error;
      deps.logger.warn({ err: error }, 'a provider of rates failed');
      answers.failures.push({ provider: error.provider, message: error.message });
      answers.retry_after_ms = Math.max(answers.retry_after_ms, error.retry_after_ms);
      if (error.is_down) break;
    }
  }
  return answers;
}

function requestsFor(
  kind: RateKind,
  { fiat, crypto, prices }: Needs,
  deps: FetchDeps,
  stop: AbortSignal | undefined,
): (() => Promise<Published>)[] {
  const { fiat_url, crypto_url } = deps.urls;
  if (kind === 'crypto') {
    if (crypto.size === 0) return [];
    return [() => fetchCryptoRates(crypto_url, [...crypto].sort(), [...prices].sort(), deps, stop)];
  }
  const bases = [...fiat].filter(([, quotes]) => quotes.size > 0);
  return bases.map(
    ([base, quotes]) =>
      () =>
        fetchFiatRates(fiat_url, base, [...quotes].sort(), deps, stop),
  );
}

/** Each rate under both of its currencies. */
function groupByCurrency(rates: readonly PublishedRate[]): ReadonlyMap<string, PublishedRate[]> {
  const groups = new Map<string, PublishedRate[]>();
  for (const rate of rates) {
    for (const code of [rate.base, rate.quote]) {
      const group = groups.get(code);
      if (group === undefined) groups.set(code, [rate]);
      else group.push(rate);
    }
  }
  return groups;
}

/** Of the rates of a tenant's base currency, those from it to fiat, and those from crypto to it. */
function ratesOf(
  { base_currency, fiat, crypto }: TenantCurrencies,
  rates: readonly PublishedRate[],
): PublishedRate[] {
  const [toFiat, fromCrypto] = [new Set(fiat), new Set(crypto)];
  return rates.filter(
    ({ base, quote }) =>
      (base === base_currency && toFiat.has(quote)) || (quote === base_currency && fromCrypto.has(base)),
  );
}
