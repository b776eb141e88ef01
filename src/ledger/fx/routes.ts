import { z } from 'zod';
import type { FxUrls } from '../../config.ts';
import { ApiError } from '../../errors.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope, envelopeOfText } from '../../http/envelope.ts';
import type { Platform } from '../../platform/platform.ts';
import { fetchRates } from './fetch-rates.ts';
import { rateEndpoints } from './rate-routes.ts';
import { findLatestRate, type LatestRate } from './latest-rate.ts';
import { selectCurrencies } from './queries.ts';
import { PROVIDER_DEFAULTS } from './rate-provider.ts';
import {
  currencyResource,
  fetchReport,
  fetchRequest,
  latestRateQuery,
  rateResource,
  type LatestRateQuery,
} from './schema.ts';
import { JsonText, exactJson } from '../../platform/exact-json.ts';

/** Currencies and exchange rates (spec part 4), and the endpoint that `npm run fx-fetch` calls. */
export function fxEndpoints(platform: Platform, urls: FxUrls): AnyEndpoint[] {
  const read = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'tenant' },
  } as const;
  return [
    endpoint({
      ...read,
      path: '/v1/currencies',
      summary: "The tenant's currency catalogue: the base currency, then the others by code",
      response: z.array(currencyResource),
      handle: async ({ caller: { tenant_id } }) =>
        envelope(await platform.postgres.readAsTenant(tenant_id, (tx) => selectCurrencies(tx, tenant_id))),
    }),
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
    endpoint({
      method: 'POST',
      path: '/v1/internal/fx-fetch',
      audit: { resource: 'fx_rates', action: 'refresh' },
      summary: 'Fetches exchange rates from their providers now',
      access: { mode: 'internal' },
      body: fetchRequest,
      response: fetchReport,
      errors: ['TENANT_NOT_FOUND', 'SERVICE_UNAVAILABLE'],
      handle: async ({ body, audit }) => {
        // Without a tenant it is what the daily job does, for every tenant: no row.
        const options = body.tenant_id === undefined ? {} : { audit };
        const { report } = await fetchRates({ ...platform, ...PROVIDER_DEFAULTS, urls }, body, options);
        if (body.tenant_id !== undefined && report.tenants === 0) {
          throw new ApiError('TENANT_NOT_FOUND', `tenant ${body.tenant_id} does not exist`);
        }
        return envelope(report);
      },
    }),
  ];
}

/** Writes the digits of the rate unchanged: a double would lose some. */
function rateJson({ base, quote }: LatestRateQuery, { rate, ts, source }: LatestRate): string {
  return exactJson({ base, quote, rate: new JsonText(rate), ts, source });
}
