import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ABSOLUTE_MS, IDLE_MS } from '../../src/http/auth/console-sessions.ts';
import { internally } from '../engines/http-client.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { openTestPlatform } from '../engines/wiring.ts';

let service: TestService;
let ahead_ms = 0;

beforeAll(async () => {
  service = await startTestService({}, async (config) => {
    const platform = await openTestPlatform(config);
    return { ...platform, clock: { ...platform.clock, now_ms: () => platform.clock.now_ms() + ahead_ms } };
  });
});
afterAll(() => service.close());

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: { data?: Record<string, unknown>; error?: { code: string } };
}

/** What a page of the console sends with every request. */
const OWN_PAGE = { 'sec-fetch-site': 'same-origin', 'x-console': '1' };

/** By node:http, because `fetch` does not let a caller set Host or Sec-Fetch-Site. */
function send(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  sent?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${service.base_url}${path}`, { method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => {
        const is_json = response.headers['content-type']?.startsWith('application/json') === true;
        const body = is_json ? (JSON.parse(text) as Answer['body']) : {};
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
    });
    request.on('error', reject);
    request.end(sent);
  });
}

/** A token of the link that the service prints for a user. */
const newToken = (user_id = 'owner-1') => service.service.auth?.dev_issuer?.issueSignIn(user_id) ?? '';

const withToken = (headers: Record<string, string>, token: unknown = newToken()) =>
  send(
    'POST',
    '/console/auth/dev',
    { ...headers, 'content-type': 'application/json' },
    JSON.stringify({ token }),
  );

async function signIn(): Promise<string> {
  const answer = await withToken(OWN_PAGE);
  expect(answer.status).toBe(200);
  return String(answer.headers['set-cookie']).split(';')[0] ?? '';
}

const players = (headers: Record<string, string>) => send('GET', '/v1/players', headers);

describe('the development sign-in', () => {
  test('gives the browser a session that only this host receives and no script reads', async () => {
    const { headers, body } = await withToken(OWN_PAGE);
    expect(body.data).toEqual({ user_id: 'owner-1' });
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-session=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
    ]);
    expect(headers['cache-control']).toBe('no-store');
    expect((await send('GET', '/console/auth/options')).body.data).toEqual({
      development: true,
      provider: false,
    });
  });

  test.each([
    ['a page of another site', { 'sec-fetch-site': 'cross-site', 'x-console': '1' }],
    ['a page of the same site, another origin', { 'sec-fetch-site': 'same-site', 'x-console': '1' }],
    ['an address typed by hand', { 'sec-fetch-site': 'none', 'x-console': '1' }],
    ['a browser that says nothing', { 'x-console': '1' }],
    ['a form, which can set no header', { 'sec-fetch-site': 'same-origin' }],
    ['a name that was rebound to this machine', { ...OWN_PAGE, host: 'attacker.example:8080' }],
    ['a name that only begins like this machine', { ...OWN_PAGE, host: '127.0.0.1.attacker.example' }],
    ['a proxy', { ...OWN_PAGE, 'x-forwarded-for': '203.0.113.7' }],
    ['a proxy with the standard header', { ...OWN_PAGE, forwarded: 'for=203.0.113.7' }],
  ])('refuses %s', async (_who, headers) => {
    const token = newToken();
    const answer = await withToken(headers, token);
    expect([answer.status, answer.body.error?.code]).toEqual([403, 'FORBIDDEN']);
    expect(answer.headers['set-cookie']).toBeUndefined();
    // What was refused did not use the token up.
    expect((await withToken(OWN_PAGE, token)).status).toBe(200);
  });

  test('wants the token of the printed link, and takes it once', async () => {
    const token = newToken();
    expect((await withToken(OWN_PAGE, token)).body.data).toEqual({ user_id: 'owner-1' });
    for (const used of [token, '', 'A'.repeat(43), null, 7, 'x'.repeat(5_000)]) {
      const answer = await withToken(OWN_PAGE, used);
      expect([answer.status, answer.body.error?.code], String(used)).toEqual([403, 'FORBIDDEN']);
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
    // As the console did before, and as a proxy passes it on.
    expect((await send('POST', '/console/auth/dev', OWN_PAGE)).status).toBe(403);
  });

  test('can be asked for with the internal secret', async () => {
    const { status, data } = await internally<{ sign_in_token: string }>(service, 'dev-sign-ins', {
      user_id: 'somebody',
    });
    expect(status).toBe(201);
    expect((await withToken(OWN_PAGE, data.sign_in_token)).body.data).toEqual({ user_id: 'somebody' });
  });

  test('takes the other names of this machine', async () => {
    const { port } = new URL(service.base_url);
    const answer = await withToken({ ...OWN_PAGE, host: `localhost:${port}` });
    expect(answer.status).toBe(200);
  });
});

describe('a session cookie', () => {
  test('is a session of its user, with the role and tenant of the memberships', async () => {
    const cookie = await signIn();
    expect((await players({ ...OWN_PAGE, cookie })).status).toBe(200);
    const other = await service.newTenant();
    const elsewhere = await players({ ...OWN_PAGE, cookie, 'x-tenant-id': other.tenant_id });
    expect([elsewhere.status, elsewhere.body.error?.code]).toEqual([403, 'FORBIDDEN']);
  });

  test.each([
    ['from another site', { 'sec-fetch-site': 'cross-site' }],
    ['from another origin of the same site', { 'sec-fetch-site': 'same-site' }],
    ['without Sec-Fetch-Site', {}],
  ])('does not count in a request %s', async (_how, headers) => {
    const answer = await players({ ...headers, 'x-console': '1', cookie: await signIn() });
    expect([answer.status, answer.body.error?.code]).toEqual([403, 'FORBIDDEN']);
  });

  test('changes nothing without X-Console', async () => {
    const cookie = await signIn();
    const post = (headers: Record<string, string>) =>
      send('POST', '/v1/segments/preview', { cookie, 'sec-fetch-site': 'same-origin', ...headers });
    expect((await post({})).body.error?.code).toBe('FORBIDDEN');
    expect((await post({ 'x-console': '0' })).body.error?.code).toBe('FORBIDDEN');
    expect((await post({ 'x-console': '1' })).body.error?.code).toBe('BODY_MALFORMED');
  });

  test.each([
    ['of no session', '__Host-session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['that is too short', '__Host-session=AAAA'],
    ['under a name without the prefix', 'session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
  ])('%s is refused', async (_what, cookie) => {
    const answer = await players({ ...OWN_PAGE, cookie });
    expect([answer.status, answer.body.error?.code]).toEqual([401, 'UNAUTHORIZED']);
  });

  test('that was sent twice is refused: nobody can tell which one is meant', async () => {
    const [one, two] = [await signIn(), await signIn()];
    expect((await players({ ...OWN_PAGE, cookie: `${one}; ${two}` })).status).toBe(401);
    expect((await players({ ...OWN_PAGE, cookie: `a=b; ${one}; c=d` })).status).toBe(200);
  });

  test('is no API key, no internal secret, and does not help a bad token', async () => {
    const cookie = await signIn();
    expect((await send('GET', '/v1/me', { ...OWN_PAGE, cookie })).status).toBe(401);
    expect((await send('POST', '/v1/internal/tenants', { ...OWN_PAGE, cookie })).status).toBe(401);
    expect((await players({ ...OWN_PAGE, cookie, authorization: 'Bearer bad' })).status).toBe(401);
    expect((await send('POST', '/v1/events', { ...OWN_PAGE, cookie })).status).toBe(404);
  });

  test('is different after each sign-in, and the one before stays valid until it is signed out', async () => {
    const [one, two] = [await signIn(), await signIn()];
    expect(one).not.toBe(two);
    const left = await send('POST', '/console/auth/logout', { ...OWN_PAGE, cookie: one });
    expect(left.headers['set-cookie']).toEqual([expect.stringContaining('Max-Age=0')]);
    expect((await players({ ...OWN_PAGE, cookie: one })).body.error?.code).toBe('UNAUTHORIZED');
    expect((await players({ ...OWN_PAGE, cookie: two })).status).toBe(200);
  });

  test('is not signed out by a page of another site', async () => {
    const cookie = await signIn();
    const answer = await send('POST', '/console/auth/logout', { cookie, 'sec-fetch-site': 'cross-site' });
    expect(answer.status).toBe(403);
    expect((await players({ ...OWN_PAGE, cookie })).status).toBe(200);
  });
});

describe('a session ends', () => {
  test('when it is not used for half an hour, and not while it is', async () => {
    const cookie = await signIn();
    ahead_ms += IDLE_MS - 60_000;
    expect((await players({ ...OWN_PAGE, cookie })).status).toBe(200);
    ahead_ms += IDLE_MS - 60_000;
    expect((await players({ ...OWN_PAGE, cookie })).status).toBe(200);
    ahead_ms += IDLE_MS + 60_000;
    expect((await players({ ...OWN_PAGE, cookie })).status).toBe(401);
  });

  test('after twelve hours, however busy', async () => {
    const cookie = await signIn();
    for (let at_ms = 0; at_ms < ABSOLUTE_MS - IDLE_MS; at_ms += IDLE_MS / 2) {
      ahead_ms += IDLE_MS / 2;
      expect((await players({ ...OWN_PAGE, cookie })).status).toBe(200);
    }
    ahead_ms += IDLE_MS;
    expect((await players({ ...OWN_PAGE, cookie })).status).toBe(401);
  });
});
