import type { JWTHeaderParameters } from 'jose';
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

const SESSION_PATH = '/v1/players';
const USER = 'idp|rotated';

let provider: IdentityProvider;
let fixture: Fixture;
let rsa: SigningKey;
let ec: SigningKey;

beforeAll(async () => {
  [rsa, ec] = [await newKey('rsa'), await newKey('ec', 'ES256')];
  provider = await startIdentityProvider([rsa.jwk, ec.jwk]);
  fixture = await openFixture({ ...provider.environment, RATE_ADMIN_PER_SECOND: '100000' });
  const body = { name: 'T', base_currency: 'EUR', project_name: 'P', admin_user_id: USER };
  await fixture.internal('/v1/internal/tenants', body);
});
afterAll(async () => {
  await fixture.close();
  await provider.close();
});
afterEach(() => {
  vi.useRealTimers();
});

const sign = (claims: Record<string, unknown> = {}, header: Partial<JWTHeaderParameters> = {}, key = rsa) =>
  signedBy(key, USER, { jti: Math.random(), ...claims }, header);
const now_s = () => Math.floor(Date.now() / 1000);
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

async function refuse(token: string): Promise<void> {
  const answer = await fixture.as(token, SESSION_PATH);
  expect([answer.status, answer.body.error?.code]).toEqual([401, 'UNAUTHORIZED']);
}

async function accept(token: string, what = ''): Promise<void> {
  const answer = await fixture.as(token, SESSION_PATH);
  expect(answer.status, what + answer.text).toBe(200);
}

describe('keys that appear, disappear, or cannot be fetched', () => {
  const status = async (token: string) => (await fixture.as(token, SESSION_PATH)).status;

  test('a new key is accepted at once; sessions of a withdrawn key end within 60 seconds', async () => {
    const [before, after] = [await newKey('before'), await newKey('after')];
    provider.keys = [before.jwk, rsa.jwk];
    passTime(2_000);
    const lasting = { exp: now_s() + 7_200 };
    const inUse = await sign(lasting, {}, before);
    expect(await status(inUse)).toBe(200);
    provider.keys = [after.jwk, rsa.jwk];
    passTime(2);
    expect(await status(await sign(lasting, {}, after))).toBe(200);
    // The fetch for the new key also showed that the old one is withdrawn: a token not verified before is refused.
    expect(await status(await sign(lasting, {}, before))).toBe(401);
    passTime(58);
    expect(await status(inUse)).toBe(401);
    // In this part no token with an unknown key arrives, and the session is used all the time.
    const unnoticed = await sign(lasting, {}, after);
    expect(await status(unnoticed)).toBe(200);
    provider.keys = [rsa.jwk];
    for (let second = 0; second < 60; second += 5) {
      passTime(5);
      await status(unnoticed);
    }
    expect(await status(unnoticed)).toBe(401);
    expect(await status(await sign(lasting, {}, after))).toBe(401);
  });

  test('the key set is fetched at most twice a minute, however many requests arrive', async () => {
    passTime(2_000);
    const tokens = await Promise.all(Array.from({ length: 5 }, () => sign({ exp: now_s() + 7_200 })));
    await Promise.all(tokens.map((token) => accept(token)));
    const before = provider.fetches;
    for (let second = 0; second < 120; second += 10) {
      passTime(10);
      await Promise.all(tokens.map((token) => accept(token)));
    }
    expect(provider.fetches - before).toBeGreaterThanOrEqual(2);
    expect(provider.fetches - before).toBeLessThanOrEqual(4);
  });

  test('while the provider does not answer, sessions go on for 15 minutes; afterwards the answer is 503', async () => {
    const withdrawn = await newKey('withdrawn');
    provider.keys = [rsa.jwk, withdrawn.jwk];
    passTime(2_000);
    const lasting = { exp: now_s() + 7_200 };
    const inUse = await sign(lasting);
    const doomed = await sign(lasting, {}, withdrawn);
    expect([await status(inUse), await status(doomed)]).toEqual([200, 200]);
    provider.up = false;
    const before = provider.fetches;
    for (let minute = 1; minute < 15; minute++) {
      passTime(60);
      expect(await status(inUse), `after ${minute} minutes`).toBe(200);
      expect(await status(await sign(lasting)), `a new one, after ${minute} minutes`).toBe(200);
    }
    expect(provider.fetches - before).toBeLessThan(30);
    passTime(61);
    const answer = await fixture.as(inUse, SESSION_PATH);
    expect([answer.status, answer.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    provider.up = true;
    provider.keys = [rsa.jwk];
    passTime(6);
    expect([await status(inUse), await status(doomed)]).toEqual([200, 401]);
  });

  test('during an outage known keys are accepted; an unknown key is answered with 503', async () => {
    provider.keys = [rsa.jwk, ec.jwk];
    passTime(2_000);
    await accept(await sign());
    for (const [up, garbage] of [
      [false, undefined],
      [true, '<html>maintenance</html>'],
      [true, '{}'],
      [true, '{"keys":7}'],
    ] as const) {
      provider.up = up;
      provider.garbage = garbage;
      passTime(2);
      await accept(await sign(), `while the provider answers ${garbage ?? 'nothing'}: `);
      const unknown = await fixture.as(await sign({}, { kid: 'unheard of' }), SESSION_PATH);
      expect([unknown.status, unknown.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
      expect(unknown.headers.get('retry-after')).toBe('5');
      await refuse(`${base64({ alg: 'none' })}.${base64({ sub: USER })}.`);
    }
    provider.up = true;
    provider.garbage = undefined;
    passTime(2);
    await refuse(await sign({}, { kid: 'unheard of' }));
    await accept(await sign());
  });

  test('keys that are symmetric or meant for encryption are never used', async () => {
    const secret = { kty: 'oct', k: Buffer.alloc(64).toString('base64url'), kid: 'shared', alg: 'HS256' };
    provider.keys = [secret, { ...rsa.jwk, kid: 'for encryption', use: 'enc' }, rsa.jwk];
    passTime(2_000);
    const header = { alg: 'HS256', kid: 'shared' };
    await refuse(await tokenOf(USER).setProtectedHeader(header).sign(Buffer.alloc(64)));
    await refuse(await sign({}, { kid: 'for encryption' }));
    await accept(await sign());
    provider.keys = [rsa.jwk, ec.jwk];
    passTime(2_000);
    await accept(await sign());
  });
});
