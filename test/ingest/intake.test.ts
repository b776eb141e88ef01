import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeadLetter } from '../../src/ingest/events/envelope.ts';
import type { LogBatch, LogRecord } from '../../src/platform/event-log/port.ts';
import { folded, startTestService, sunk, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import type { Answer } from '../engines/http-client.ts';
import { acceptedSoFar, expectError, send } from './intake-client.ts';
import { CANONICAL, custom, deposit, inHours, login, propertiesOf } from './sound-events.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const one = (body: unknown) => send(`${service.ingest_url}/v1/events`, service.api_key, { body });
const many = (body: unknown) => send(`${service.ingest_url}/v1/events/batch`, service.api_key, { body });

async function readAll(batches: AsyncIterable<LogBatch>): Promise<LogRecord[]> {
  const all: LogRecord[] = [];
  for await (const { records } of batches) all.push(...records);
  return all;
}

describe('the events of the specification', () => {
  it.each([...CANONICAL, 'custom_wheel_spun'])('the event %s is accepted', async (event) => {
    const answer = await one(login({ event, properties: propertiesOf(event) }));
    expect(answer, answer.text).toMatchObject({
      status: 202,
      body: {
        data: {
          ingestion_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
          accepted: true,
          tenant_id: service.tenant_id,
          project_id: service.project_id,
        },
      },
    });
  });

  it.each([
    ['no properties', login()],
    ['no timestamp and all three ids', login({ external_id: 'x' })],
    ['a timestamp with an offset', login({ timestamp: '2026-01-15T12:00:00+02:00' })],
    ['a timestamp to the microsecond', login({ timestamp: '2026-01-15T12:00:00.123456Z' })],
    ['a leap day', login({ timestamp: '2024-02-29T23:59:59Z' })],
    ['a time long past', login({ timestamp: '1970-01-01T00:00:00Z' })],
    ['a clock that is ahead', login({ timestamp: inHours(23) })],
    ['an amount of nothing', deposit({ amount: 0, transaction_id: 'zero' })],
    ['the largest exact amount', deposit({ amount: 2 ** 53 - 1, transaction_id: 'large' })],
    ['a larger amount as digits', deposit({ amount: '9007199254740993', transaction_id: 'larger' })],
    ['10 ETH in wei', deposit({ amount: '10000000000000000000', currency: 'ETH', transaction_id: 'wei' })],
    ['free properties beside the known ones', deposit({ transaction_id: 'free', campaign: { id: [1, 2] } })],
    ['any script and emoji', login({ anonymous_id: 'نص 文字 😀 \u2028', external_id: '"\\{}' })],
    ['an empty properties object', custom({})],
    ['numbers of every kind', custom({ a: -0.1, b: 1e21, c: 1e-9, d: Number.MAX_VALUE })],
    ['deep but bounded nesting', custom({ a: { b: { c: { d: [[[1]]] } } } })],
  ])('%s is accepted', async (_what, body) => {
    const answer = await one(body);
    expect(answer.status, answer.text).toBe(202);
  });

  it('a content type with a charset is accepted', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    const answer = await send(`${service.ingest_url}/v1/events`, service.api_key, { body: login(), headers });
    expect(answer.status).toBe(202);
  });
});

describe('who may send events', () => {
  const wrong = (text: string) => text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A');

  it.each<[string, (key: string) => string | undefined]>([
    ['no Authorization header', () => undefined],
    ['an empty one', () => ''],
    ['no scheme', (key) => key],
    ['another scheme', (key) => `Basic ${key}`],
    ['an empty token', () => 'Bearer '],
    ['nonsense', () => 'Bearer nonsense'],
    ['half a key', (key) => `Bearer ${key.slice(0, 30)}`],
    ['a key and more', (key) => `Bearer ${key}x`],
    ['a wrong secret', (key) => `Bearer ${wrong(key)}`],
    ['an unknown key', (key) => `Bearer ${key.replace(/_dev_.{8}_/, '_dev_zzzzzzzz_')}`],
    ['a key of another environment', (key) => `Bearer ${key.replace('_dev_', '_prod_')}`],
    ['an admin session', () => `Bearer ${service.session_token}`],
  ])('a request with %s is not authorised', async (_what, header) => {
    const before = await acceptedSoFar(service);
    for (const path of ['/v1/events', '/v1/events/batch']) {
      const headers = { authorization: header(service.api_key) };
      const answer = await send(service.ingest_url + path, '', { body: login(), headers });
      expectError(answer, 401, 'UNAUTHORIZED');
      expect(answer.text).not.toContain(service.api_key.slice(-20));
    }
    expect(await acceptedSoFar(service)).toBe(before);
  });

  it('a revoked key is refused at once', async () => {
    const keys = `${service.base_url}/v1/projects/${service.project_id}/api-keys`;
    const made = await send(keys, service.session_token, { body: { name: 'short-lived' } });
    const { id, key } = made.body.data as { id: string; key: string };
    const url = `${service.ingest_url}/v1/events`;
    expect((await send(url, key, { body: login() })).status).toBe(202);
    const headers = { 'content-type': undefined };
    const revoked = await send(`${keys}/${id}`, service.session_token, { method: 'DELETE', headers });
    expect(revoked.status).toBe(200);
    expectError(await send(url, key, { body: login() }), 401, 'UNAUTHORIZED');
  });

  it('the base host accepts no events, and the ingestion host nothing else', async () => {
    for (const path of ['/v1/events', '/v1/events/batch']) {
      expectError(await send(service.base_url + path, service.api_key, { body: login() }), 404, 'NOT_FOUND');
    }
    for (const path of ['/v1/players/identify', '/v1/players', '/v1/me', '/', '/v1/events/', '/v1/EVENTS']) {
      const answer = await send(service.ingest_url + path, service.api_key, { body: login() });
      expectError(answer, 404, 'NOT_FOUND');
    }
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const headers = { 'content-type': undefined };
      const url = `${service.ingest_url}/v1/events`;
      expectError(await send(url, service.api_key, { method, headers }), 405, 'METHOD_NOT_ALLOWED');
    }
  });
});

describe('after the 202', () => {
  async function identify(anonymous_id: string): Promise<string> {
    const url = `${service.base_url}/v1/players/identify`;
    const answer = await send(url, service.api_key, { body: { anonymous_id } });
    return String(answer.body.data?.['player_id']);
  }
  const read = async (path: string, method = 'GET'): Promise<Answer> =>
    send(service.base_url + path, service.session_token, { method, headers: { 'content-type': undefined } });

  it('events of a deleted player are kept and counted, and never revive the player', async () => {
    const player_id = await identify('to be deleted');
    await read(`/v1/players/${player_id}`, 'DELETE');
    const events = [
      { ...deposit({ amount: 700, transaction_id: 'of the deleted' }), anonymous_id: undefined, player_id },
      login({ anonymous_id: 'to be deleted', event: 'session_start' }),
      { event: 'self_exclusion_set', player_id },
      { event: 'self_exclusion_lifted', player_id },
    ];
    expect((await many({ events })).body.data).toMatchObject({ accepted: 4, rejected: [] });
    await sunk(service.platform);
    const player = await read(`/v1/players/${player_id}`);
    expect(player.body.data).toMatchObject({ status: 'deleted', total_deposited: 700, session_count: 1 });
    expect(player.body.data?.['deleted_at']).not.toBeNull();
    const timeline = await read(`/v1/players/${player_id}/timeline`);
    expect(timeline.body.data).toHaveLength(4);
    const listed = await read('/v1/players?limit=200');
    expect(listed.text).not.toContain(player_id);
  });

  it('lifting an exclusion never lifts a ban', async () => {
    const player_id = await identify('banned');
    const patch = { method: 'PATCH', body: { status: 'banned' } };
    const banned = await send(`${service.base_url}/v1/players/${player_id}`, service.session_token, patch);
    expect(banned.status).toBe(200);
    const events = ['self_exclusion_set', 'self_exclusion_lifted'].map((event) => ({ event, player_id }));
    await many({ events });
    await folded(service.platform);
    expect((await read(`/v1/players/${player_id}`)).body.data).toMatchObject({ status: 'banned' });
  });

  it('an event that cannot be folded becomes a dead letter with its reason, its position and its text', async () => {
    const { eventLog } = service.platform;
    const from = await eventLog.endOffsets('dead-letters');
    const player_id = '01900000-0000-7000-8000-000000000000';
    expect((await one({ event: 'login', player_id })).status).toBe(202);
    await eventLog.append('events', [{ key: 'foreign', value: 'not even JSON' }]);
    expect((await one(login())).status).toBe(202);
    await folded(service.platform);
    const letters = await until('two dead letters', async (saw) => {
      const ends = [...saw(await eventLog.endOffsets('dead-letters'))];
      const parts = ends.map(([partition, end]) =>
        readAll(eventLog.read('dead-letters', partition, from.get(partition) ?? 0n, end)),
      );
      const found = saw(await Promise.all(parts)).flat();
      return found.length >= 2 ? found : undefined;
    });
    const key = `${service.project_id}:${player_id}`;
    const contents = letters.map((record) => JSON.parse(record.value) as DeadLetter);
    expect(letters.map((record) => record.key).sort()).toEqual([key, 'foreign'].sort());
    expect(contents).toHaveLength(2);
    const common = { partition: expect.any(Number) as number, offset: expect.any(String) as string };
    expect(contents).toContainEqual({
      ...common,
      reason: 'UNKNOWN_PLAYER',
      message: expect.stringContaining(player_id) as string,
      key,
      value: expect.stringContaining(`"event":{"event":"login","player_id":"${player_id}"}`) as string,
      at_ms: expect.any(Number) as number,
    });
    expect(contents).toContainEqual({
      ...common,
      reason: 'MALFORMED_RECORD',
      message: expect.stringMatching(/JSON/) as string,
      key: 'foreign',
      value: 'not even JSON',
      at_ms: expect.any(Number) as number,
    });
    for (const { partition, offset, value } of contents) {
      const place = BigInt(offset);
      const [there] = await readAll(eventLog.read('events', partition, place, place + 1n));
      expect(there).toMatchObject({ offset: place, value });
    }
  });
});
