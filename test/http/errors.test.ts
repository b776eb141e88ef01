import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../engines/until.ts';
import type { Answer } from '../engines/http-client.ts';
import { openFixture, type Fixture, type Tenant } from './api-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;

beforeAll(async () => {
  fixture = await openFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

/** The answer of `/readyz` once it names the engine; an answer may be a second old. */
const notReady = (engine: string) =>
  until(`readiness names ${engine}`, async (saw) => {
    const answer = saw(await fixture.call('/readyz'));
    const details = answer.body.error?.details as Record<string, string> | undefined;
    return details?.[engine] === 'failed' ? answer : undefined;
  });

const identify = (raw: string | Buffer, headers: Record<string, string> = {}) =>
  fixture.as(tenant.api_key, '/v1/players/identify', { method: 'POST', raw, headers });

function expectError(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.body.error?.code], answer.text.slice(0, 300)).toEqual([status, code]);
  expect(Object.keys(answer.body)).toEqual(['error']);
  expect(answer.body.error.message).not.toBe('');
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
}

test('every answer with data or an error is kept by nobody, and is what its type says', async () => {
  const answers = await Promise.all([
    fixture.as(tenant.session, '/v1/players'),
    fixture.as(tenant.session, '/v1/session'),
    fixture.as(tenant.session, `/v1/projects/${tenant.project_id}/api-keys`, {
      method: 'POST',
      body: { name: 'x' },
    }),
    identify('{"anonymous_id":"kept"}'),
    identify('{'),
    fixture.call('/v1/players'),
    fixture.call('/nope'),
    fixture.call('/openapi.json'),
    fixture.call('/metrics'),
    fixture.call('/console/auth/options'),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 200, 400, 401, 404, 200, 200, 200]);
  for (const { headers } of answers) {
    expect([headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([
      'no-store',
      'nosniff',
    ]);
  }
});

describe('paths and methods', () => {
  test('an unknown path is 404, whatever was sent to it', async () => {
    expectError(await fixture.call('/nope'), 404, 'NOT_FOUND');
    expectError(await fixture.call('/v1'), 404, 'NOT_FOUND');
    expectError(await fixture.call('/%E0%A4%A'), 404, 'NOT_FOUND');
    expectError(await fixture.call(`/v1/players/${'a'.repeat(500)}`), 404, 'NOT_FOUND');
    for (const path of ['/v1/events', '/v1/events/batch']) {
      expectError(
        await fixture.as(tenant.api_key, path, { method: 'POST', body: { event: 'x' } }),
        404,
        'NOT_FOUND',
      );
      const odd = { method: 'POST', raw: '{', headers: { 'content-type': 'text/csv' } };
      expectError(await fixture.call(path, odd), 404, 'NOT_FOUND');
    }
  });

  test('a known path with another method is 405, and Allow lists the methods', async () => {
    const answer = await fixture.call('/v1/players/x', { method: 'PUT', body: {} });
    expectError(answer, 405, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe('DELETE, GET, PATCH');
    expect((await fixture.call('/v1/players', { method: 'DELETE' })).headers.get('allow')).toBe('GET');
    expectError(await fixture.call('/v1/me?x=1', { method: 'POST', body: {} }), 405, 'METHOD_NOT_ALLOWED');
    // A literal path takes precedence over a path with an id parameter at the same position.
    const identifyByPut = await fixture.call('/v1/players/identify', { method: 'PUT', body: {} });
    expect(identifyByPut.headers.get('allow')).toBe('POST');
    const identifyByGet = await fixture.as(tenant.session, '/v1/players/identify');
    expectError(identifyByGet, 404, 'PLAYER_NOT_FOUND');
  });
});

describe('bodies', () => {
  test('invalid JSON is 400', async () => {
    for (const raw of ['{', '', 'nul', '{"a":1,}', '{"a":01}', '\ufeff{', "{'a':1}"]) {
      expectError(await identify(raw), 400, 'BODY_MALFORMED');
    }
    expectError(await identify(Buffer.from([0x22, 0xff, 0x22])), 400, 'BODY_MALFORMED');
    expectError(await identify('null'), 400, 'BODY_MALFORMED');
  });

  test('nesting over 64 levels is 400, also when it is enormous', async () => {
    const nested = (levels: number) =>
      `{"external_id":"e","traits":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
    expect((await identify(nested(62))).status).toBe(200);
    expectError(await identify(nested(63)), 400, 'BODY_MALFORMED');
    expectError(await identify(nested(60_000)), 400, 'BODY_MALFORMED');
    const deep = '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000);
    expectError(await identify(deep), 400, 'BODY_MALFORMED');
  });

  test('keys that would pollute prototypes are 400', async () => {
    for (const raw of [
      '{"external_id":"e","traits":{"__proto__":{"a":1}}}',
      '{"external_id":"e","traits":{"\\u005f_proto__":{"a":1}}}',
    ]) {
      expectError(await identify(raw), 400, 'BODY_MALFORMED');
    }
  });

  test('other names of what every object has are only names', async () => {
    const traits = {
      constructor: { prototype: { a: 1 } },
      prototype: 1,
      toString: 'x',
      hasOwnProperty: true,
    };
    const answer = await identify(JSON.stringify({ external_id: 'only-names', traits }));
    expect(answer.status, answer.text).toBe(200);
    const player = await fixture.as(tenant.session, `/v1/players/${String(answer.body.data['player_id'])}`);
    expect(player.body.data['custom_attributes']).toEqual(traits);
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });

  test('numbers beyond a double are 422', async () => {
    expectError(await identify('{"external_id":"e","traits":{"n":1e400}}'), 422, 'VALIDATION_ERROR');
  });

  test('another content type is 415, a large body 413', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'nonsense']) {
      expectError(await identify('{}', { 'content-type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE');
    }
    expectError(await identify(`{"external_id":"${'x'.repeat(130_000)}"}`), 422, 'VALIDATION_ERROR');
    expectError(await identify(`{"external_id":"${'x'.repeat(132_000)}"}`), 413, 'PAYLOAD_TOO_LARGE');
    const charset = { 'content-type': 'application/json; charset=utf-8' };
    expect((await identify('{"external_id":"e"}', charset)).status).toBe(200);
  });

  test('a caller without valid credentials gets 401 before the body is parsed', async () => {
    const request = { method: 'POST', raw: '{', headers: { 'content-type': 'text/csv' } };
    expectError(await fixture.call('/v1/players/identify', request), 401, 'UNAUTHORIZED');
  });

  test('a DELETE may carry an empty body', async () => {
    const headers = { 'content-type': 'application/json' };
    const path = '/v1/players/00000000-0000-4000-8000-000000000000';
    expectError(
      await fixture.as(tenant.session, path, { method: 'DELETE', headers }),
      404,
      'PLAYER_NOT_FOUND',
    );
  });
});

test('malformed HTTP is answered with the error envelope', async () => {
  await fixture.app.listen({ host: '127.0.0.1', port: 0 });
  const broken = await exchange('NOT HTTP AT ALL\r\n\r\n');
  expect(broken).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
  expect(broken).toContain('{"error":{"code":"BODY_MALFORMED"');
  const large = await exchange(`GET /healthz?${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`);
  expect(large).toMatch(/^HTTP\/1.1 431 Request Header Fields Too Large\r\n/);
  expect(large).toContain('{"error":{"code":"HEADERS_TOO_LARGE"');
});

/** Everything that the app answers to these bytes until it closes the connection. */
function exchange(bytes: string): Promise<string> {
  const address = fixture.app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}

describe('when an engine is down', () => {
  test('requests get 503 with Retry-After, and readiness names the engine', async () => {
    const { postgres, clickhouse } = fixture.platform;
    const player = await identify('{"external_id":"lost"}');
    const path = `/v1/players/${String(player.body.data['player_id'])}`;
    await until('it is ready', async (saw) => saw((await fixture.call('/readyz')).status) === 200);
    const realQuery = clickhouse.query.bind(clickhouse);
    const realPing = clickhouse.ping.bind(clickhouse);
    const gone = () => Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
    Object.assign(clickhouse, { query: gone, ping: gone });
    const timeline = await fixture.as(tenant.session, `${path}/timeline`);
    expectError(timeline, 503, 'SERVICE_UNAVAILABLE');
    expect(timeline.headers.get('retry-after')).toBe('1');
    const readiness = await notReady('clickhouse');
    expectError(readiness, 503, 'SERVICE_UNAVAILABLE');
    expect(readiness.body.error.details).toEqual({ postgres: 'ok', clickhouse: 'failed', event_log: 'ok' });
    expect((await fixture.as(tenant.session, path)).status).toBe(200);
    Object.assign(clickhouse, { query: realQuery, ping: realPing });

    await postgres.close();
    expectError(await fixture.as(tenant.session, path), 503, 'SERVICE_UNAVAILABLE');
    expect((await notReady('postgres')).body.error.details).toMatchObject({ postgres: 'failed' });
    expect((await fixture.call('/healthz')).status).toBe(200);
  });
});
