import fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { endpoint, type AnyEndpoint, type Once } from '../../src/http/endpoint.ts';
import { envelope } from '../../src/http/envelope.ts';
import { installErrorHandling } from '../../src/http/error-handler.ts';
import { installJsonBody } from '../../src/http/json-body.ts';
import { registerEndpoints } from '../../src/http/register.ts';
import { serverOptions } from '../../src/http/server-options.ts';
import { newId } from '../../src/platform/ids.ts';
import type { Db, Tx } from '../../src/platform/postgres/port.ts';
import { retryConflicts } from '../../src/platform/postgres/retry.ts';
import type { Fixture, Tenant } from './api-fixture.ts';

/** An event inside the order's transaction, after its row is written: it may wait, throw or break the connection. */
export type Trouble = (tx: Tx) => Promise<unknown>;

/** One answer; `replayed` is its Idempotent-Replayed header. */
export interface OrderAnswer {
  status: number;
  text: string;
  code: string | undefined;
  replayed: unknown;
  retry_after: unknown;
}

interface Order {
  key?: string | undefined;
  body?: unknown;
  /** The shop id in the path. */
  shop?: string;
  path?: string;
  headers?: Record<string, string>;
}

/** An API with test endpoints that take an Idempotency-Key and write a row. */
export interface Shop {
  endpoints: AnyEndpoint[];
  /** Troubles queued per item; each order of the item takes one. */
  troubles: Map<string, Trouble[]>;
  /** Milliseconds by which the clock of the keys is ahead. */
  clock: { ahead_ms: number };
  order(who: Pick<Tenant, 'session'>, order: Order): Promise<OrderAnswer>;
  /** The number of orders of the item. */
  count(item: string, tenant_id?: string): Promise<number>;
  /** The number of stored answers of the tenant. */
  remembered(tenant_id: string): Promise<number>;
  close(): Promise<void>;
}

/** Runs statements as the owner of the database. */
export function asOwner<T>(sql: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return sql.begin(async (tx) => {
    await tx`set local role none`;
    return work(tx);
  }) as Promise<T>;
}

/** Ends the session of the transaction, as a crash of the service or of Postgres does. */
export function endSession(sql: Db): Trouble {
  return async (tx) => {
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
    await asOwner(sql, (owner) => owner`select pg_terminate_backend(${row?.pid ?? 0}, 5000)`);
  };
}

export async function openShop(fixture: Fixture): Promise<Shop> {
  const { platform, deps, config } = fixture;
  const sql = platform.postgres.service;
  await asOwner(sql, async (tx) => {
    await tx`create table test_orders (
      tenant_id uuid not null, order_id uuid not null, shop text not null, item text not null,
      primary key (tenant_id, order_id))`;
    await tx`call protect_tenant_table('test_orders')`;
  });
  const clock = { ahead_ms: 0 };
  const troubles = new Map<string, Trouble[]>();
  const place = (once: Once, tenant_id: string, shop: string, item: string) =>
    retryConflicts(() =>
      once(tenant_id, async (tx) => {
        const order_id = newId();
        await tx`insert into test_orders ${tx({ tenant_id, order_id, shop, item })}`;
        await troubles.get(item)?.shift()?.(tx);
        return envelope({ order_id, item });
      }),
    );
  const endpoints = orderEndpoints(place);
  const app = appOf(fixture, endpoints, () => platform.clock.now_ms() + clock.ahead_ms);
  return {
    endpoints,
    troubles,
    clock,
    async order({ session }, { key, body = { item: 'tea' }, shop = 'corner', path = '/orders', headers }) {
      const response = await app.inject({
        method: 'POST',
        url: `/v1/test/shops/${shop}${path}`,
        headers: {
          authorization: `Bearer ${session}`,
          'x-internal-secret': deps.auth.internal_secret,
          ...(key === undefined ? {} : { 'idempotency-key': key }),
          ...(body === null ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === null ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      return {
        status: response.statusCode,
        text: response.body,
        code: (JSON.parse(response.body) as { error?: { code: string } }).error?.code,
        replayed: response.headers['idempotent-replayed'],
        retry_after: response.headers['retry-after'],
      };
    },
    async count(item, tenant_id) {
      const whose = tenant_id === undefined ? sql`` : sql`and tenant_id = ${tenant_id}`;
      return (await sql`select from test_orders where item = ${item} ${whose}`).length;
    },
    async remembered(tenant_id) {
      return (await sql`select from idempotency_keys where tenant_id = ${tenant_id}`).length;
    },
    close: () => app.close(),
  };

  function appOf({ auth }: Fixture, served: AnyEndpoint[], now_ms: () => number): FastifyInstance {
    const app = fastify(serverOptions(platform.logger));
    installErrorHandling(app, platform.logger);
    installJsonBody(app);
    registerEndpoints(app, served, {
      auth,
      rate_limiter: platform.rateLimiter,
      rates: config.rates,
      idempotency: { postgres: platform.postgres, clock: { now_ms } },
      writeAuditRows: () => Promise.resolve(),
    });
    return app;
  }
}

type Place = (once: Once, tenant_id: string, shop: string, item: string) => ReturnType<Once>;

function orderEndpoints(place: Place): AnyEndpoint[] {
  const session = { mode: 'session', role: 'viewer', scope: 'project' } as const;
  const response = z.object({ order_id: z.uuid(), item: z.string() });
  const item = z.string().min(1);
  const shared = {
    method: 'POST',
    response,
    status: 201,
    errors: [],
    idempotent: true,
    audit: { none: 'orders of a test' },
  } as const;
  return [
    endpoint({
      ...shared,
      path: '/v1/test/shops/:id/orders',
      summary: 'Orders what the body names',
      access: session,
      query: z.strictObject({ note: z.string().optional() }),
      body: z.strictObject({ item }),
      handle: ({ caller, params, body, once }) =>
        place(once, caller.tenant_id, params['id'] ?? '', body.item),
    }),
    endpoint({
      ...shared,
      path: '/v1/test/shops/:id/usual',
      summary: 'Orders what the shop is known for; without a body',
      access: session,
      status: 200,
      handle: ({ caller, params, once }) =>
        place(once, caller.tenant_id, params['id'] ?? '', `usual of ${params['id']}`),
    }),
    endpoint({
      ...shared,
      path: '/v1/test/shops/:id/internal-orders',
      summary: 'Orders for the tenant that the body names',
      access: { mode: 'internal' },
      body: z.strictObject({ item, tenant_id: z.guid() }),
      handle: ({ params, body, once }) => place(once, body.tenant_id, params['id'] ?? '', body.item),
    }),
    endpoint({
      method: 'POST',
      path: '/v1/test/shops/:id/plain',
      summary: 'Takes no Idempotency-Key',
      audit: { none: 'it does nothing' },
      access: session,
      status: 200,
      response: z.object({}),
      errors: [],
      handle: () => envelope({}),
    }),
  ];
}
