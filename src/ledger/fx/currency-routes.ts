import { z } from 'zod';
import type { FxUrls } from '../../config.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { refuseUnwritable } from '../../http/json-body.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { TenantCapabilityCache } from '../../tenants/config/capability-cache.ts';
import { changeCurrency, createCurrency } from './currency-change.ts';
import { selectRatedCurrencies, type RatedCurrencyRow } from './queries.ts';
import { isStale, providerOf } from './rate-source.ts';
import { createCurrencyBody, currencyResource, patchCurrencyBody } from './schema.ts';

/** What the endpoints of currencies need besides the platform. */
export interface CurrencyDeps {
  urls: FxUrls;
  notifications: Notifications;
  /** Forgets what this process knows of a tenant's currencies; called after the commit. */
  capabilities: Pick<TenantCapabilityCache, 'evict'>;
}

const FIXED_FIELDS = new Set(['code', 'is_base', 'rate_source', 'rate_ts', 'is_rate_stale']);

/** The tenant's catalogue of currencies (spec part 4). */
export function currencyEndpoints(platform: Platform, deps: CurrencyDeps): AnyEndpoint[] {
  const path = '/v1/currencies';
  const readOne = async (tx: Tx, tenant_id: string, code: string) => {
    const now_ms = platform.clock.now_ms();
    const rows = await selectRatedCurrencies(tx, tenant_id, now_ms, code);
    return shownOf(rows, deps.urls, now_ms).find((one) => one.code === code);
  };
  const write = { mode: 'session', role: 'admin', scope: 'tenant' } as const;
  return [
    endpoint({
      method: 'GET',
      path,
      summary: "The tenant's currency catalogue: the base currency, then the others by code",
      access: { mode: 'session', role: 'viewer', scope: 'tenant' },
      response: z.array(currencyResource),
      handle: async ({ caller: { tenant_id } }) => {
        const now_ms = platform.clock.now_ms();
        const rows = await platform.postgres.readAsTenant(tenant_id, (tx) =>
          selectRatedCurrencies(tx, tenant_id, now_ms),
        );
        return envelope(shownOf(rows, deps.urls, now_ms));
      },
    }),
    endpoint({
      method: 'POST',
      path,
      summary: 'Adds a currency to the catalogue; intake takes events in it within 30 s',
      audit: { resource: 'currency', action: 'create' },
      access: write,
      body: createCurrencyBody,
      status: 201,
      response: currencyResource,
      idempotent: true,
      errors: ['CONFLICT'],
      handle: async ({ caller: { tenant_id }, body, once, audit }) => {
        const answer = await once(tenant_id, async (tx) => {
          await createCurrency({ ...deps, audit }, tx, tenant_id, body);
          return envelope(await readOne(tx, tenant_id, body.code));
        });
        deps.capabilities.evict(tenant_id);
        return answer;
      },
    }),
    endpoint({
      method: 'PATCH',
      path: `${path}/:code`,
      summary:
        'Changes a currency; `scale` is fixed once the ledger has an amount in it, and that of the base currency always',
      audit: { resource: 'currency', action: 'update' },
      access: write,
      body: patchCurrencyBody,
      refuse: refuseUnwritable(FIXED_FIELDS),
      response: currencyResource,
      errors: ['CURRENCY_NOT_FOUND', 'CONFLICT', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller: { tenant_id }, params, body, audit }) => {
        const code = params['code'] ?? '';
        const shown = await platform.postgres.asTenant(tenant_id, async (tx) => {
          await changeCurrency({ ...deps, audit }, tx, tenant_id, { code, patch: body });
          return readOne(tx, tenant_id, code);
        });
        deps.capabilities.evict(tenant_id);
        return envelope(shown);
      },
    }),
  ];
}

/** Rows of the catalogue as the API shows them; the base currency comes first. */
function shownOf(
  rows: readonly RatedCurrencyRow[],
  urls: FxUrls,
  now_ms: number,
): z.infer<typeof currencyResource>[] {
  const base = rows[0];
  if (base === undefined) return [];
  return rows.map(({ source, rate_ts_ms, ...shown }) => {
    if (shown.is_base) return { ...shown, rate_source: 'identity', rate_ts: null, is_rate_stale: false };
    if (source === null || rate_ts_ms === null)
      return { ...shown, rate_source: providerOf(shown, base, urls), rate_ts: null, is_rate_stale: false };
    const ts_ms = Number(rate_ts_ms);
    return {
      ...shown,
      rate_source: source,
      rate_ts: new Date(ts_ms).toISOString(),
      is_rate_stale: isStale(source, ts_ms, now_ms),
    };
  });
}
