import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiKeys } from '../../src/http/auth/authenticators.ts';
import type { Answer } from '../engines/http-client.ts';
import type { Fixture, Tenant } from '../http/api-fixture.ts';
import { sharedFixture } from '../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

const path = (project_id = tenant.project_id) => `/v1/projects/${project_id}/api-keys`;
const create = (body: unknown, project_id?: string) =>
  fixture.as(tenant.session, path(project_id), { method: 'POST', body });
const me = (key: string) => fixture.as(key, '/v1/me');

async function newKey(): Promise<{ id: string; key: string }> {
  const { data } = (await create({ name: 'key' })).body;
  return { id: String(data['id']), key: String(data['key']) };
}

test('creation shows the key once, in the documented form', async () => {
  const answer = await create({ name: 'Platform' });
  expect(answer.status).toBe(201);
  const { id, name, prefix, key, created_at } = answer.body.data as Record<string, string>;
  expect(Object.keys(answer.body.data).sort()).toEqual(['created_at', 'id', 'key', 'name', 'prefix']);
  expect(key).toMatch(/^svc_pk_dev_[a-z0-9]{8}_[A-Za-z0-9_-]{44}$/);
  expect(prefix).toBe(key?.slice(0, 19));
  expect([name, new Date(created_at ?? '').toISOString()]).toEqual(['Platform', created_at]);
  const stored = await fixture.platform.postgres.service`select * from api_keys where key_id = ${id ?? ''}`;
  const row = JSON.stringify(stored[0], (_key, value: unknown) => (typeof value === 'bigint' ? 0 : value));
  expect(row).not.toContain(key?.slice(20));
  expect(Buffer.from(stored[0]?.['secret_hash'] as Buffer).length).toBe(32);
  const { body } = await me(key ?? '');
  expect(body.data).toEqual({
    tenant_id: tenant.tenant_id,
    project_id: tenant.project_id,
    environment: 'dev',
  });
});

test('an invalid body is 422 with the issues', async () => {
  const bad = [
    {},
    { name: '' },
    { name: 1 },
    { name: 'x', extra: 1 },
    { name: 'x', ingest_rate: { per_minute: 1 } },
    { name: 'x', ingest_rate: { per_minute: 0, burst: 1 } },
    { name: 'x', ingest_rate: { per_minute: 1.5, burst: 1 } },
    { name: 'a\u0000b' },
  ];
  for (const body of bad) {
    const answer = await create(body);
    expect([answer.status, answer.body.error.code], JSON.stringify(body)).toEqual([422, 'VALIDATION_ERROR']);
    expect(answer.body.error.details['issues']).not.toEqual([]);
  }
  expect((await create({ name: 'x', extra: 1 })).body.error.message).toContain('extra');
});

test('a project of another tenant and an unknown one are 404', async () => {
  const other = await fixture.makeTenant();
  for (const id of [other.project_id, '00000000-0000-4000-8000-000000000000', 'x', '%00']) {
    const answer = await create({ name: 'x' }, id);
    expect([answer.status, answer.body.error.code], id).toEqual([404, 'PROJECT_NOT_FOUND']);
  }
});

describe('the list', () => {
  const pageOf = async (session: string, query = '', project_id = tenant.project_id) => {
    const answer = await fixture.as(session, `${path(project_id)}${query}`);
    expect(answer.status, answer.text).toBe(200);
    return answer;
  };
  const idsOf = ({ body }: Answer) => (body.data as unknown as { id: string }[]).map(({ id }) => id);

  test('shows the name and prefix of each key, never its secret, newest first, in pages', async () => {
    const own = await fixture.makeTenant();
    const make = async (body: unknown) => {
      const request = { method: 'POST', body };
      return (await fixture.as(own.session, path(own.project_id), request)).body.data as Record<
        string,
        string
      >;
    };
    const slow = await make({ name: 'slow', ingest_rate: { per_minute: 60, burst: 5 } });
    const last = await make({ name: 'last' });
    const all = await pageOf(own.session, '', own.project_id);
    expect(all.body.meta).toEqual({ next_cursor: null });
    const keys = all.body.data as unknown as Record<string, unknown>[];
    const { key, ...shown } = slow;
    expect(keys.slice(1, 2)).toEqual([
      {
        ...shown,
        kind: 'server',
        allowed_origins: [],
        expires_at: null,
        ingest_rate: { per_minute: 60, burst: 5 },
        last_used_at: null,
        last_used_by: [],
        deleted_at: null,
      },
    ]);
    expect(keys.map(({ name }) => name)).toEqual(['last', 'slow', 'k']);
    const stored = await fixture.platform.postgres.service<{ secret_hash: Buffer }[]>`
      select secret_hash from api_keys where tenant_id = ${own.tenant_id}`;
    const secrets = [key, last['key'], own.api_key].map((text) => String(text).slice(20));
    secrets.push(
      ...stored.flatMap(({ secret_hash }) => [secret_hash.toString('hex'), secret_hash.toString('base64')]),
    );
    for (const secret of secrets) expect(all.text).not.toContain(secret);

    const found: string[] = [];
    let cursor: string | null | undefined;
    do {
      const query = `?limit=2${cursor === undefined ? '' : `&cursor=${cursor}`}`;
      const page = await pageOf(own.session, query, own.project_id);
      found.push(...idsOf(page));
      cursor = page.body.meta['next_cursor'] as string | null;
    } while (cursor !== null);
    expect(found).toEqual(idsOf(all));
    const first = await pageOf(own.session, '?limit=2', own.project_id);
    const foreign = `${path()}?limit=2&cursor=${String(first.body.meta['next_cursor'])}`;
    expect((await fixture.as(tenant.session, foreign)).status).toBe(422);
  });

  test('leaves out revoked keys, unless the status filter asks for them', async () => {
    const { id } = await newKey();
    const { id: kept } = await newKey();
    const before_ms = Date.now();
    await fixture.as(tenant.session, `${path()}/${id}`, { method: 'DELETE' });
    const live = idsOf(await pageOf(tenant.session, '?limit=200'));
    expect([live.includes(id), live.includes(kept)]).toEqual([false, true]);
    const revoked = await pageOf(tenant.session, '?limit=200&status=revoked');
    expect(idsOf(revoked)).toContain(id);
    expect(idsOf(revoked)).not.toContain(kept);
    const { deleted_at } = revoked.body.data[0] ?? {};
    expect(Date.parse(String(deleted_at))).toBeGreaterThanOrEqual(before_ms);
    for (const query of ['?status=all', '?limit=0', '?limit=201', '?cursor=x', '?more=1']) {
      expect((await fixture.as(tenant.session, path() + query)).status, query).toBe(422);
    }
  });
});

describe('revocation', () => {
  test('applies at once, also to a cached key', async () => {
    const { id, key } = await newKey();
    expect((await me(key)).status).toBe(200);
    const revoked = await fixture.as(tenant.session, `${path()}/${id}`, { method: 'DELETE' });
    expect(revoked.status).toBe(200);
    expect(Object.keys(revoked.body.data).sort()).toEqual([
      'created_at',
      'deleted_at',
      'id',
      'name',
      'prefix',
    ]);
    expect((await me(key)).status).toBe(401);
    const again = await fixture.as(tenant.session, `${path()}/${id}`, { method: 'DELETE' });
    expect([again.status, again.body.data['deleted_at']]).toEqual([200, revoked.body.data['deleted_at']]);
  });

  test('reaches another process by notification', async () => {
    const { config, platform, deps } = fixture;
    const { clock, logger, metrics, rateLimiter } = platform;
    const sql = platform.postgres.service;
    const elsewhere = await openApiKeys({
      config,
      clock,
      logger,
      metrics,
      rateLimiter,
      sql,
      notifications: deps.notifications,
    });
    const { id, key } = await newKey();
    const header = `Bearer ${key}`;
    const from = { ip: '127.0.0.1' };
    await elsewhere.authenticate(header, from);
    expect(elsewhere.authenticate(header, from)).not.toBeInstanceOf(Promise);
    await fixture.as(tenant.session, `${path()}/${id}`, { method: 'DELETE' });
    await expect
      .poll(async () => {
        try {
          await elsewhere.authenticate(header, from);
          return 'accepted';
        } catch (error) {
          return (error as { code?: string }).code;
        }
      })
      .toBe('UNAUTHORIZED');
  });

  test('is refused for keys of another project or tenant', async () => {
    const { id, key } = await newKey();
    const other = await fixture.makeTenant();
    const foreign = await fixture.as(other.session, `${path(other.project_id)}/${id}`, { method: 'DELETE' });
    expect([foreign.status, foreign.body.error.code]).toEqual([404, 'API_KEY_NOT_FOUND']);
    const through = await fixture.as(other.session, `${path()}/${id}`, { method: 'DELETE' });
    expect([through.status, through.body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
    expect((await fixture.as(tenant.session, `${path()}/nonsense`, { method: 'DELETE' })).status).toBe(404);
    expect((await me(key)).status).toBe(200);
  });
});

test('a wrong secret, prefix or environment is 401', async () => {
  const { key } = await newKey();
  expect((await me(key)).status).toBe(200);
  const last = key.endsWith('A') ? 'B' : 'A';
  const wrong = [
    key.slice(0, -1) + last,
    key.slice(0, -1),
    `${key}A`,
    key.replace('svc_pk_dev_', 'svc_pk_prod_'),
    key.replace('svc_pk_dev_', 'svc_pk_stag_'),
    key.replace(/^svc_pk_dev_.{8}/, 'svc_pk_dev_aaaaaaaa'),
    key.toUpperCase(),
  ];
  for (const each of wrong) {
    const answer = await me(each);
    expect([answer.status, answer.body.error.code], each).toEqual([401, 'UNAUTHORIZED']);
    expect(answer.text).not.toContain(key.slice(20));
  }
  expect((await me(key)).status).toBe(200);
});
