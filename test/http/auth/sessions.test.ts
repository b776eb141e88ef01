import { exportJWK, exportSPKI, generateKeyPair, type SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { openFixture, type Fixture } from '../api-fixture.ts';
import {
  newKey,
  passTime,
  signedBy,
  startIdentityProvider,
  tokenOf,
  type IdentityProvider,
  type SigningKey,
} from './identity-provider.ts';

let provider: IdentityProvider;
let fixture: Fixture;
let first: SigningKey;
let member: { tenant_id: string; user_id: string };
let users = 0;

beforeAll(async () => {
  first = await newKey('first');
  provider = await startIdentityProvider([first.jwk]);
  fixture = await openFixture(provider.environment);
  member = await newMember();
});
afterAll(async () => {
  await fixture.close();
  await provider.close();
});
afterEach(() => {
  vi.useRealTimers();
});

async function newMember() {
  const user_id = `idp|${++users}`;
  const body = { name: 'T', base_currency: 'EUR', project_name: 'P', admin_user_id: user_id };
  const { data } = (await fixture.internal('/v1/internal/tenants', body)).body;
  return { user_id, tenant_id: String(data['tenant_id']) };
}

const token = (claims: Record<string, unknown> = {}): SignJWT => tokenOf(member.user_id, claims);

const sign = (claims: Record<string, unknown> = {}, kid = 'first') =>
  signedBy({ ...first, kid }, member.user_id, claims);

const list = (bearer: string, headers: Record<string, string> = {}) =>
  fixture.as(bearer, '/v1/players', { headers });

test('a token of the identity provider is accepted', async () => {
  const answer = await list(await sign());
  expect(answer.status).toBe(200);
  expect(answer.body.data).toEqual([]);
});

test('the service issues no development sessions when an identity provider is configured', async () => {
  const answer = await fixture.internal('/v1/internal/dev-sessions', { user_id: member.user_id });
  expect(answer.status).toBe(404);
});

describe('refuses with 401 UNAUTHORIZED', () => {
  const refuse = async (bearer: string) => {
    const answer = await list(bearer);
    expect(answer.status).toBe(401);
    expect(answer.body.error.code).toBe('UNAUTHORIZED');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  };
  const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  test('an unsigned token', async () => {
    const [, payload = ''] = (await sign()).split('.');
    await refuse(`${base64({ alg: 'none' })}.${payload}.`);
    await refuse(`${base64({ alg: 'None', kid: 'first' })}.${payload}.`);
  });

  test('a token signed with the public key as a shared secret', async () => {
    const secret = new TextEncoder().encode(await exportSPKI(first.publicKey));
    await refuse(await token().setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(secret));
  });

  test('a changed payload with the signature of the original', async () => {
    const [header = '', payload = '', signature = ''] = (await sign()).split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    await refuse(`${header}.${base64({ ...claims, sub: 'someone-else' })}.${signature}`);
  });

  test('an expired token, and one that never expires', async () => {
    const now_s = Math.floor(Date.now() / 1000);
    await refuse(await sign({ exp: now_s - 1 }));
    await refuse(await sign({ exp: undefined }));
  });

  test('a token that is not valid yet', async () => {
    await refuse(await sign({ nbf: Math.floor(Date.now() / 1000) + 60 }));
  });

  test('a token of another issuer, for another audience, or without a subject', async () => {
    await refuse(await sign({ iss: 'https://other.example' }));
    await refuse(await sign({ aud: 'another-service' }));
    await refuse(await sign({ aud: undefined }));
    await refuse(await sign({ sub: undefined }));
    await refuse(await sign({ sub: '' }));
  });

  test('a key that the provider does not publish', async () => {
    const stranger = await generateKeyPair('RS256');
    await refuse(
      await token().setProtectedHeader({ alg: 'RS256', kid: 'unknown' }).sign(stranger.privateKey),
    );
    await refuse(await token().setProtectedHeader({ alg: 'RS256', kid: 'first' }).sign(stranger.privateKey));
  });

  test('a key carried by the token itself', async () => {
    const stranger = await generateKeyPair('RS256', { extractable: true });
    const header = { alg: 'RS256', jwk: await exportJWK(stranger.publicKey) };
    await refuse(await token().setProtectedHeader(header).sign(stranger.privateKey));
  });

  test('a token of enormous size', async () => {
    await refuse(await sign({ padding: 'x'.repeat(9_000) }));
  });
});

test('a cached token is refused once it expires', async () => {
  const lifetime_s = 20;
  const bearer = await sign({ exp: Math.floor(Date.now() / 1000) + lifetime_s });
  expect((await list(bearer)).status).toBe(200);
  passTime(lifetime_s);
  expect((await list(bearer)).status).toBe(401);
});

test('a rotated key is accepted and the old one refused; an outage does not end sessions in use', async () => {
  const inUse = await sign({ marker: 'in use' });
  expect((await list(inUse)).status).toBe(200);
  const second = await newKey('second', 'ES256');
  provider.keys = [second.jwk];
  passTime(2);
  const rotated = () =>
    token({ jti: String(Math.random()) }).setProtectedHeader({ alg: 'ES256', kid: 'second' });
  expect((await list(await rotated().sign(second.privateKey))).status).toBe(200);
  expect((await list(await sign({ marker: 'new' }))).status).toBe(401);

  provider.up = false;
  passTime(2);
  expect((await list(inUse)).status).toBe(200);
  expect((await list(await rotated().sign(second.privateKey))).status).toBe(200);
  const unknown = await list(await sign({ marker: 'cannot say' }, 'third'));
  expect(unknown.status).toBe(503);
  expect(unknown.body.error.code).toBe('SERVICE_UNAVAILABLE');
  expect(unknown.headers.get('retry-after')).toBe('5');
  provider.up = true;
  provider.keys = [first.jwk];
  passTime(2);
  expect((await list(await sign({ marker: 'back' }))).status).toBe(200);
});

test('many tokens with unknown keys do not cause many fetches', async () => {
  const before = provider.fetches;
  const bearers = await Promise.all(Array.from({ length: 20 }, (_, i) => sign({ i }, `unknown-${i}`)));
  for (const bearer of bearers) expect((await list(bearer)).status).toBe(401);
  expect(provider.fetches - before).toBeLessThanOrEqual(3);
});

describe('membership', () => {
  test('a user of no tenant is refused with 403', async () => {
    const answer = await list(await sign({ sub: 'nobody' }));
    expect([answer.status, answer.body.error.code]).toEqual([403, 'FORBIDDEN']);
  });

  test('a user of several tenants must name one', async () => {
    const two = await newMember();
    const other = await newMember();
    await fixture.internal('/v1/internal/memberships', {
      tenant_id: other.tenant_id,
      user_id: two.user_id,
      role: 'viewer',
    });
    const bearer = await sign({ sub: two.user_id });
    const without = await list(bearer);
    expect([without.status, without.body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(without.body.error.message).toContain('X-Tenant-Id');
    for (const tenant_id of [two.tenant_id, other.tenant_id.toUpperCase()]) {
      expect((await list(bearer, { 'x-tenant-id': tenant_id })).status).toBe(200);
    }
    const foreign = await list(bearer, { 'x-tenant-id': member.tenant_id });
    expect([foreign.status, foreign.body.error.code]).toEqual([403, 'FORBIDDEN']);
    expect((await list(bearer, { 'x-tenant-id': 'mine' })).status).toBe(422);
  });

  test('a changed role applies at once, also to a session in use', async () => {
    const { tenant_id, user_id } = await newMember();
    const bearer = await sign({ sub: user_id });
    const patch = () =>
      fixture.as(bearer, '/v1/players/00000000-0000-4000-8000-000000000000', { method: 'PATCH', body: {} });
    expect((await patch()).status).toBe(404);
    await fixture.internal('/v1/internal/memberships', { tenant_id, user_id, role: 'viewer' });
    expect((await patch()).status).toBe(403);
  });
});

describe('project', () => {
  test('X-Project-Id chooses the project; a foreign or unknown id is 404, a malformed id is 422', async () => {
    const other = await newMember();
    const bearer = await sign();
    const { tenant_id } = member;
    const made = await fixture.internal('/v1/internal/projects', { tenant_id, name: 'Second' });
    const project_id = String(made.body.data['project_id']);
    expect((await list(bearer, { 'x-project-id': project_id })).status).toBe(200);
    const foreign = await fixture.internal('/v1/internal/projects', {
      tenant_id: other.tenant_id,
      name: 'X',
    });
    const unknown = await list(bearer, { 'x-project-id': String(foreign.body.data['project_id']) });
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
    expect((await list(bearer, { 'x-project-id': '1' })).status).toBe(422);
  });
});
