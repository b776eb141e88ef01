import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiKeys } from '../../src/http/auth/authenticators.ts';
import { userHashOf } from '../../src/http/auth/client-secret.ts';
import { KeyUses, keyUsesWriter } from '../../src/http/auth/key-uses.ts';
import { KEY_CLIENTS, keyClientOf } from '../../src/http/auth/key-clients.ts';
import type { EncryptionKeys } from '../../src/platform/encryption.ts';
import { reencryptClientSecrets } from '../../src/tenants/api-keys/reencrypt.ts';
import { originFault } from '../../src/tenants/api-keys/schema.ts';
import type { Fixture, Tenant } from '../http/api-fixture.ts';
import { sharedFixture } from '../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

const path = () => `/v1/projects/${tenant.project_id}/api-keys`;
const create = (body: unknown) => fixture.as(tenant.session, path(), { method: 'POST', body });
const patch = (id: string, body: unknown) =>
  fixture.as(tenant.session, `${path()}/${id}`, { method: 'PATCH', body });
const listed = async (id: string) => {
  const { body } = await fixture.as(tenant.session, `${path()}?limit=200`);
  return (body.data as unknown as Record<string, unknown>[]).find((one) => one['id'] === id);
};
const in_an_hour = () => new Date(Date.now() + 3_600_000).toISOString();

/** The check of keys of another process, with a clock of its own. */
function otherProcess(now_ms: () => number, credentials_keys = fixture.deps.credentials_keys) {
  const { config, platform, deps } = fixture;
  const { logger, metrics, rateLimiter } = platform;
  return openApiKeys({
    config,
    clock: { now_ms },
    logger,
    metrics,
    rateLimiter,
    sql: platform.postgres.service,
    notifications: deps.notifications,
    credentials_keys,
  });
}

test('a client key is created with its origins, and its secret is shown once', async () => {
  const allowed_origins = ['https://casino.example', 'http://localhost:5173', 'capacitor://localhost'];
  const answer = await create({ name: 'page', kind: 'client', allowed_origins, expires_at: in_an_hour() });
  expect(answer.status, answer.text).toBe(201);
  const { id, key, client_secret, ...shown } = answer.body.data as Record<string, string>;
  expect(shown).toMatchObject({ kind: 'client', allowed_origins });
  expect(client_secret).toMatch(/^svc_cs_[A-Za-z0-9_-]{44}$/);
  const list = await fixture.as(tenant.session, path());
  expect(list.text).not.toContain(client_secret);
  expect(await listed(id ?? '')).toMatchObject({ kind: 'client', allowed_origins, last_used_by: [] });
  const [row] = await fixture.platform.postgres.service<{ client_secret: Buffer; audit: string }[]>`
    select client_secret, (select string_agg(after::text, '') from audit_log where resource_id = ${id ?? ''}) as audit
    from api_keys where key_id = ${id ?? ''}`;
  expect(row?.client_secret.toString('latin1')).not.toContain(client_secret);
  expect(row?.audit).not.toContain(client_secret);

  const principal = await fixture.auth.api_keys.authenticate(`Bearer ${key}`, { ip: '127.0.0.1' });
  expect(principal).toMatchObject({ kind: 'client', allowed_origins });
  expect(JSON.stringify(principal)).not.toContain(client_secret);
  const hash = createHmac('sha256', client_secret ?? '')
    .update('user-1')
    .digest('hex');
  expect(principal.provesUser('user-1', hash)).toBe(true);
  for (const bad of [undefined, '', hash.toUpperCase(), `${hash}0`, hash.slice(1), 'ü'.repeat(32)])
    expect(principal.provesUser('user-1', bad), bad).toBe(false);
  expect(principal.provesUser('user-2', hash)).toBe(false);
});

test('a key without a kind is a server key, which proves nobody', async () => {
  const { body } = await create({ name: 'server' });
  expect(Object.keys(body.data).sort()).toEqual(['created_at', 'id', 'key', 'name', 'prefix']);
  expect(await listed(String(body.data['id']))).toMatchObject({
    kind: 'server',
    allowed_origins: [],
    expires_at: null,
    last_used_by: [],
  });
  const header = `Bearer ${String(body.data['key'])}`;
  const principal = await fixture.auth.api_keys.authenticate(header, { ip: '127.0.0.1' });
  expect([principal.kind, principal.provesUser('a', 'b')]).toEqual(['server', false]);
});

test.each(['server', 'client'])('two %s keys work side by side until one is revoked', async (kind) => {
  const [old, next] = [await create({ name: 'old', kind }), await create({ name: 'new', kind })];
  expect([old.status, next.status]).toEqual([201, 201]);
  const me = async (one: typeof old) => (await fixture.as(String(one.body.data['key']), '/v1/me')).status;
  expect([await me(old), await me(next)]).toEqual([200, 200]);
  await fixture.as(tenant.session, `${path()}/${String(old.body.data['id'])}`, { method: 'DELETE' });
  expect([await me(old), await me(next)]).toEqual([401, 200]);
});

test.each([
  { kind: 'browser' },
  { kind: 'client', allowed_origins: 'https://a.example' },
  { kind: 'client', allowed_origins: ['*'] },
  { kind: 'client', allowed_origins: ['null'] },
  { kind: 'client', allowed_origins: ['https://a.example/'] },
  { kind: 'client', allowed_origins: Array.from({ length: 51 }, (_, i) => `https://a${i}.example`) },
  { kind: 'server', allowed_origins: ['https://a.example'] },
  { allowed_origins: ['https://a.example'] },
  { expires_at: '2020-01-01T00:00:00Z' },
  { expires_at: 'tomorrow' },
  { client_secret: 'mine' },
])('%j is refused', async (body) => {
  const answer = await create({ name: 'x', ...body });
  expect([answer.status, answer.body.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
});

test('an origin is scheme, host and port as a browser sends them', () => {
  const good = [
    'https://a.example',
    'http://127.0.0.1:8080',
    'https://xn--bcher-kva.example',
    'ionic://localhost',
  ];
  for (const origin of good) expect(originFault(origin), origin).toBeUndefined();
  const bad = [
    'a.example',
    'https://A.example',
    'https://a.example:443',
    'https://a.example/path',
    'https://user@a.example',
    'https://*.a.example',
    'https://bücher.example',
    'https://a.example, https://b.example',
    'javascript:alert(1)',
    'file:///x',
    'file://x',
    'null',
    '',
  ];
  for (const origin of bad) expect(originFault(origin), origin).toBeTypeOf('string');
});

describe('a change', () => {
  test('of name, origins and end applies at once, in every process', async () => {
    const { body } = await create({ name: 'page', kind: 'client' });
    const id = String(body.data['id']);
    const from = { ip: '127.0.0.1' };
    const header = `Bearer ${String(body.data['key'])}`;
    const elsewhere = await otherProcess(() => Date.now());
    for (const keys of [fixture.auth.api_keys, elsewhere])
      expect((await keys.authenticate(header, from)).allowed_origins).toEqual([]);
    const expires_at = in_an_hour();
    const allowed_origins = ['https://b.example'];
    const answer = await patch(id, { name: 'renamed', allowed_origins, expires_at });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.data).toMatchObject({ name: 'renamed', allowed_origins, expires_at, kind: 'client' });
    expect((await fixture.auth.api_keys.authenticate(header, from)).allowed_origins).toEqual(allowed_origins);
    await expect
      .poll(async () => (await elsewhere.authenticate(header, from)).allowed_origins)
      .toEqual(allowed_origins);
    expect((await patch(id, { expires_at: null })).body.data).toMatchObject({
      expires_at: null,
      allowed_origins,
    });
  });

  test('of a revoked, unknown or foreign key is 404, and what is not valid is 422', async () => {
    const { body } = await create({ name: 'x' });
    const id = String(body.data['id']);
    for (const bad of [
      { allowed_origins: ['https://a.example'] },
      { expires_at: '2020-01-01T00:00:00Z' },
      { kind: 'client' },
    ])
      expect((await patch(id, bad)).status, JSON.stringify(bad)).toBe(422);
    const other = await fixture.makeTenant();
    const foreign = `/v1/projects/${other.project_id}/api-keys/${id}`;
    const request = { method: 'PATCH', body: { name: 'y' } };
    expect((await fixture.as(other.session, foreign, request)).body.error.code).toBe('API_KEY_NOT_FOUND');
    expect((await patch('x', { name: 'y' })).body.error.code).toBe('API_KEY_NOT_FOUND');
    await fixture.as(tenant.session, `${path()}/${id}`, { method: 'DELETE' });
    expect((await patch(id, { name: 'y' })).body.error.code).toBe('API_KEY_NOT_FOUND');
  });
});

test('a key is refused from its end on, also while it is cached', async () => {
  let now_ms = Date.now();
  const keys = await otherProcess(() => now_ms);
  const expires_at = in_an_hour();
  const { body } = await create({ name: 'x', expires_at });
  const header = `Bearer ${String(body.data['key'])}`;
  const from = { ip: '127.0.0.1' };
  now_ms = Date.parse(expires_at) - 1;
  await keys.authenticate(header, from);
  expect(keys.authenticate(header, from)).not.toBeInstanceOf(Promise);
  now_ms++;
  expect(() => keys.authenticate(header, from)).toThrow(expect.objectContaining({ code: 'UNAUTHORIZED' }));
  // Not cached yet.
  const fresh = await otherProcess(() => now_ms);
  await expect(Promise.resolve(fresh.authenticate(header, from))).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
  });
});

test('client secrets take part in the rotation of CREDENTIALS_KEY', async () => {
  const { body } = await create({ name: 'page', kind: 'client' });
  const { key, client_secret } = body.data as Record<string, string>;
  const hash = userHashOf(client_secret ?? '', 'user-1');
  const { credentials_keys } = fixture.deps;
  const provenBy = async (keys: EncryptionKeys) => {
    const checks = await otherProcess(() => Date.now(), keys);
    const principal = await checks.authenticate(`Bearer ${key}`, { ip: '127.0.0.1' });
    return principal.provesUser('user-1', hash);
  };
  const next = { current: 'bb'.repeat(32), previous: credentials_keys.current };
  const only = { current: next.current, previous: undefined };
  expect([await provenBy(credentials_keys), await provenBy(next), await provenBy(only)]).toEqual([
    true,
    true,
    false,
  ]);
  const sql = fixture.platform.postgres.service;
  const first = await reencryptClientSecrets(sql, next);
  expect(first.unreadable).toBe(0);
  expect(first.reencrypted).toBeGreaterThanOrEqual(1);
  expect(await reencryptClientSecrets(sql, next)).toEqual({ reencrypted: 0, unreadable: 0 });
  expect([await provenBy(only), await provenBy(credentials_keys)]).toEqual([true, false]);
  const back = { current: credentials_keys.current, previous: next.current };
  expect(await reencryptClientSecrets(sql, back)).toEqual(first);
});

describe('the last use', () => {
  test('is kept per kind of client, and none goes back', async () => {
    const { body } = await create({ name: 'used' });
    const key_id = String(body.data['id']);
    const { platform } = fixture;
    let now_ms = 1_000;
    const uses = new KeyUses({
      clock: { now_ms: () => now_ms },
      logger: platform.logger,
      write: keyUsesWriter(platform.postgres.service),
    });
    const key = { tenant_id: tenant.tenant_id, key_id };
    uses.note(key, 'browser');
    now_ms = 2_000;
    uses.note(key, 'sdk');
    await uses.flush();
    const at = (ms: number) => new Date(ms).toISOString();
    expect(await listed(key_id)).toMatchObject({
      last_used_at: at(2_000),
      last_used_by: [
        { client: 'sdk', last_used_at: at(2_000) },
        { client: 'browser', last_used_at: at(1_000) },
      ],
    });
    now_ms = 1_500;
    for (const client of KEY_CLIENTS) uses.note(key, client);
    await uses.close();
    const shown = (await listed(key_id))?.['last_used_by'] as { client: string; last_used_at: string }[];
    expect(shown.length).toBe(KEY_CLIENTS.length);
    expect(shown[0]).toEqual({ client: 'sdk', last_used_at: at(2_000) });
    expect((await listed(key_id))?.['last_used_at']).toBe(at(2_000));
  });

  test.each([
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36', undefined, 'browser'],
    ['Mozilla/5.0', 'analytics.js', 'segment_browser'],
    ['Mozilla/5.0', '@segment/analytics-next', 'segment_browser'],
    ['node', '@segment/analytics-node', 'segment_server'],
    ['python-requests/2', 'analytics-python', 'segment_server'],
    ['okhttp/4', 'analytics-java', 'segment_server'],
    ['node', '@rudderstack/rudder-sdk-node', 'rudderstack'],
    ['python', 'rudder-analytics-python', 'rudderstack'],
    ['player-engagement-client/1.0', undefined, 'sdk'],
    ['okhttp/4.12.0', undefined, 'app'],
    ['Casino/1 CFNetwork/1410 Darwin/22', undefined, 'app'],
    ['curl/8', undefined, 'other'],
    [undefined, undefined, 'other'],
    ['x'.repeat(10_000), 'y'.repeat(10_000), 'other'],
  ])('User-Agent %s with the library %s is %s', (user_agent, library, client) => {
    expect(keyClientOf({ user_agent, library })).toBe(client);
  });
});
