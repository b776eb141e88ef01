import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFixture, type Fixture } from './api-fixture.ts';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture({ RATE_IDENTIFY_PER_SECOND: '2', RATE_ADMIN_PER_SECOND: '3' });
});
afterAll(() => fixture.close());

test('identify has a rate per API key', async () => {
  const [tenant, other] = [await fixture.makeTenant(), await fixture.makeTenant()];
  const send = (key: string) =>
    fixture.as(key, '/v1/players/identify', { method: 'POST', body: { external_id: 'e' } });
  // So many at once that the machine cannot be so slow that the bucket is refilled between them.
  const answers = await Promise.all(Array.from({ length: 30 }, () => send(tenant.api_key)));
  const allowed = answers.filter(({ status }) => status === 200);
  expect(allowed.length).toBeGreaterThanOrEqual(2);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.body.error.code).toBe('RATE_LIMITED');
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect((await send(other.api_key)).status).toBe(200);
  expect((await fixture.as(tenant.api_key, '/v1/me')).status).toBe(200);
});

test('admin endpoints have a rate per session', async () => {
  const tenant = await fixture.makeTenant();
  const other = await fixture.member(tenant.tenant_id, 'viewer');
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => fixture.as(tenant.session, '/v1/players')),
  );
  const allowed = answers.filter(({ status }) => status === 200);
  expect(allowed.length).toBeGreaterThan(0);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.body.error.code).toBe('RATE_LIMITED');
  expect(refused?.headers.get('retry-after')).toBe('1');
  expect((await fixture.as(other, '/v1/players')).status).toBe(200);
});
