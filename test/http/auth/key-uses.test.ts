import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KeyUses, keyUsesWriter } from '../../../src/http/auth/key-uses.ts';
import type { KeyUse } from '../../../src/http/auth/queries.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { messagingClient } from '../../engage/messaging/messaging-client.ts';
import { startTestService, type TestService, type TestTenant } from '../../engines/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

/** When the keys of the tenant were used last, as its admins see it, by name. */
async function shownOf(tenant: TestTenant): Promise<Record<string, string | null>> {
  await service.service.key_uses?.flush();
  const path = `/v1/projects/${tenant.project_id}/api-keys`;
  const { data } = await messagingClient(service, tenant).api<
    { name: string; last_used_at: string | null }[]
  >('GET', path);
  return Object.fromEntries(data.map(({ name, last_used_at }) => [name, last_used_at]));
}

const header = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });
const onBase = (key: string) => fetch(`${service.base_url}/v1/me`, { headers: header(key) });
const onIntake = (key: string) =>
  fetch(`${service.ingest_url}/v1/events`, { method: 'POST', headers: header(key), body: '{}' });

test.each([
  ['base API', onBase],
  ['ingestion API', onIntake],
])('a request of the %s is seen as a use of its key, and of no other', async (_host, request) => {
  const tenant = await service.newTenant();
  const path = `/v1/projects/${tenant.project_id}/api-keys`;
  const { data } = await messagingClient(service, tenant).api('POST', path, { name: 'other' });
  const refused = `${String(data['key']).slice(0, -4)}AAAA`;
  expect((await request(refused)).status).toBe(401);
  const before_ms = Date.now();
  expect((await request(tenant.api_key)).status).not.toBe(401);
  await expect.poll(async () => (await shownOf(tenant))['test']).not.toBeNull();
  const shown = await shownOf(tenant);
  expect(Date.parse(shown['test'] ?? '')).toBeGreaterThanOrEqual(before_ms);
  expect(shown['other']).toBeNull();
});

describe('what is written', () => {
  const logger = createLogger('silent');
  const keyOf = async ({ tenant_id }: TestTenant) => {
    const [row] = await service.platform.postgres.service<{ key_id: string }[]>`
      select key_id from api_keys where tenant_id = ${tenant_id}`;
    return { tenant_id, key_id: row?.key_id ?? '' };
  };

  test('never goes back, and not to the key of another tenant', async () => {
    const tenant = await service.newTenant();
    const other = await service.newTenant();
    const key = await keyOf(tenant);
    const write = keyUsesWriter(service.platform.postgres.service);
    await write([{ ...key, at_ms: 2_000 }]);
    await write([{ ...key, at_ms: 1_000 }]);
    expect((await shownOf(tenant))['test']).toBe('1970-01-01T00:00:02.000Z');
    await write([{ tenant_id: other.tenant_id, key_id: key.key_id, at_ms: 3_000 }]);
    await write([{ ...key, key_id: newId(), at_ms: 3_000 }]);
    expect((await shownOf(tenant))['test']).toBe('1970-01-01T00:00:02.000Z');
    expect((await shownOf(other))['test']).toBeNull();
  });

  test('is kept when it fails, and written with what comes meanwhile, once', async () => {
    let now_ms = 1;
    let fails = true;
    const written: KeyUse[][] = [];
    const uses = new KeyUses({
      clock: { now_ms: () => now_ms },
      logger,
      write: (lot) => {
        if (fails) return Promise.reject(new Error('Postgres is away'));
        written.push([...lot]);
        return Promise.resolve();
      },
    });
    const [a, b] = [
      { tenant_id: 't', key_id: 'a' },
      { tenant_id: 't', key_id: 'b' },
    ];
    uses.note(a);
    await uses.flush();
    fails = false;
    now_ms = 2;
    uses.note(a);
    uses.note(b);
    await Promise.all([uses.flush(), uses.flush()]);
    expect(written).toEqual([
      [
        { ...a, at_ms: 2 },
        { ...b, at_ms: 2 },
      ],
    ]);
    await uses.flush();
    expect(written.length).toBe(1);
    now_ms = 3;
    uses.note(b);
    await uses.close();
    expect(written[1]).toEqual([{ ...b, at_ms: 3 }]);
  });

  test('is written again and again', async () => {
    const written: string[] = [];
    const uses = new KeyUses({
      clock: { now_ms: () => 1 },
      logger,
      write: (lot) => {
        written.push(...lot.map(({ key_id }) => key_id));
        return Promise.resolve();
      },
      every_ms: 1,
    }).start();
    uses.note({ tenant_id: 't', key_id: 'a' });
    await expect.poll(() => written).toEqual(['a']);
    uses.note({ tenant_id: 't', key_id: 'b' });
    await expect.poll(() => written).toEqual(['a', 'b']);
    await uses.close();
  });

  test('a use while it is written is written the next time', async () => {
    let now_ms = 1;
    const written: KeyUse[] = [];
    const key = { tenant_id: 't', key_id: 'a' };
    const uses: KeyUses = new KeyUses({
      clock: { now_ms: () => now_ms },
      logger,
      write: (lot) => {
        written.push(...lot);
        if (now_ms === 1) {
          now_ms = 2;
          uses.note(key);
        }
        return Promise.resolve();
      },
    });
    uses.note(key);
    await uses.flush();
    await uses.flush();
    expect(written.map(({ at_ms }) => at_ms)).toEqual([1, 2]);
  });

  test('has at most 5,000 keys a statement, and 50,000 wait', async () => {
    const sizes: number[] = [];
    const uses = new KeyUses({
      clock: { now_ms: () => 1 },
      logger,
      write: (lot) => {
        sizes.push(lot.length);
        return Promise.resolve();
      },
    });
    for (let i = 0; i < 50_001; i++) uses.note({ tenant_id: 't', key_id: String(i) });
    for (let i = 0; i < 11; i++) await uses.flush();
    expect(sizes).toEqual(Array<number>(10).fill(5_000));
  });

  test('waits at most a second for a key that somebody has locked', async () => {
    const tenant = await service.newTenant();
    const key = await keyOf(tenant);
    const { service: sql } = service.platform.postgres;
    await sql.begin(async (tx) => {
      await tx`select from api_keys where tenant_id = ${key.tenant_id} and key_id = ${key.key_id} for update`;
      await expect(keyUsesWriter(sql)([{ ...key, at_ms: 1 }])).rejects.toMatchObject({ code: '55P03' });
      // Requests with the key go on meanwhile.
      expect((await onBase(tenant.api_key)).status).toBe(200);
    });
    await expect.poll(async () => (await shownOf(tenant))['test']).not.toBeNull();
  });
});
