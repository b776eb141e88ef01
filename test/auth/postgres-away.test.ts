import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readMetric } from '../crash/probe.ts';
import type { TestTenant } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { startProxiedService, type ProxiedService } from './proxied-service.ts';

/** A request waits for a second at most, for the key and for the tenant each; a loaded machine adds to that. */
const NOT_HELD_UP_MS = 9_000;

let service: ProxiedService;
let tenant: TestTenant;

beforeAll(async () => {
  service = await startProxiedService();
});
afterAll(() => service?.close());
beforeEach(async () => {
  tenant = await service.newTenant();
  expect((await event()).status).toBe(202);
});
afterEach(async () => {
  service.proxy.restore();
  await until(async (saw) => saw((await event((await service.newTenant()).api_key)).status) === 202);
});

const event = (key = tenant.api_key) => service.event(key);
const timed = async (key = tenant.api_key) => {
  const started_ms = performance.now();
  const { status, body } = await event(key);
  return { status, code: body.error?.code, took_ms: performance.now() - started_ms };
};
const keyId = async () => {
  const [row] = await service.direct.service<{ key_id: string; public_id: string }[]>`
    select key_id, public_id from api_keys where tenant_id = ${tenant.tenant_id}`;
  if (row === undefined) throw new Error('the tenant has a key');
  return row;
};
const unknownKey = () =>
  `svc_pk_dev_${randomUUID().slice(0, 8)}_${randomUUID().replaceAll('-', '')}${'x'.repeat(12)}`;

test('keys and configurations that were known before stay usable for 15 minutes; others are answered with 503', async () => {
  const stale_before = (await readMetric(service.base_url, 'stale_answers_total')) ?? 0;
  const { api_key: unseen } = await service.newTenant();
  service.proxy.refuse();
  for (let minute = 2; minute <= 14; minute += 4) {
    service.advance(4 * 60_000 - 30_000);
    const answers = await Promise.all([timed(), timed(), timed()]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(Math.max(...answers.map(({ took_ms }) => took_ms))).toBeLessThan(NOT_HELD_UP_MS);
  }
  expect(await readMetric(service.base_url, 'stale_answers_total')).toBeGreaterThan(stale_before);
  for (const key of [unseen, unknownKey()]) {
    const answer = await event(key);
    expect([answer.status, answer.body.error?.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  }
  service.advance(60_000 + 1);
  expect((await event()).status).toBe(503);
});

test('a Postgres that loses packets holds up nobody whose key is known', async () => {
  service.advance(61_000);
  service.proxy.hang();
  const first = await timed();
  expect(first.status).toBe(202);
  expect(first.took_ms).toBeLessThan(NOT_HELD_UP_MS);
  const next = await Promise.all(Array.from({ length: 20 }, () => timed()));
  expect(next.every(({ status, took_ms }) => status === 202 && took_ms < NOT_HELD_UP_MS)).toBe(true);
});

test('locked tables hold up nobody whose key is known', async () => {
  service.advance(61_000);
  await service.direct.service.begin(async (tx) => {
    await tx`lock table api_keys, tenants, tenant_configs, currencies in access exclusive mode`;
    const first = await timed();
    expect([first.status, first.took_ms < NOT_HELD_UP_MS]).toEqual([202, true]);
    const next = await Promise.all(Array.from({ length: 20 }, () => timed()));
    expect(next.every(({ status, took_ms }) => status === 202 && took_ms < NOT_HELD_UP_MS)).toBe(true);
    expect(await timed(unknownKey())).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' });
  });
});

test('a key revoked during the outage is refused once Postgres is back', async () => {
  const { key_id } = await keyId();
  service.proxy.refuse();
  // Without a notification that this service could receive.
  await service.direct.service`update api_keys set deleted_at = now() where key_id = ${key_id}`;
  expect((await event()).status).toBe(202);
  service.proxy.restore();
  await until(async (saw) => saw((await event()).status) === 401);
});

test('a key whose revocation was heard is not accepted again while Postgres is away', async () => {
  const { key_id, public_id } = await keyId();
  await service.direct.service`update api_keys set deleted_at = now() where key_id = ${key_id}`;
  await service.direct.service`select pg_notify('api_keys_changed', ${public_id})`;
  const { api_key: bystander } = await service.newTenant();
  expect((await event(bystander)).status).toBe(202);
  service.proxy.refuse();
  service.advance(61_000);
  await until(async (saw) => saw((await event()).status) === 503 || saw((await event()).status) === 401);
  expect((await event(bystander)).status).toBe(202);
});
