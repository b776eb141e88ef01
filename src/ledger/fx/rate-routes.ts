import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { listOf } from '../../http/keyset-page.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { createManualRate } from './manual-rate.ts';
import { listRates, type StoredRate } from './queries.ts';
import { createRateBody, listRatesQuery, storedRate, type ListRatesQuery } from './schema.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
}

/** The history of rates, and rates that the tenant sets itself. */
export function rateEndpoints(deps: Deps): AnyEndpoint[] {
  const path = '/v1/currencies/rates';
  return [
    endpoint({
      method: 'GET',
      path,
      summary: 'The stored rates of a pair, from providers and manual, the latest first',
      access: { mode: 'session', role: 'viewer', scope: 'tenant' },
      query: listRatesQuery,
      response: z.array(storedRate),
      shape: 'list',
      handle: ({ caller, query }) => ratePage(deps, caller.tenant_id, query),
    }),
    endpoint({
      method: 'POST',
      path,
      summary:
        'Sets a rate that holds from `ts`, else from now on, until a later rate of the pair; events since then are restated',
      audit: { resource: 'fx_rates', action: 'create' },
      access: { mode: 'session', role: 'admin', scope: 'tenant' },
      body: createRateBody,
      status: 201,
      response: storedRate,
      idempotent: true,
      errors: ['CONFLICT'],
      handle: ({ caller: { tenant_id }, body, once, audit }) =>
        once(tenant_id, async (tx) =>
          envelope(rateOf(await createManualRate({ ...deps, audit }, tx, tenant_id, body))),
        ),
    }),
  ];
}

function rateOf({ base, quote, rate, ts_ms, source }: StoredRate) {
  return { base, quote, rate, ts: new Date(Number(ts_ms)).toISOString(), source };
}

function ratePage({ postgres }: Deps, tenant_id: string, query: ListRatesQuery): Promise<string> {
  return listOf(postgres, { tenant_id }, query, {
    kind: 'fx-rates',
    shape: [(text: string) => /^-?\d{1,15}$/.test(text)],
    select: (tx, after, limit, pair) => listRates(tx, tenant_id, pair, after?.[0], limit),
    positionOf: ({ ts_ms }) => [ts_ms],
    show: rateOf,
  });
}
