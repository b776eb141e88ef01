import type { FxUrls } from '../../config.ts';
import { ApiError, validationError } from '../../errors.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope, envelopeOfText } from '../../http/envelope.ts';
import type { Platform } from '../../platform/platform.ts';
import { tenantExists } from '../../tenants/queries.ts';
import { fetchRates } from './fetch-rates.ts';
import { currencyEndpoints, type CurrencyDeps } from './currency-routes.ts';
import { importRates } from './import-rates.ts';
import { rateEndpoints } from './rate-routes.ts';
import { findLatestRate, type LatestRate } from './latest-rate.ts';
import { PROVIDER_DEFAULTS } from './rate-provider.ts';
import {
  fetchReport,
  fetchRequest,
  importRatesBody,
  importReport,
  latestRateQuery,
  rateResource,
  type FetchRequest,
  type LatestRateQuery,
} from './schema.ts';
import { JsonText, exactJson } from '../../platform/exact-json.ts';

const DAY_MS = 86_400_000;
/** How far back a history of rates is fetched: each of its rates is a change that fx-restater works off. */
const MAX_SINCE_DAYS = 1_830;

/** Currencies and exchange rates (spec part 4), and the endpoints that `npm run fx-fetch` calls. */
export function fxEndpoints(platform: Platform, deps: CurrencyDeps): AnyEndpoint[] {
  const read = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'tenant' },
  } as const;
  return [
    ...currencyEndpoints(platform, deps),
    endpoint({
      ...read,
      path: '/v1/currencies/fx',
      summary:
        'The latest rate from one currency to another, if necessary inverted or through the base currency',
      query: latestRateQuery,
      response: rateResource,
      errors: ['FX_RATE_NOT_FOUND'],
      handle: async ({ caller, query }) =>
        envelopeOfText(rateJson(query, await findLatestRate(platform, caller.tenant_id, query))),
    }),
    ...rateEndpoints(platform),
    ...internalEndpoints(platform, deps.urls),
  ];
}

function internalEndpoints(platform: Platform, urls: FxUrls): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/internal/fx-fetch',
      audit: { resource: 'fx_rates', action: 'refresh' },
      summary: 'Fetches exchange rates from their providers now',
      access: { mode: 'internal' },
      body: fetchRequest.prefault({}),
      response: fetchReport,
      errors: ['TENANT_NOT_FOUND', 'SERVICE_UNAVAILABLE'],
      handle: async ({ body, audit }) => {
        requireHistory(body, platform.clock.now_ms());
        // Without a tenant it is what the daily job does, for every tenant: no row.
        const options = body.tenant_id === undefined ? {} : { audit };
        const { report } = await fetchRates({ ...platform, ...PROVIDER_DEFAULTS, urls }, body, options);
        if (body.tenant_id !== undefined && report.tenants === 0) throw tenantNotFound(body.tenant_id);
        return envelope(report);
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/internal/fx-rates',
      audit: { resource: 'fx_rates', action: 'create' },
      summary:
        'Stores manual rates of a tenant, with a verdict for each; events since their times are restated',
      access: { mode: 'internal' },
      body: importRatesBody,
      response: importReport,
      errors: ['TENANT_NOT_FOUND'],
      handle: async ({ body, audit }) => {
        if (!(await tenantExists(platform.postgres.service, body.tenant_id)))
          throw tenantNotFound(body.tenant_id);
        const report = await platform.postgres.service.begin((tx) =>
          importRates({ ...platform, audit }, tx, body),
        );
        return envelope(report);
      },
    }),
  ];
}

function tenantNotFound(tenant_id: string): ApiError {
  return new ApiError('TENANT_NOT_FOUND', `tenant ${tenant_id} does not exist`);
}

/** Throws VALIDATION_ERROR unless the history is of fiat rates and begins in the last five years. */
function requireHistory({ kinds, since }: FetchRequest, now_ms: number): void {
  if (since === undefined) return;
  const age_ms = now_ms - Date.parse(since);
  const issues = [
    ...(age_ms < 0 ? [{ path: 'since', message: 'must not be in the future' }] : []),
    ...(age_ms > MAX_SINCE_DAYS * DAY_MS
      ? [{ path: 'since', message: `must be at most ${MAX_SINCE_DAYS} days ago` }]
      : []),
    ...(kinds.includes('fiat')
      ? []
      : [{ path: 'kinds', message: 'must include fiat: no provider has a history of crypto prices' }]),
  ];
  if (issues.length > 0) throw validationError(issues);
}

/** Writes the digits of the rate unchanged: a double would lose some. */
function rateJson({ base, quote }: LatestRateQuery, { rate, ts, source }: LatestRate): string {
  return exactJson({ base, quote, rate: new JsonText(rate), ts, source });
}
