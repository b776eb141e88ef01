import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readMetric } from '../../crash/probe.ts';
import type { TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { guess } from './guess.ts';
import { startProxiedService, type ProxiedService } from './proxied-service.ts';

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
const keyId = async () => {
  const [row] = await service.direct.service<{ key_id: string; public_id: string }[]>`
    select key_id, public_id from api_keys where tenant_id = ${tenant.tenant_id}`;
  if (row === undefined) throw new Error('the tenant has a key');
  return row;
};

test('keys and configurations that were known before stay usable for 15 minutes; others are answered with 503', async () => {
  const stale_before = (await readMetric(service.base_url, 'stale_answers_total')) ?? 0;
  const { api_key: unseen } = await service.newTenant();
  service.proxy.refuse();
  for (let minute = 2; minute <= 14; minute += 4) {
    service.advance(4 * 60_000 - 30_000);
    const answers = await Promise.all([event(), event(), event()]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
  }
  expect(await readMetric(service.base_url, 'stale_answers_total')).toBeGreaterThan(stale_before);
  for (const key of [unseen, guess()]) {
    const answer = await event(key);
    expect([answer.status, answer.body.error?.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  }
  service.advance(60_000 + 1);
  expect((await event()).status).toBe(503);
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
