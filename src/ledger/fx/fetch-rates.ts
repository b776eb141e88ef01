import { auditNothing, type AuditChange } from '../../http/audit.ts';
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

/** The result of a fetch, and the longest Retry-After of the providers that failed (0: none sent one). */
export interface Fetched {
  report: FetchReport;
  retry_after_ms: number;
}

const TENANTS_PER_PAGE = 500;

/**
 * Requests the rates that the tenants need from the providers and stores them. The report lists the failures of
 * providers; all other rates are stored nevertheless. `audit` gets the count of each tenant, in the transaction that
 * stores its rates. Rejects when Postgres fails, and with the reason of `stop`.
 */
export async function fetchRates(
  deps: FetchDeps,
  { kinds, tenant_id }: FetchRequest,
  { stop, audit }: { stop?: AbortSignal; audit?: AuditChange } = {},
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
    report.upserted += await storeRates(deps.postgres, tenant.tenant_id, own, audit);
  }
  return { report, retry_after_ms: Math.max(0, ...asked.map((answers) => answers.retry_after_ms)) };
}

async function storeRates(
  { service }: Postgres,
  tenant_id: string,
  rates: readonly PublishedRate[],
  audit: AuditChange = auditNothing,
): Promise<number> {
  return service.begin(async (tx) => {
    const upserted = rates.length > 0 ? await upsertRates(tx, tenant_id, rates) : 0;
    await audit(tx, {
      tenant_id,
      project_id: null,
      resource_id: tenant_id,
      before: null,
      after: { upserted },
    });
    return upserted;
  });
}

async function* tenantsOf({ service }: Postgres, only: string | undefined): AsyncGenerator<TenantCurrencies> {
  for (let after: string | undefined; ;) {
    const page = await readTenantCurrencies(service, only, after, TENANTS_PER_PAGE);
    yield* page;
    after = page.at(-1)?.tenant_id;
    if (page.length < TENANTS_PER_PAGE) return;
  }
}

/** The rates that all tenants together need. */
class Needs {
  /** Base currency → the fiat currencies to which it needs rates. */
  readonly fiat = new Map<string, Set<string>>();
  readonly crypto = new Set<string>();
  /** The currencies in which the prices of crypto currencies are needed. */
  readonly prices = new Set<string>();

  add({ base_currency, fiat, crypto }: TenantCurrencies): void {
    for (const code of crypto) this.crypto.add(code);
    if (crypto.length > 0) this.prices.add(base_currency);
    if (crypto.includes(base_currency)) {
      // No central bank publishes rates of a crypto currency: fiat is converted by the inverse of the crypto price.
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
  /** The longest Retry-After of the failures; 0: none. */
  retry_after_ms: number;
}

/** Sends the requests for one kind of rates, one after the other; stops early when the provider is down. */
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

/** Currency → the rates that have it as base or as quote. */
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

/** The rates that the tenant needs: from its base currency to its fiat currencies, and from its crypto to the base. */
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
