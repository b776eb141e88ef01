import { decodeJwt } from 'jose';
import { describe, expect, test } from 'vitest';
import { newKey } from '../http/auth/identity-provider.ts';
import { CookieJar, OWN_PAGE } from './cookie-jar.ts';
import { changed, sharedSecret, signed, unsigned } from './identity-provider.ts';
import { codeOf, provideSignIn, tell } from './provider-fixture.ts';

/** Of nobody whom the service trusts. */
const other_key = await newKey('unknown');
const fixture = provideSignIn();
const { at, signedIn, players } = fixture;

describe('signing out', () => {
  test('ends the session here and at the provider, which leads back to the console', async () => {
    const jar = await signedIn();
    const answer = await jar.send('POST', at('/console/auth/logout'), OWN_PAGE);
    const { provider_url } = (JSON.parse(answer.text) as { data: { provider_url: string } }).data;
    const url = new URL(provider_url);
    expect(url.origin).toBe(fixture.provider.settings.issuer);
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(at('/console/'));
    expect(decodeJwt(url.searchParams.get('id_token_hint') ?? '').sub).toBe('owner-1');
    expect((await players(jar)).status).toBe(401);
    const question = await jar.open(provider_url);
    const [, xsrf = ''] = /name="xsrf" value="(\w+)"/.exec(question.text) ?? [];
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const done = await jar.send('POST', `${url.origin}/session/end/confirm`, form, `xsrf=${xsrf}&logout=yes`);
    expect([done.status, done.headers['location']]).toEqual([303, at('/console/')]);
  });

  test.each([
    ['a page of another site', { 'sec-fetch-site': 'cross-site', 'x-console': '1' }],
    ['a form of this very site', { 'sec-fetch-site': 'same-origin' }],
    ['another origin of the same site', { 'sec-fetch-site': 'same-site', 'x-console': '1' }],
  ])('is not for %s', async (_who, headers) => {
    const jar = await signedIn();
    expect((await jar.send('POST', at('/console/auth/logout'), headers)).status).toBe(403);
    expect((await players(jar)).status).toBe(200);
  });

  test('while the provider does not answer ends the session here', async () => {
    const jar = await signedIn();
    fixture.provider.is_up = false;
    const answer = await jar.send('POST', at('/console/auth/logout'), OWN_PAGE);
    fixture.provider.is_up = true;
    expect(answer.status).toBe(200);
    expect((await players(jar)).status).toBe(401);
  });
});

describe('the provider ends sessions', () => {
  const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
  let used = 0;
  const claimsOf = (more: Record<string, unknown>) => {
    const now_s = Math.floor(Date.now() / 1000);
    const { issuer: iss, client_id: aud } = fixture.provider.settings;
    return { iss, aud, iat: now_s, exp: now_s + 120, jti: `jti-${++used}`, events: { [EVENT]: {} }, ...more };
  };
  const token = (more: Record<string, unknown>, header: Record<string, unknown> = { typ: 'logout+jwt' }) =>
    signed(claimsOf(more), fixture.provider.key, header);

  test('when the user signs out there, by another browser window or another application', async () => {
    const jar = await signedIn();
    const other = await signedIn();
    fixture.provider.told = undefined;
    const question = await jar.open(`${fixture.provider.settings.issuer}/session/end`);
    const [, xsrf = ''] = /name="xsrf" value="(\w+)"/.exec(question.text) ?? [];
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const confirm = `${fixture.provider.settings.issuer}/session/end/confirm`;
    await jar.send('POST', confirm, form, `xsrf=${xsrf}&logout=yes`);
    await expect.poll(() => fixture.provider.told).toBe('success');
    expect((await players(jar)).status).toBe(401);
    // The session of the other browser is another one at the provider, too.
    expect((await players(other)).status).toBe(200);
  });

  test('all those of a user, when the token names no session', async () => {
    const [one, two] = [await signedIn(), await signedIn()];
    fixture.provider.user = 'nobody';
    const other = await signedIn();
    const answer = await tell(fixture, await token({ sub: 'owner-1' }));
    expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store']);
    for (const jar of [one, two]) expect((await players(jar)).status).toBe(401);
    expect(codeOf(await players(other))).toBe('FORBIDDEN');
  });

  test('once by each token: a copy ends no session that began since', async () => {
    const copied = await token({ sub: 'owner-1' });
    expect((await tell(fixture, copied)).status).toBe(200);
    const jar = await signedIn();
    expect((await tell(fixture, copied)).status).toBe(400);
    expect((await players(jar)).status).toBe(200);
  });

  test.each<[what: string, make: () => Promise<string> | string]>([
    ['of another issuer', () => token({ sub: 'owner-1', iss: 'https://evil.example' })],
    ['for another client', () => token({ sub: 'owner-1', aud: 'other' })],
    ['from ten minutes ago', () => token({ sub: 'owner-1', iat: Date.now() / 1000 - 600, exp: undefined })],
    ['from the future', () => token({ sub: 'owner-1', iat: Date.now() / 1000 + 600 })],
    ['that has expired', () => token({ sub: 'owner-1', exp: Date.now() / 1000 - 120 })],
    ['without the time of its issue', () => token({ sub: 'owner-1', iat: undefined })],
    ['without an event', () => token({ sub: 'owner-1', events: undefined })],
    ['about another event', () => token({ sub: 'owner-1', events: { 'https://example.com/event': {} } })],
    ['whose event is no object', () => token({ sub: 'owner-1', events: { [EVENT]: true } })],
    ['with a nonce, as ID tokens have', () => token({ sub: 'owner-1', nonce: 'n' })],
    ['of neither a session nor a user', () => token({})],
    ['of an empty user', () => token({ sub: '' })],
    ['of a session that is no text', () => token({ sub: 'owner-1', sid: 5 })],
    ['without an id', () => token({ sub: 'owner-1', jti: undefined })],
    ['with too long an id', () => token({ sub: 'owner-1', jti: 'j'.repeat(300) })],
    ['of the type of access tokens', () => token({ sub: 'owner-1' }, { typ: 'at+jwt' })],
    ['without a signature (alg none)', () => unsigned(claimsOf({ sub: 'owner-1' }))],
    [
      'signed with the secret of the client',
      () => sharedSecret(claimsOf({ sub: 'owner-1' }), fixture.provider.key.kid),
    ],
    [
      'signed by a key that the provider does not publish',
      async () => signed(claimsOf({ sub: 'owner-1' }), other_key),
    ],
    [
      'signed by another key of the same name',
      async () => signed(claimsOf({ sub: 'owner-1' }), { ...other_key, kid: fixture.provider.key.kid }),
    ],
    ['that was changed after it was signed', async () => changed(await token({ sub: 'owner-2' }))],
    ['that is none', () => 'x'],
    ['that is empty', () => ''],
    ['that is too long', () => 'a'.repeat(10_000)],
    [
      'sent twice in one form',
      async () => `${await token({ sub: 'owner-1' })}&logout_token=${await token({ sub: 'owner-1' })}`,
    ],
  ])('but not by a token %s', async (_what, make) => {
    const jar = await signedIn();
    const answer = await tell(fixture, await make());
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 'invalid_request' });
    expect((await players(jar)).status).toBe(200);
  });

  test('but not by the ID token of the session', async () => {
    const jar = await signedIn();
    let id_token = '';
    fixture.provider.forge = async (claims, key) => (id_token = await signed({ ...claims }, key));
    await signedIn();
    expect((await tell(fixture, id_token)).status).toBe(400);
    expect((await players(jar)).status).toBe(200);
  });

  test('but not by a body of another kind, or one that is too long', async () => {
    const url = at('/console/auth/backchannel-logout');
    const json = { 'content-type': 'application/json' };
    const jar = new CookieJar();
    expect((await jar.send('POST', url, json, JSON.stringify({ logout_token: 'x' }))).status).toBe(415);
    expect((await tell(fixture, 'a'.repeat(20_000))).status).toBe(413);
    expect((await jar.send('POST', url)).status).toBe(400);
  });
});
