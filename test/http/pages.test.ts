import { deflateSync, gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildIntakeApp } from '../../src/app/intake-app.ts';
import { ADDRESS_POLICY } from '../../src/http/auth/address-limit.ts';
import { createMemoryRateLimiter } from '../../src/platform/rate-limit/memory.ts';
import { openFixture, type Fixture, type Tenant } from './api-fixture.ts';

const ORIGIN = 'https://casino.example';
const FOREIGN = ['https://evil.example', 'http://casino.example', 'https://casino.example:8443', 'null'];
const EXPOSED = 'Date, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';
const NATIVE_HEADERS = 'authorization, content-type, x-retry-count, content-encoding, idempotency-key';
const PATHS = ['/v1/events', '/v1/events/batch', '/v1/players/identify'] as const;
type Path = (typeof PATHS)[number];

let fixture: Fixture;
let intake: FastifyInstance;
let tenant: Tenant;
let page_key: string;
let now_ms = Date.parse('2026-03-01T12:00:00Z');
const clock = { now_ms: () => now_ms };
beforeAll(async () => {
  fixture = await openFixture({ TRUSTED_PROXIES: '127.0.0.1/32' });
  tenant = await fixture.makeTenant();
  page_key = await clientKey(tenant);
  intake = intakeWith(createMemoryRateLimiter({ clock }));
});
afterAll(async () => {
  await intake?.close();
  await fixture?.close();
});

function intakeWith(rateLimiter: ReturnType<typeof createMemoryRateLimiter>): FastifyInstance {
  const { platform, auth, deps, config } = fixture;
  const defaultPolicy = { name: 'ingest', ...config.rates.ingest };
  const own = { ...platform, clock, rateLimiter, apiKeys: auth.api_keys, capabilities: deps.capabilities };
  const rejected = { note: () => undefined };
  return buildIntakeApp({ ...own, rejected, defaultPolicy }, platform.logger, {
    trusted_proxies: ['127.0.0.1'],
  });
}

async function clientKey({ session, project_id }: Tenant, allowed_origins = [ORIGIN]): Promise<string> {
  const body = { name: 'page', kind: 'client', allowed_origins };
  const answer = await fixture.as(session, `/v1/projects/${project_id}/api-keys`, { method: 'POST', body });
  expect(answer.status, answer.text).toBe(201);
  return String(answer.data['key']);
}

let addresses = 0;
/** An address that no other call has. */
const newAddress = () => `10.1.${++addresses >> 8}.${addresses & 255}`;

interface Sent {
  key?: string | undefined;
  origin?: string | undefined;
  body?: unknown;
  raw?: Buffer | string;
  address?: string;
  headers?: Record<string, string>;
  method?: 'POST' | 'OPTIONS';
}

const hostOf = (path: Path) => (path === '/v1/players/identify' ? fixture.app : intake);
const view = { event: 'page_view', anonymous_id: 'visitor-1' };
const BODIES: Readonly<Record<Path, unknown>> = {
  '/v1/events': view,
  '/v1/events/batch': { events: [view, view] },
  '/v1/players/identify': { anonymous_id: 'visitor-1' },
};

async function send(path: Path, sent: Sent = {}) {
  const { key = page_key, origin, body = BODIES[path], raw, address = newAddress(), method = 'POST' } = sent;
  const headers: Record<string, string> = { 'x-forwarded-for': address, ...sent.headers };
  if (method === 'POST') {
    headers['content-type'] ??= 'application/json';
    if (key !== '') headers['authorization'] = `Bearer ${key}`;
  }
  if (origin !== undefined) headers['origin'] = origin;
  const payload = method === 'POST' ? (raw ?? JSON.stringify(body)) : undefined;
  const answer = await hostOf(path).inject({
    method,
    url: path,
    headers,
    ...(payload === undefined ? {} : { payload }),
  });
  const code = answer.statusCode < 400 ? undefined : answer.json<{ error: { code: string } }>().error.code;
  return { status: answer.statusCode, code, headers: answer.headers, text: answer.body };
}

const READABLE = { 'access-control-allow-origin': ORIGIN, 'access-control-expose-headers': EXPOSED };

describe.each(PATHS)('%s', (path) => {
  it('answers the preflight of any origin, without a key, for two hours', async () => {
    for (const origin of [ORIGIN, ...FOREIGN]) {
      const headers = {
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      };
      const answer = await send(path, { method: 'OPTIONS', origin, headers });
      expect(answer).toMatchObject({ status: 204, text: '' });
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': NATIVE_HEADERS,
        'access-control-max-age': '7200',
        vary: 'Origin',
      });
      expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
    }
  });

  it('takes what pages of its key and apps send, and lets other pages read that it does not', async () => {
    const page = await send(path, { origin: ORIGIN });
    expect(page.status, page.text).toBeLessThan(300);
    expect(page.headers).toMatchObject({ ...READABLE, vary: 'Origin' });
    const app = await send(path);
    expect(app.status, app.text).toBeLessThan(300);
    expect(app.headers).toMatchObject({ vary: 'Origin' });
    expect(app.headers).not.toHaveProperty('access-control-allow-origin');
    for (const origin of FOREIGN) {
      const foreign = await send(path, { origin });
      expect(foreign, origin).toMatchObject({ status: 403, code: 'FORBIDDEN' });
      // The page reads why, and does not take it for a failure of the network.
      expect(foreign.headers).toMatchObject({
        ...READABLE,
        'access-control-allow-origin': origin,
        vary: 'Origin',
      });
    }
  });

  it('takes what a server key sends from a page, which cannot read the answer', async () => {
    const answer = await send(path, { key: tenant.api_key, origin: ORIGIN });
    expect(answer.status, answer.text).toBeLessThan(300);
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    expect(answer.headers).not.toHaveProperty('access-control-expose-headers');
  });

  it('lets a page read errors, and when to try again', async () => {
    const unknown = await send(path, { key: '', origin: ORIGIN });
    expect(unknown).toMatchObject({ status: 401, headers: READABLE });
    const malformed = await send(path, { origin: ORIGIN, raw: '{' });
    expect(malformed).toMatchObject({ status: 400, headers: READABLE });
    const typed = await send(path, { origin: ORIGIN, headers: { 'content-type': 'text/plain' } });
    expect(typed).toMatchObject({ status: 415, headers: READABLE });
    const large = await send(path, { origin: ORIGIN, raw: ' '.repeat(1024 * 1024 + 1) });
    expect(large).toMatchObject({ status: 413, headers: READABLE });
    const address = newAddress();
    await drain(path, address);
    const late = await send(path, { origin: ORIGIN, address });
    expect(late).toMatchObject({ status: 429, code: 'RATE_LIMITED', headers: READABLE });
    expect(Number(late.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('takes gzip and deflate, within the limit of the body', async () => {
    const plain = JSON.stringify(BODIES[path]);
    for (const [encoding, compress] of [
      ['gzip', gzipSync],
      ['deflate', deflateSync],
    ] as const) {
      const headers = { 'content-encoding': encoding };
      const whole = compress(plain);
      const taken = await send(path, { raw: whole, headers });
      expect(taken.status, taken.text).toBeLessThan(300);
      const cut = await send(path, { raw: whole.subarray(0, -6), headers });
      expect(cut).toMatchObject({ status: 400, code: 'BODY_MALFORMED' });
      const limit = path === '/v1/players/identify' ? 128 : 1024;
      const bomb = compress(`${plain}${' '.repeat(limit * 1024)}`);
      expect(await send(path, { raw: bomb, headers })).toMatchObject({
        status: 413,
        code: 'PAYLOAD_TOO_LARGE',
      });
    }
    for (const encoding of ['br', 'zstd', 'gzip, gzip', 'x'])
      expect(await send(path, { headers: { 'content-encoding': encoding } })).toMatchObject({
        status: 415,
        code: 'UNSUPPORTED_MEDIA_TYPE',
      });
  });

  it('authenticates before it inflates', async () => {
    const headers = { 'content-encoding': 'gzip' };
    expect(await send(path, { key: '', raw: Buffer.from('no gzip'), headers })).toMatchObject({
      status: 401,
    });
  });
});

/** Uses up what an address may send. */
async function drain(path: Path, address: string): Promise<void> {
  if (path === '/v1/players/identify') {
    // So much that the bucket is not refilled during the test.
    await fixture.platform.rateLimiter.take(ADDRESS_POLICY, `${tenant.project_id}/${address}`, 4_000);
    return;
  }
  for (let batch = 0; batch < 4; batch++) {
    const events = Array.from({ length: 100 }, () => view);
    expect((await send('/v1/events/batch', { address, body: { events } })).status).toBe(202);
  }
}

describe('the limit of an address', () => {
  const batch = (size: number) => ({ events: Array.from({ length: size }, () => view) });

  it('is 400 events at once and 20 a second, counted in events', async () => {
    const address = newAddress();
    await drain('/v1/events/batch', address);
    const refused = await send('/v1/events', { address });
    expect(refused).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
    expect(refused.headers).toMatchObject({
      'retry-after': '1',
      'x-ratelimit-limit': '400',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '20',
    });
    now_ms += 2_000;
    const large = await send('/v1/events/batch', { address, body: batch(60) });
    expect(large).toMatchObject({ status: 429 });
    expect(large.headers['retry-after']).toBe('1');
    const fitting = await send('/v1/events/batch', { address, body: batch(30) });
    expect(fitting.status, fitting.text).toBe(202);
    expect(fitting.headers['x-ratelimit-limit']).toBe('400');
    expect((await send('/v1/events/batch', { address, body: batch(30) })).status).toBe(429);
  });

  it('stops neither the server keys of the address, nor other addresses and projects', async () => {
    const address = newAddress();
    await drain('/v1/events', address);
    expect((await send('/v1/events', { address })).status).toBe(429);
    for (let call = 0; call < 5; call++) {
      const sent = { address, key: tenant.api_key, body: batch(100) };
      const answer = await send('/v1/events/batch', sent);
      expect(answer.status).toBe(202);
      expect(Number(answer.headers['x-ratelimit-limit'])).toBeGreaterThan(400);
    }
    expect((await send('/v1/events', {})).status).toBe(202);
    const other = await clientKey(await fixture.makeTenant());
    expect((await send('/v1/events', { address, key: other })).status).toBe(202);
  });

  it('is that of the client behind trusted proxies, and of the whole /64', async () => {
    await drain('/v1/events', '2001:db8:1:2::1');
    expect((await send('/v1/events', { address: '2001:db8:1:2:ffff::9' })).status).toBe(429);
    expect((await send('/v1/events', { address: '2001:db8:1:3::1' })).status).toBe(202);
    // What a client writes itself stands before what the proxy has seen.
    expect((await send('/v1/events', { address: '1.2.3.4, 2001:db8:1:2::5' })).status).toBe(429);
  });
});
