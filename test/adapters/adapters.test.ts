import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPlatforms, Platforms } from '../../src/adapters/platforms.ts';
import { buildApiApp } from '../../src/app/api-app.ts';
import { cleanUpAdapters } from '../../src/adapters/clean-up.ts';
import { reencryptAdapterSecrets } from '../../src/adapters/secrets.ts';
import { callApp } from '../engines/http-client.ts';
import { openFixture, type Fixture, type Tenant } from '../http/api-fixture.ts';
import { FakePlatformClient, startFakePlatform, type FakePlatform } from '../bonuses/fake-platform.ts';
import { orderOf } from './orders.ts';

const KEY = 'aa'.repeat(32);
let fixture: Fixture;
let fake: FakePlatform;
let platforms: Platforms;

beforeAll(async () => {
  fixture = await openFixture({ CREDENTIALS_KEY: KEY });
  fake = await startFakePlatform();
  const { platform, deps } = fixture;
  platforms = await openPlatforms(
    { ...platform, credentials_keys: deps.credentials_keys },
    deps.notifications,
  );
});
afterAll(async () => {
  await fixture?.close();
  await fake?.close();
});

let slugs = 0;
const newSlug = () => `acme-${++slugs}`;

const client = (tenant: Tenant) => {
  const send = (method: string, path: string, body?: unknown) =>
    fixture.as(tenant.session, path, { method, ...(body === undefined ? {} : { body }) });
  return {
    send,
    create: (body: object) => send('POST', '/v1/adapters', { slug: newSlug(), ...body }),
    patch: (id: unknown, body: object) => send('PATCH', `/v1/adapters/${String(id)}`, body),
    rotate: (id: unknown) => send('POST', `/v1/adapters/${String(id)}/rotate-secret`),
    list: () => send('GET', '/v1/adapters'),
  };
};

const http = { kind: 'http', base_url: 'https://platform.example.com/casino/' };

describe('the registry', () => {
  it('makes an adapter with defaults, and shows its secret once', async () => {
    const api = client(await fixture.makeTenant());
    const made = await api.create({ ...http, auth: { type: 'bearer', token: 'tok-123' } });
    expect(made.status, made.text).toBe(201);
    const { id, project_id, secret, created_at, updated_at, ...rest } = made.body.data;
    expect(rest).toEqual({
      slug: `acme-${slugs}`,
      kind: 'http',
      base_url: 'https://platform.example.com/casino',
      auth: { type: 'bearer' },
      timeout_ms: 5_000,
      max_rps: 50,
      max_in_flight: 16,
      capabilities: { grant: true, cancel: true, status: true, kyc: true, completion: 'platform' },
      is_active: true,
    });
    expect([project_id, created_at]).toEqual([expect.any(String), updated_at]);
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const one = await api.send('GET', `/v1/adapters/${String(id)}`);
    const listed = await api.list();
    expect(listed.body.data).toEqual([one.body.data]);
    const log = await api.send('GET', '/v1/audit-log');
    for (const { text } of [one, listed, log]) {
      expect(text).not.toContain(String(secret));
      expect(text).not.toContain('tok-123');
    }
    const rows = await fixture.platform.postgres.service`
      select encode(s.secret, 'escape') as secret, encode(a.token, 'escape') as token
      from adapters a join adapter_secrets s using (tenant_id, project_id, adapter_id) where adapter_id = ${String(id)}`;
    expect(JSON.stringify(rows)).not.toMatch(new RegExp(`tok-123|${String(secret)}`));
  });

  it.each<[string, object, string]>([
    ['a short slug', { ...http, slug: 'ab' }, 'slug'],
    ['a slug in upper case', { ...http, slug: 'Acme' }, 'slug'],
    ['no URL', { kind: 'http' }, 'base_url'],
    ['a URL without TLS', { kind: 'http', base_url: 'http://platform.example.com' }, 'base_url'],
    ['a private address', { kind: 'http', base_url: 'https://10.1.2.3' }, 'base_url'],
    ['a private address without TLS', { kind: 'http', base_url: 'http://192.168.0.1' }, 'base_url'],
    ['a metadata service', { kind: 'http', base_url: 'https://169.254.169.254' }, 'base_url'],
    ['a mapped address', { kind: 'http', base_url: 'https://[::ffff:10.0.0.1]' }, 'base_url'],
    ['credentials in the URL', { kind: 'http', base_url: 'https://a:b@platform.example.com' }, 'base_url'],
    ['another scheme', { kind: 'http', base_url: 'ftp://platform.example.com' }, 'base_url'],
    ['a URL of a sandbox', { kind: 'sandbox', base_url: 'https://platform.example.com' }, 'base_url'],
    ['a bearer without a token', { ...http, auth: { type: 'bearer' } }, 'auth.token'],
    ['a token without bearer', { ...http, auth: { type: 'none', token: 'x' } }, 'auth.token'],
    ['a token of two lines', { ...http, auth: { type: 'bearer', token: 'a\nb' } }, 'auth.token'],
    ['a time-out that is too short', { ...http, timeout_ms: 499 }, 'timeout_ms'],
    ['a time-out that is too long', { ...http, timeout_ms: 30_001 }, 'timeout_ms'],
    ['no calls', { ...http, max_rps: 0 }, 'max_rps'],
    ['an unknown capability', { ...http, capabilities: { fly: true } }, 'capabilities.fly'],
    ['an unknown field', { ...http, color: 'red' }, 'color'],
  ])('refuses %s', async (_name, body, path) => {
    const answer = await client(await tenantOfRefusals()).create(body);
    expect(answer.status, answer.text).toBe(422);
    expect(answer.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { issues: [{ path }] } });
  });

  let refusals: Promise<Tenant> | undefined;
  const tenantOfRefusals = () => (refusals ??= fixture.makeTenant());

  it('reaches loopback without TLS only where the development issuer signs', async () => {
    const api = client(await fixture.makeTenant());
    expect((await api.create({ kind: 'http', base_url: 'http://127.0.0.1:9' })).status).toBe(201);
    const id = (await api.list()).body.data[0]?.['id'];
    expect((await api.patch(id, { base_url: 'http://10.0.0.1' })).status).toBe(422);
  });

  it('has each slug once in the installation, and one active adapter in a project', async () => {
    const [a, b] = [client(await fixture.makeTenant()), client(await fixture.makeTenant())];
    const slug = newSlug();
    expect((await a.create({ kind: 'sandbox', slug })).status).toBe(201);
    for (const taken of [slug, 'sandbox']) {
      const answer = await b.create({ kind: 'sandbox', slug: taken });
      expect([answer.status, answer.body.error?.code]).toEqual([409, 'ADAPTER_SLUG_TAKEN']);
    }
    const second = await a.create({ kind: 'sandbox' });
    expect([second.status, second.body.error?.code]).toEqual([409, 'ADAPTER_ALREADY_ACTIVE']);
    const idle = await a.create({ kind: 'sandbox', is_active: false });
    expect(idle.status).toBe(201);
    const refused = await a.patch(idle.body.data['id'], { is_active: true });
    expect([refused.status, refused.body.error?.code]).toEqual([409, 'ADAPTER_ALREADY_ACTIVE']);
    const race = await Promise.all(Array.from({ length: 6 }, () => b.create({ kind: 'sandbox' })));
    expect(race.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(race.filter(({ status }) => status === 409)).toHaveLength(5);
  });

  it('an adapter takes calls about KYC unless it says otherwise; a sandbox takes none', async () => {
    const kycOf = async (body: object) => {
      const api = client(await fixture.makeTenant());
      const made = await api.create(body);
      expect(made.status, made.text).toBe(201);
      return (made.body.data['capabilities'] as Record<string, unknown>)['kyc'];
    };
    expect(await kycOf({ ...http, capabilities: { cancel: false } })).toBe(true);
    expect(await kycOf({ ...http, capabilities: { kyc: false } })).toBe(false);
    expect(await kycOf({ kind: 'sandbox' })).toBe(false);
    expect(await kycOf({ kind: 'sandbox', capabilities: { kyc: true } })).toBe(true);
  });

  it('changes what is named and keeps the rest; slug, kind and secret are fixed', async () => {
    const api = client(await fixture.makeTenant());
    const made = (await api.create({ ...http, auth: { type: 'bearer', token: 'tok-1' } })).body.data;
    const changed = await api.patch(made['id'], {
      capabilities: { kyc: false },
      max_rps: 7,
      auth: { type: 'bearer' },
    });
    expect(changed.status, changed.text).toBe(200);
    expect(changed.body.data).toMatchObject({
      max_rps: 7,
      timeout_ms: 5_000,
      auth: { type: 'bearer' },
      capabilities: { grant: true, kyc: false },
    });
    for (const field of ['slug', 'kind', 'secret', 'id', 'project_id']) {
      const answer = await api.patch(made['id'], { [field]: 'sandbox' });
      expect([answer.status, answer.body.error?.code], field).toEqual([422, 'FIELD_NOT_WRITABLE']);
    }
    const missing = await api.patch(randomUUID(), { max_rps: 1 });
    expect([missing.status, missing.body.error?.code]).toEqual([404, 'ADAPTER_NOT_FOUND']);
    const log = await api.send('GET', '/v1/audit-log?resource_type=adapter');
    expect((log.body.data as unknown as { action: string }[]).map(({ action }) => action)).toEqual([
      'update',
      'create',
    ]);
  });

  it('keeps its token for one address: for another scheme, host or port it must be given again', async () => {
    const api = client(await fixture.makeTenant());
    const auth = { type: 'bearer', token: 'tok-1' };
    const { id } = (await api.create({ ...http, auth })).body.data;
    expect((await api.patch(id, { base_url: 'https://platform.example.com:443/other' })).status).toBe(200);
    for (const base_url of [
      'https://attacker.example.com/casino',
      'https://platform.example.com:8443/casino',
      'http://127.0.0.1:9/casino',
    ]) {
      for (const body of [{ base_url }, { base_url, auth: { type: 'bearer' } }]) {
        const refused = await api.patch(id, body);
        expect([refused.status, refused.body.error?.details['issues']]).toMatchObject([
          422,
          [{ path: 'auth.token', message: expect.stringMatching(/^must be given again/) }],
        ]);
      }
    }
    const base_url = 'https://next.example.com';
    expect((await api.patch(id, { base_url, auth })).status).toBe(200);
    expect(
      (await api.patch(id, { base_url: 'https://third.example.com', auth: { type: 'none' } })).status,
    ).toBe(200);
    expect((await api.patch(id, { base_url: 'https://fourth.example.com' })).status).toBe(200);
  });

  it('is for admins', async () => {
    const tenant = await fixture.makeTenant();
    const editor = await fixture.member(tenant.tenant_id, 'editor');
    for (const [method, path] of [
      ['GET', '/v1/adapters'],
      ['POST', '/v1/adapters'],
      ['PATCH', `/v1/adapters/${randomUUID()}`],
      ['POST', `/v1/adapters/${randomUUID()}/rotate-secret`],
    ] as const) {
      const answer = await fixture.as(editor, path, { method, body: method === 'GET' ? undefined : {} });
      expect(answer.status, path).toBe(403);
    }
  });
});

describe('platforms', () => {
  it('is changed at once for the process that changes it, before any notification arrives', async () => {
    const { platform, config, deps } = fixture;
    const alone = new Platforms({ ...platform, credentials_keys: deps.credentials_keys });
    const app = buildApiApp(platform, config, { ...deps, platforms: alone });
    const tenant = await fixture.makeTenant();
    const send = async (method: string, path: string, body: unknown) => {
      const { status, text, body: answer } = await callApp(app, path, tenant.session, { method, body });
      expect(status, text).toBeLessThan(300);
      return answer.data;
    };
    expect((await alone.of(tenant)).slug).toBe('sandbox');
    const first = await send('POST', '/v1/adapters', { slug: newSlug(), kind: 'sandbox' });
    expect((await alone.of(tenant)).slug).toBe(first['slug']);
    await send('PATCH', `/v1/adapters/${String(first['id'])}`, { is_active: false });
    await expect(alone.of(tenant)).rejects.toMatchObject({ code: 'ADAPTER_UNAVAILABLE' });
    const second = await send('POST', '/v1/adapters', { slug: newSlug(), kind: 'sandbox' });
    const found = await alone.of(tenant);
    expect(found.slug).toBe(second['slug']);
    await send('POST', `/v1/adapters/${String(second['id'])}/rotate-secret`, {});
    expect(await alone.of(tenant)).not.toBe(found);
    await app.close();
  });

  it('are the built-in sandbox without an adapter, the active adapter, or nothing while none is active', async () => {
    const tenant = await fixture.makeTenant();
    const api = client(tenant);
    const built_in = await platforms.of(tenant);
    expect(built_in).toMatchObject({ slug: 'sandbox', kind: 'sandbox' });
    const order = orderOf();
    const first = await built_in.grant(order, 1);
    expect(first).toMatchObject({ kind: 'credited' });
    expect(await built_in.grant(order, 2)).toEqual(first);
    const ref = { grant_id: order.grant_id, platform_bonus_id: null };
    expect(await built_in.status(ref)).toMatchObject({ kind: 'found', bonus: { status: 'active' } });
    const cancel = { grant_id: order.grant_id, body: '{}' };
    expect(await built_in.cancel(cancel, 1)).toEqual({ kind: 'cancelled' });
    expect(await built_in.status(ref)).toMatchObject({ kind: 'found', bonus: { status: 'cancelled' } });
    expect(await built_in.cancel({ ...cancel, grant_id: randomUUID() }, 1)).toEqual({ kind: 'missing' });
    const shown = await api.send('GET', '/v1/adapters/sandbox/bonuses');
    expect(shown.body.data).toMatchObject([
      { grant_id: order.grant_id, status: 'cancelled', sent: { template: { amount_subunit: 500 } } },
    ]);

    const made = (await api.create({ kind: 'http', base_url: fake.url })).body.data;
    await new FakePlatformClient(fake.url).control({ secrets: [String(made['secret'])] });
    await expect.poll(async () => (await platforms.of(tenant)).slug).toBe(made['slug']);
    expect(await (await platforms.of(tenant)).grant(orderOf(), 1)).toMatchObject({ kind: 'credited' });
    await api.patch(made['id'], { is_active: false });
    await expect
      .poll(() =>
        platforms.of(tenant).then(
          () => 'a platform',
          (error: { code?: string }) => error.code,
        ),
      )
      .toBe('ADAPTER_UNAVAILABLE');
    expect(await platforms.bySlug(tenant, String(made['slug']))).toMatchObject({ slug: made['slug'] });
    expect(await platforms.bySlug(await fixture.makeTenant(), String(made['slug']))).toBeUndefined();
    const of_http = await api.send('GET', `/v1/adapters/${String(made['id'])}/bonuses`);
    expect(of_http.status).toBe(422);
  });

  it('sign with a new secret at once, and go on with the older one while the platform does not know it', async () => {
    const tenant = await fixture.makeTenant();
    const api = client(tenant);
    const made = (await api.create({ kind: 'http', base_url: fake.url })).body.data;
    const control = new FakePlatformClient(fake.url);
    await control.control({ secrets: [String(made['secret'])] });
    const rotated = await api.rotate(made['id']);
    expect(rotated.status, rotated.text).toBe(200);
    expect(rotated.body.data['secret']).not.toBe(made['secret']);
    platforms.evict(tenant.tenant_id);
    expect(await (await platforms.of(tenant)).grant(orderOf(), 1)).toMatchObject({ kind: 'credited' });
    await control.control({ secrets: [String(rotated.body.data['secret'])] });
    expect(await (await platforms.of(tenant)).grant(orderOf(), 1)).toMatchObject({ kind: 'credited' });
    const log = await api.send('GET', '/v1/audit-log?resource_type=adapter');
    expect((log.body.data as unknown as { action: string }[])[0]?.action).toBe('rotate_secret');
    for (let i = 0; i < 8; i++) expect((await api.rotate(made['id'])).status).toBe(200);
    const full = await api.rotate(made['id']);
    expect([full.status, full.body.error?.code]).toEqual([409, 'CONFLICT']);
    const { platform } = fixture;
    const clock = { now_ms: () => Date.now() + 25 * 3_600_000 };
    await cleanUpAdapters({ ...platform, clock });
    expect((await api.rotate(made['id'])).status).toBe(200);
  });

  it('a sandbox adapter keeps its own bonuses, in pages', async () => {
    const tenant = await fixture.makeTenant();
    const api = client(tenant);
    const made = (await api.create({ kind: 'sandbox' })).body.data;
    const platform = await platforms.of(tenant);
    const orders = [orderOf(), orderOf(), orderOf()];
    for (const order of orders) await platform.grant(order, 1);
    const path = `/v1/adapters/${String(made['id'])}/bonuses?limit=2`;
    const first = await api.send('GET', path);
    const second = await api.send('GET', `${path}&cursor=${String(first.body.meta['next_cursor'])}`);
    const shown = [first, second].flatMap(
      ({ body }) => body.data as unknown as { grant_id: string; platform_bonus_id: string }[],
    );
    // The newest first; two of the same millisecond in any order.
    const places = shown.map(({ platform_bonus_id }) => platform_bonus_id);
    expect(places).toEqual(places.toSorted().toReversed());
    expect(shown.map(({ grant_id }) => grant_id).toSorted()).toEqual(
      orders.map(({ grant_id }) => grant_id).toSorted(),
    );
    expect((await api.send('GET', '/v1/adapters/sandbox/bonuses')).body.data).toEqual([]);
  });

  it('a sandbox adapter does no more than it declares', async () => {
    const tenant = await fixture.makeTenant();
    const capabilities = { grant: false, cancel: false, status: false };
    await client(tenant).create({ kind: 'sandbox', capabilities });
    const platform = await platforms.of(tenant);
    const order = orderOf();
    const unsupported = { kind: 'refused', code: 'UNSUPPORTED' };
    expect(await platform.grant(order, 1)).toMatchObject(unsupported);
    expect(await platform.cancel({ grant_id: order.grant_id, body: '{}' }, 1)).toMatchObject(unsupported);
    const ref = { grant_id: order.grant_id, platform_bonus_id: null };
    expect(await platform.status(ref)).toEqual({ kind: 'unsupported' });
  });
});

it('tokens and secrets take part in the rotation of CREDENTIALS_KEY', async () => {
  const tenant = await fixture.makeTenant();
  await client(tenant).create({ kind: 'http', base_url: fake.url, auth: { type: 'bearer', token: 't' } });
  const sql = fixture.platform.postgres.service;
  const keys = { current: 'bb'.repeat(32), previous: KEY };
  const first = await reencryptAdapterSecrets(sql, keys);
  expect(first.unreadable).toBe(0);
  expect(first.reencrypted).toBeGreaterThanOrEqual(2);
  expect(await reencryptAdapterSecrets(sql, keys)).toEqual({ reencrypted: 0, unreadable: 0 });
  const { deps, platform } = fixture;
  const renewed = await openPlatforms(
    { ...platform, credentials_keys: { current: keys.current, previous: undefined } },
    deps.notifications,
  );
  expect(await renewed.of(tenant)).toMatchObject({ kind: 'http' });
  const back = await reencryptAdapterSecrets(sql, { current: KEY, previous: keys.current });
  expect(back).toEqual(first);
});
