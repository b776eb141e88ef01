import { SESSION_COOKIE } from '../../src/http/auth/browser-session.ts';
import { SIGN_IN_COOKIE } from '../../src/console/cookies.ts';
import { createSignInSeal, SIGN_IN_MS } from '../../src/console/sealed-sign-in.ts';
import { newEncryptionKey } from '../../src/platform/encryption.ts';
import { describe, expect, test } from 'vitest';
import { newKey } from '../http/auth/identity-provider.ts';
import { CookieJar, OWN_PAGE, type Answer } from './cookie-jar.ts';
import { changed, sharedSecret, signed, unsigned, type Forge } from './identity-provider.ts';
import { CALLBACK, codeOf, expectNoSession, provideSignIn, tell } from './provider-fixture.ts';

/** Of nobody whom the service trusts. */
const other_key = await newKey('unknown');
const fixture = provideSignIn({ is_up: false });
const { at, signedIn, sentBack, players } = fixture;

describe('while the provider has never answered', () => {
  test('a sign-in is a page that says so, at once the second time, and the API works', async () => {
    const jar = new CookieJar();
    const first = await jar.open(at('/console/auth/login'));
    await expectNoSession(fixture, jar, { answer: first, status: 503 });
    expect(first.headers['retry-after']).toBe('5');
    expect(first.text).toContain('The identity provider does not answer');
    const [logout] = [await tell(fixture, 'a.b.c')];
    expect([logout.status, codeOf(logout)]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect((await jar.send('GET', at('/readyz'))).status).toBe(200);
    // Back again; the failure is remembered for a moment only.
    fixture.provider.is_up = true;
    expect((await jar.open(at('/console/auth/login'))).status).toBe(503);
    fixture.ahead_ms = 6_000;
    expect((await jar.open(at('/console/auth/login'))).url).toBe(at('/console/'));
  });
});

describe('a sign-in by the identity provider', () => {
  test('goes the whole way and ends on the page that it began on, with the role of the membership', async () => {
    const { jar, back } = await sentBack('/console/players?tab=money');
    expect(jar.cookies.map(({ name }) => name)).toContain(SIGN_IN_COOKIE);
    const answer = await jar.send('GET', back.href);
    expect([answer.status, answer.headers['location']]).toEqual([303, '/console/players?tab=money']);
    expect(jar.valueOf(SIGN_IN_COOKIE)).toBeUndefined();
    expect((await players(jar)).status).toBe(200);
    const elsewhere = await fixture.service.newTenant();
    expect(codeOf(await players(jar, { 'x-tenant-id': elsewhere.tenant_id }))).toBe('FORBIDDEN');
    expect(
      codeOf(await jar.send('POST', at('/v1/segments/preview'), { 'sec-fetch-site': 'same-origin' })),
    ).toBe('FORBIDDEN');
  });

  test('asks the provider with state, nonce and PKCE, and sends no secret by the browser', async () => {
    const jar = new CookieJar();
    const answer = await jar.send('GET', at('/console/auth/login'));
    const url = new URL(String(answer.headers['location']));
    expect(answer.status).toBe(302);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(url.origin).toBe(fixture.provider.settings.issuer);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'console',
      response_type: 'code',
      redirect_uri: at(CALLBACK),
      scope: 'openid profile',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-sign-in=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=600$/),
    ]);
  });

  test('is the only one: with it, there is no development sign-in', async () => {
    const jar = new CookieJar();
    // The path is one of the console's pages, if it is built.
    const development = await jar.send('POST', at('/console/auth/dev'), OWN_PAGE);
    expect([404, 405]).toContain(development.status);
    const options = await jar.send('GET', at('/console/auth/options'));
    expect(JSON.parse(options.text)).toMatchObject({ data: { development: false, provider: true } });
  });

  test('cookies of the session and their removal are for this host alone, and for no script', async () => {
    const { jar, back } = await sentBack();
    const answer = await jar.send('GET', back.href);
    expect(answer.headers['set-cookie']).toEqual([
      '__Host-sign-in=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0',
      expect.stringMatching(/^__Host-session=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
    ]);
  });

  test('of a user without a tenant is a session that may nothing', async () => {
    fixture.provider.user = 'nobody';
    expect(codeOf(await players(await signedIn()))).toBe('FORBIDDEN');
  });

  test('in the same browser by another user is the other session alone', async () => {
    const jar = await signedIn();
    const first = jar.valueOf(SESSION_COOKIE) ?? '';
    // At the provider it is another user now: the sub has changed, and nothing of the session before is left.
    jar.cookies = jar.cookies.filter(({ host }) => host === '127.0.0.1');
    fixture.provider.user = 'nobody';
    await jar.open(at('/console/auth/login'));
    expect(codeOf(await players(jar))).toBe('FORBIDDEN');
    expect((await players(new CookieJar(), { cookie: `${SESSION_COOKIE}=${first}` })).status).toBe(401);
  });

  test('gives a new session id, whatever id the browser was given before', async () => {
    const planted = 'A'.repeat(43);
    const jar = new CookieJar();
    jar.cookies.push({ name: SESSION_COOKIE, value: planted, host: '127.0.0.1', path: '/' });
    await jar.open(at('/console/auth/login'));
    expect(jar.valueOf(SESSION_COOKIE)).not.toBe(planted);
    expect((await players(jar)).status).toBe(200);
    expect((await players(new CookieJar(), { cookie: `${SESSION_COOKIE}=${planted}` })).status).toBe(401);
  });
});

/** What an attacker may change of an answer before the browser opens it. */
interface Attempt {
  jar: CookieJar;
  back: URL;
}

describe('an answer of the provider is refused', () => {
  test.each<[what: string, status: number, change: (attempt: Attempt) => Promise<void> | void]>([
    ['without a state', 400, ({ back }) => back.searchParams.delete('state')],
    ['with another state', 400, ({ back }) => back.searchParams.set('state', 'A'.repeat(43))],
    [
      'with two states',
      400,
      ({ back }) => back.searchParams.append('state', back.searchParams.get('state') ?? ''),
    ],
    [
      'of a sign-in that another browser began',
      400,
      async (attempt) => void (attempt.jar = (await sentBack()).jar),
    ],
    ['in a browser that began none', 400, (attempt) => void (attempt.jar = new CookieJar())],
    ['after ten minutes', 400, () => void (fixture.ahead_ms = SIGN_IN_MS)],
    [
      'with a sign-in cookie that was changed',
      400,
      ({ jar }) =>
        changeCookie(
          jar,
          (value) => `${value.slice(0, 60)}${value[60] === 'A' ? 'B' : 'A'}${value.slice(61)}`,
        ),
    ],
    [
      'with a sign-in cookie of another installation',
      400,
      ({ jar, back }) => changeCookie(jar, () => sealedElsewhere(back)),
    ],
    [
      'with two sign-in cookies',
      400,
      ({ jar }) => void jar.cookies.push({ name: SIGN_IN_COOKIE, value: 'x', host: '127.0.0.1', path: '/' }),
    ],
    [
      'with the session under the name of the sign-in',
      400,
      ({ jar }) => changeCookie(jar, () => 'A'.repeat(43)),
    ],
    ['without a code', 502, ({ back }) => back.searchParams.delete('code')],
    ['with two codes', 502, ({ back }) => back.searchParams.append('code', 'another')],
    ['with a code that the provider never gave', 502, ({ back }) => back.searchParams.set('code', 'guessed')],
    [
      'with the code of another sign-in, whose PKCE verifier is another',
      502,
      async ({ back }) => {
        const other = await sentBack();
        back.searchParams.set('code', other.back.searchParams.get('code') ?? '');
      },
    ],
    ['of another issuer (mix-up)', 502, ({ back }) => back.searchParams.set('iss', 'https://evil.example')],
    ['without its issuer', 502, ({ back }) => back.searchParams.delete('iss')],
    ['with an ID token beside the code', 502, ({ back }) => back.searchParams.set('id_token', 'a.b.c')],
    [
      'as one signed text, which was not asked for',
      502,
      ({ back }) => back.searchParams.set('response', 'a.b.c'),
    ],
    ['that is too long', 502, ({ back }) => back.searchParams.set('code', 'a'.repeat(9_000))],
    ['that says access_denied', 403, ({ back }) => denied(back, 'access_denied')],
    ['that says server_error', 403, ({ back }) => denied(back, 'server_error')],
    [
      'that says an error for another state',
      400,
      ({ back }) => {
        denied(back, 'access_denied');
        back.searchParams.set('state', 'x');
      },
    ],
  ])('%s', async (_what, status, change) => {
    const attempt = await sentBack();
    await change(attempt);
    const answer = await attempt.jar.send('GET', attempt.back.href);
    fixture.ahead_ms = 0;
    await expectNoSession(fixture, attempt.jar, { answer: answer, status: status });
    expect(attempt.jar.cookies.some(({ name, value }) => name === SIGN_IN_COOKIE && value !== 'x')).toBe(
      false,
    );
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
    for (const secret of ['code', 'state', 'error_description']) {
      const value = attempt.back.searchParams.get(secret);
      if (value !== null && value.length > 5) expect(answer.text).not.toContain(value);
    }
  });

  test('the second time, in the same browser', async () => {
    const { jar, back } = await sentBack();
    const cookie = `${SIGN_IN_COOKIE}=${jar.valueOf(SIGN_IN_COOKIE)}`;
    expect((await jar.send('GET', back.href)).status).toBe(303);
    const again = await jar.send('GET', back.href);
    expect([again.status, again.headers['set-cookie']]).toEqual([
      400,
      [expect.stringContaining('Max-Age=0')],
    ]);
    // By somebody who has copied address and cookie, too; the provider is not even asked.
    const asked = fixture.provider.redeemed.length;
    const thief = new CookieJar();
    await expectNoSession(fixture, thief, {
      answer: await thief.send('GET', back.href, { cookie }),
      status: 400,
    });
    expect(fixture.provider.redeemed.length).toBe(asked);
  });

  test('and redeems the code with its own verifier, its own address and its own secret', async () => {
    const { jar, back } = await sentBack();
    // A name that was rebound to this machine: nothing of the request decides where the provider answers to.
    await jar.send('GET', back.href, { host: 'attacker.example', cookie: cookiesOf(jar) });
    const [body] = fixture.provider.redeemed;
    expect(body?.get('redirect_uri')).toBe(at(CALLBACK));
    expect(body?.get('code_verifier')).toMatch(/^[\w-]{43}$/);
    expect(body?.get('client_secret')).toBeNull();
  });
});

function cookiesOf(jar: CookieJar): string {
  return jar.cookies
    .filter(({ host }) => host === '127.0.0.1')
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ');
}

function changeCookie(jar: CookieJar, change: (value: string) => string): void {
  for (const cookie of jar.cookies) if (cookie.name === SIGN_IN_COOKIE) cookie.value = change(cookie.value);
}

/** What the attacker's own installation of this service would give for the same answer. */
function sealedElsewhere(back: URL): string {
  const seal = createSignInSeal(
    { current: newEncryptionKey(), previous: undefined },
    fixture.provider.settings,
  );
  const state = back.searchParams.get('state') ?? '';
  const known = { nonce: 'n', code_verifier: 'v'.repeat(43), return_to: '/console/' };
  return seal.seal({ state, ...known, began_at_ms: Date.now() });
}

function denied(back: URL, error: string): void {
  back.searchParams.delete('code');
  back.searchParams.set('error', error);
  back.searchParams.set('error_description', '<script>alert(1)</script>');
}

describe('an ID token is refused', () => {
  const now_s = () => Math.floor(Date.now() / 1000);
  test.each<[what: string, forge: Forge]>([
    ['with another nonce', (claims, key) => signed({ ...claims, nonce: 'another' }, key)],
    ['without a nonce', (claims, key) => signed({ ...claims, nonce: undefined }, key)],
    ['of another issuer', (claims, key) => signed({ ...claims, iss: 'https://evil.example' }, key)],
    ['for another client', (claims, key) => signed({ ...claims, aud: 'other-client' }, key)],
    [
      'for several, of which another may use it',
      (claims, key) => signed({ ...claims, aud: ['console', 'other'], azp: 'other' }, key),
    ],
    [
      'that has expired',
      (claims, key) => signed({ ...claims, iat: now_s() - 7_200, exp: now_s() - 3_600 }, key),
    ],
    ['that never expires', (claims, key) => signed({ ...claims, exp: undefined }, key)],
    ['of no user', (claims, key) => signed({ ...claims, sub: undefined }, key)],
    ['of a user with an impossible id', (claims, key) => signed({ ...claims, sub: 'a'.repeat(300) }, key)],
    ['without a signature (alg none)', (claims) => Promise.resolve(unsigned({ ...claims }))],
    [
      'whose signature was cut off',
      async (claims, key) => `${(await signed({ ...claims }, key)).split('.').slice(0, 2).join('.')}.`,
    ],
    [
      'that was changed after it was signed',
      async (claims, key) => changed(await signed({ ...claims }, key)),
    ],
    [
      'signed by another key of the same name',
      async (claims, { kid }) => signed({ ...claims }, { ...other_key, kid }),
    ],
    [
      'signed by a key that the provider does not publish',
      async (claims) => signed({ ...claims }, other_key),
    ],
    ['signed with the public key as a shared secret', (claims, key) => sharedSecret(claims, key.kid)],
    ['that is none', () => Promise.resolve('not a token')],
  ])('%s', async (_what, forge) => {
    fixture.provider.forge = forge;
    const { jar, back } = await sentBack();
    await expectNoSession(fixture, jar, { answer: await jar.send('GET', back.href), status: 502 });
    // It was the token: the same provider signs in without it.
    fixture.provider.forge = undefined;
    expect((await players(await signedIn())).status).toBe(200);
  });
});

test('who asks too often is told to wait, with a page, and others are not', async () => {
  const jar = new CookieJar();
  let last: Answer | undefined;
  for (let asked = 0; asked < 400 && last?.status !== 429; asked++) {
    last = await jar.send('GET', at(CALLBACK));
  }
  expect([last?.status, last?.headers['retry-after']]).toEqual([429, '5']);
  expect((await jar.send('GET', at('/readyz'))).status).toBe(200);
});
