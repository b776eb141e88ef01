import { auditNothing, type AuditChange } from '../../http/audit.ts';
import type { FxUrls } from '../../config.ts';
import { groupBy } from '../../platform/group-by.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { fetchCryptoRates } from './coingecko.ts';
import { readTenantCurrencies, upsertRates, type TenantCurrencies } from './fetch-queries.ts';
import { fetchFiatRates, fetchSecondFiatRates } from './frankfurter.ts';
import {
  ProviderFailed,
  type Days,
  type Pair,
  type ProviderDeps,
  type Published,
  type PublishedRate,
} from './rate-provider.ts';
import { isStale } from './rate-source.ts';
import type { FetchReport, FetchRequest, RateKind } from './schema.ts';

export interface FetchDeps extends ProviderDeps {
  postgres: Postgres;
  logger: Logger;
  metrics: Pick<Metrics, 'staleRates'>;
  urls: FxUrls;
}

/** The result of a fetch, and the longest Retry-After of the providers that failed (0: none sent one). */
export interface Fetched {
  report: FetchReport;
  retry_after_ms: number;
}

const TENANTS_PER_PAGE = 500;
/** Rates of one transaction: the trigger and the foreign keys of each cost time. */
const RATES_PER_TRANSACTION = 1_000;
const DAY_MS = 86_400_000;
/** Days of a history that are requested at once: few, so that providers give each day and the answers stay small. */
const DAYS_AT_ONCE = 30;

/**
 * Requests the rates that the tenants need from the providers and stores them. The report lists the failures of
 * providers; all other rates are stored nevertheless. With `since`, the fiat rates of all days from that date to today
 * are fetched instead of the latest ones, and the history ends when a provider is down. `audit` gets the count of each
 * tenant, in the transaction that stores its rates. Rejects when Postgres fails, and with the reason of `stop`.
 */
export async function fetchRates(
  deps: FetchDeps,
  { kinds, tenant_id, since }: FetchRequest,
  { stop, audit }: { stop?: AbortSignal; audit?: AuditChange } = {},
): Promise<Fetched> {
  const needs = new Needs();
  for await (const tenant of tenantsOf(deps.postgres, tenant_id)) needs.add(tenant);
  const report: FetchReport = { upserted: 0, tenants: 0, failures: [] };
  let retry_after_ms = 0;
  // No provider has a history of crypto prices.
  const asked_kinds: readonly RateKind[] = since === undefined ? [...new Set(kinds)] : ['fiat'];
  for (const days of since === undefined ? [undefined] : daysSince(since, deps.clock.now_ms())) {
    const asked = await Promise.all(asked_kinds.map((kind) => askFor(kind, needs, { deps, stop, days })));
    const rates = groupByCurrency(asked.flatMap((answers) => answers.rates));
    let tenants = 0;
    for await (const tenant of tenantsOf(deps.postgres, tenant_id)) {
      stop?.throwIfAborted();
      tenants += 1;
      const own = ratesOf(tenant, rates.get(tenant.base_currency) ?? []);
      report.upserted += await storeRates(deps.postgres, tenant.tenant_id, own, audit);
    }
    report.tenants = tenants;
    report.failures.push(...asked.flatMap(({ failures }) => failures));
    retry_after_ms = Math.max(retry_after_ms, ...asked.map((answers) => answers.retry_after_ms));
    if (days !== undefined && asked.some(({ is_down }) => is_down)) break;
  }
  return { report, retry_after_ms };
}

/** The days from `since` to today, the oldest first, in pieces. */
function* daysSince(since: string, now_ms: number): Generator<Days> {
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  for (let from_ms = Date.parse(since); from_ms <= now_ms; from_ms += DAYS_AT_ONCE * DAY_MS)
    yield { from: dayOf(from_ms), to: dayOf(Math.min(from_ms + (DAYS_AT_ONCE - 1) * DAY_MS, now_ms)) };
}

async function storeRates(
  { service }: Postgres,
  tenant_id: string,
  rates: readonly PublishedRate[],
  audit: AuditChange = auditNothing,
): Promise<number> {
  let stored = 0;
  let at = 0;
  do {
    const slice = rates.slice(at, at + RATES_PER_TRANSACTION);
    stored += await service.begin(async (tx) => {
      const upserted = slice.length > 0 ? await upsertRates(tx, tenant_id, slice) : 0;
      await audit(tx, {
        tenant_id,
        project_id: null,
        resource_id: tenant_id,
        before: null,
        after: { upserted },
      });
      return upserted;
    });
    at += RATES_PER_TRANSACTION;
  } while (at < rates.length);
  return stored;
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
  missing: Pair[];
  failures: FetchReport['failures'];
  /** The longest Retry-After of the failures; 0: none. */
  retry_after_ms: number;
  is_down: boolean;
}

interface Asking {
  deps: FetchDeps;
  stop: AbortSignal | undefined;
  /** The days of a history; undefined: the latest rates. */
  days: Days | undefined;
}

/**
 * Asks for one kind of rates. The second provider of fiat rates is asked for what the first one does not have. A price
 * that is too old is stored like any other, because an older one would hold without it, and is counted.
 */
async function askFor(kind: RateKind, needs: Needs, asking: Asking): Promise<Answers> {
  const { deps, days } = asking;
  let answers = await askOne(requestsFor(kind, needs, asking), deps);
  const second_url = deps.urls.second_fiat_url;
  if (kind === 'fiat' && second_url !== undefined) {
    const quotes = groupBy(answers.missing, ({ base }) => base);
    const requests = [...quotes].map(
      ([base, pairs]) =>
        () =>
          fetchSecondFiatRates(
            second_url,
            { base, quotes: pairs.map(({ quote }) => quote), days },
            deps,
            asking.stop,
          ),
    );
    answers = joined(answers, await askOne(requests, deps));
  }
  const missing = answers.missing.map(({ base, quote }) => `${base}/${quote}`);
  if (missing.length > 0 && days === undefined)
    deps.logger.warn({ kind, missing }, 'no provider has rates of these pairs');
  if (days === undefined) countStale(answers.rates, deps);
  return answers;
}

/** Of the second answers are the pairs that are missing at both providers. */
function joined(first: Answers, second: Answers): Answers {
  const given = new Set(second.rates.map(({ base, quote }) => `${base}/${quote}`));
  return {
    rates: [...first.rates, ...second.rates],
    missing: first.missing.filter(({ base, quote }) => !given.has(`${base}/${quote}`)),
    failures: [...first.failures, ...second.failures],
    retry_after_ms: Math.max(first.retry_after_ms, second.retry_after_ms),
    is_down: first.is_down || second.is_down,
  };
}

function countStale(rates: readonly PublishedRate[], { clock, logger, metrics }: FetchDeps): void {
  const stale = rates.filter(({ source, ts }) => isStale(source, ts.getTime(), clock.now_ms()));
  if (stale.length === 0) return;
  for (const { source } of stale) metrics.staleRates.inc({ provider: source });
  const pairs = stale.map(({ base, quote, ts }) => `${base}/${quote} of ${ts.toISOString()}`);
  logger.warn({ pairs }, 'a provider gave old rates: they are used until it gives newer ones');
}

/** Sends requests to one provider, one after the other; stops early when the provider is down. */
async function askOne(requests: readonly (() => Promise<Published>)[], deps: FetchDeps): Promise<Answers> {
  const answers: Answers = { rates: [], missing: [], failures: [], retry_after_ms: 0, is_down: false };
  for (const request of requests) {
    try {
      const { rates, missing, broken = [] } = await request();
      answers.rates.push(...rates);
      answers.missing.push(...missing);
      for (const failure of broken)
        deps.logger.warn(failure, 'a part of the answer of a provider is invalid');
      answers.failures.push(...broken);
    } catch (error) {
      if (!(error instanceof ProviderFailed)) throw error;
      deps.logger.warn({ err: error }, 'a provider of rates failed');
      answers.failures.push({ provider: error.provider, message: error.message });
      answers.retry_after_ms = Math.max(answers.retry_after_ms, error.retry_after_ms);
      answers.is_down = error.is_down;
      if (error.is_down) break;
    }
  }
  return answers;
}

function requestsFor(
  kind: RateKind,
  { fiat, crypto, prices }: Needs,
  { deps, stop, days }: Asking,
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
        fetchFiatRates(fiat_url, { base, quotes: [...quotes].sort(), days }, deps, stop),
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
