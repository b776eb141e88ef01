import { afterAll, beforeAll, expect, it } from 'vitest';
import { internally } from '../../engines/http-client.ts';
import { startTestService, type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient } from '../../engage/messaging/messaging-client.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());

interface System {
  engines: { name: string; status: string; version: string | null }[];
  versions: Record<string, string>;
  time_zones: { release: string; is_old: boolean };
  consumers: { name: string; events_behind: number | null }[];
  queues: { name: string; items: number | null; oldest_at: string | null }[];
  jobs_given_up: { task: string; attempts: number; last_error: string | null }[];
  last_reconcile: { ended_at: string; differences: number } | null;
}
const system = async (tenant: TestTenant) =>
  (await messagingClient(service, tenant).api<System>('GET', '/v1/system')).data;

it('says which engines answer, in which version, and how far consumers are behind', async () => {
  const { engines, versions, time_zones, consumers, last_reconcile } = await system(service);
  expect(engines.map(({ name, status }) => [name, status])).toEqual([
    ['postgres', 'ok'],
    ['clickhouse', 'ok'],
    ['event_log', 'ok'],
  ]);
  for (const { version } of engines.slice(0, 2)) expect(version).toMatch(/^\d+\.\d+/);
  expect(versions).toEqual({ service: '0.1.0', node: process.versions.node });
  expect(time_zones).toEqual({
    release: expect.stringMatching(/^20\d\d[a-z]$/),
    is_old: expect.any(Boolean),
  });
  expect(consumers.map(({ events_behind }) => events_behind)).not.toContain(null);
  expect(last_reconcile).toBeNull();
});

it('counts what of the own tenant waits, and shows its jobs that were given up, never those of others', async () => {
  const [own, other] = [await service.newTenant(), await service.newTenant()];
  const sql = service.platform.postgres.service;
  const client = messagingClient(service, own);
  await sql`
    insert into fx_rates (tenant_id, base, quote, ts, rate) values (${own.tenant_id}, 'EUR', 'USD', 'epoch', 1)`;
  const [player_id = ''] = await client.players(1);
  // Nobody knows a rate, so the deposit waits for one.
  const deposit = { amount: 5, currency: 'SEK', transaction_id: 'waits', payment_method: 'card' };
  await client.event(player_id, 'deposit_confirmed', deposit);
  await until('the deposit is folded', async (saw) => {
    const { data } = saw(await client.api<unknown[]>('GET', `/v1/players/${player_id}/ledger`));
    return data.length === 1;
  });
  const payload = { tenant_id: own.tenant_id };
  await service.platform.jobs.add(sql, { task: 'no-such-task', payload, max_attempts: 3 });
  await sql.begin(async (tx) => {
    // The tables of the jobs are of the user that connects.
    await tx`set local role none`;
    await tx`
      update graphile_worker._private_jobs set attempts = 3, last_error = 'it broke' || chr(10) || 'at line 1'
      where payload ->> 'tenant_id' = ${own.tenant_id}`;
  });
  const mine = await system(own);
  const items = Object.fromEntries(mine.queues.map((one) => [one.name, one.items]));
  expect(items['pending-conversions']).toBe(1);
  expect(Object.values(items)).not.toContain(null);
  expect(mine.jobs_given_up).toMatchObject([{ task: 'no-such-task', attempts: 3, last_error: 'it broke' }]);
  const theirs = await system(other);
  expect(theirs.jobs_given_up).toEqual([]);
  expect(theirs.queues.map((one) => one.items)).toEqual(theirs.queues.map(() => 0));
});

it('has the time and the result of the last reconciliation of the tenant', async () => {
  const tenant = await service.newTenant();
  const { tenant_id } = tenant;
  const response = await internally(service, 'reconcile', { tenant_id });
  expect(response.status).toBe(200);
  expect((await system(tenant)).last_reconcile).toMatchObject({ differences: 0 });
});
