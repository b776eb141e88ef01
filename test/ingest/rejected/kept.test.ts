import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildIntakeApp } from '../../../src/app/intake-app.ts';
import { cleanUpRejections } from '../../../src/ingest/rejected/clean-up.ts';
import {
  MAX_ROWS_OF_DAY,
  rejectionsWriter,
  type RejectionRow,
} from '../../../src/ingest/rejected/queries.ts';
import { RejectedEvents } from '../../../src/ingest/rejected/rejected-events.ts';
import { NIL_ID } from '../../../src/platform/ids.ts';
import { createMemoryRateLimiter } from '../../../src/platform/rate-limit/memory.ts';
import { openFixture, type Fixture, type Tenant } from '../../http/api-fixture.ts';

let fixture: Fixture;
let intake: FastifyInstance;
let rejected: RejectedEvents;
let tenant: Tenant;
let now_ms = Date.parse('2026-03-01T23:59:00Z');
const clock = { now_ms: () => now_ms };
beforeAll(async () => {
  fixture = await openFixture();
  const { platform, auth, deps } = fixture;
  const { postgres, logger, metrics } = platform;
  tenant = await fixture.makeTenant();
  rejected = new RejectedEvents({ write: rejectionsWriter(postgres.service), clock, logger, metrics });
  intake = buildIntakeApp(
    {
      ...platform,
      clock,
      rateLimiter: createMemoryRateLimiter({ clock }),
      rejected,
      apiKeys: auth.api_keys,
      capabilities: deps.capabilities,
      defaultPolicy: { name: 'ingest', per_second: 1, burst: 100 },
    },
    logger,
  );
});
afterAll(async () => {
  await rejected?.close();
  await intake?.close();
  await fixture?.close();
});

const SDK = { 'user-agent': 'player-engagement/1.0' };
async function send(key: string, path: string, body: unknown, headers: Record<string, string> = {}) {
  const raw = Buffer.isBuffer(body) || typeof body === 'string';
  const answer = await intake.inject({
    method: 'POST',
    url: path,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...SDK, ...headers },
    payload: raw ? body : JSON.stringify(body),
  });
  return answer.statusCode;
}

interface Shown {
  id: string;
  code: string;
  reason: string;
  event: string | null;
  index: number | null;
  shape: string | null;
  api_key: { id: string; name: string; prefix: string } | null;
  client: string;
  count: number;
  last_at: string;
}

async function shown(of = tenant, query = ''): Promise<Shown[]> {
  const answer = await fixture.as(of.session, `/v1/rejected-events${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.data as unknown as Shown[];
}

it('what a key is refused is shown, in batches and alone, and nothing of other keys', async () => {
  const { session, project_id, api_key } = tenant;
  const made = await fixture.as(session, `/v1/projects/${project_id}/api-keys`, {
    method: 'POST',
    body: { name: 'page', kind: 'client', allowed_origins: [] },
  });
  const page_key = String(made.data['key']);
  const login = { event: 'login', anonymous_id: 'a' };
  const deposit = { event: 'deposit_confirmed', anonymous_id: 'a', properties: { amount: 25.5 } };
  expect(await send(api_key, '/v1/events/batch', { events: [login, deposit, login, deposit, 7] })).toBe(202);
  expect(await send(api_key, '/v1/events', { event: 'Ann ann@casino.example', anonymous_id: 'a' })).toBe(422);
  expect(await send(api_key, '/v1/events', '{')).toBe(400);
  expect(await send(api_key, '/v1/events/batch', { events: [] })).toBe(422);
  expect(await send(api_key, '/v1/events', 'x', { 'content-type': 'text/plain' })).toBe(415);
  expect(
    await send(api_key, '/v1/events', gzipSync(Buffer.alloc(1_100_000)), { 'content-encoding': 'gzip' }),
  ).toBe(413);
  expect(await send(page_key, '/v1/events', login)).toBe(403);
  expect(await send(page_key, '/v1/events', login, { origin: 'https://evil.example' })).toBe(403);
  expect(await send(`${api_key.slice(0, -3)}abc`, '/v1/events', login)).toBe(401);
  for (let call = 0; call < 100; call++) await send(api_key, '/v1/events', login);
  now_ms += 1_000;
  await rejected.flush();

  const rows = await shown();
  const summary = rows.map(({ code, event, index, count, client }) => [code, event, index, count, client]);
  const of_sdk = (...row: unknown[]) => [...row, 'sdk'];
  const byText = (unsorted: unknown[]) => unsorted.map((row) => JSON.stringify(row)).toSorted();
  expect(byText(summary)).toEqual(
    byText([
      of_sdk('PROPERTIES_INVALID', 'deposit_confirmed', 1, 2),
      of_sdk('BODY_MALFORMED', null, 4, 1),
      of_sdk('PROPERTIES_INVALID', 'Ann …', null, 1),
      of_sdk('BODY_MALFORMED', null, null, 1),
      of_sdk('VALIDATION_ERROR', null, null, 1),
      of_sdk('UNSUPPORTED_MEDIA_TYPE', null, null, 1),
      of_sdk('PAYLOAD_TOO_LARGE', null, null, 1),
      of_sdk('KEY_KIND_FORBIDDEN', 'login', null, 1),
      of_sdk('FORBIDDEN', null, null, 1),
      of_sdk('RATE_LIMITED', null, null, 6),
    ]),
  );
  const amount = rows.find(({ event }) => event === 'deposit_confirmed');
  expect(amount).toMatchObject({
    reason: expect.stringContaining('properties.currency is required') as string,
    shape: '{"event":"text(17)","anonymous_id":"text(1)","properties":{"amount":25.5}}',
    api_key: { name: 'k', prefix: api_key.slice(0, 'svc_pk_dev_12345678'.length) },
    last_at: '2026-03-01T23:59:00.000Z',
  });
  expect(JSON.stringify(rows)).not.toContain('ann@');
  expect(await shown(await fixture.makeTenant())).toEqual([]);
});

it('a name with NUL is kept without it, and keeps nothing else from being stored', async () => {
  const [of_nul, other] = [await fixture.makeTenant(), await fixture.makeTenant()];
  expect(await send(of_nul.api_key, '/v1/events', { event: 'a\0b', anonymous_id: 'a' })).toBe(422);
  const { tenant_id, project_id } = of_nul;
  const key = { tenant_id, project_id, key_id: NIL_ID };
  rejected.note({ key, code: 'PROPERTIES_INVALID', reason: 'a\0b', name: '\0', client: 'lib\0rary' });
  expect(await send(other.api_key, '/v1/events', { event: 'level_up', anonymous_id: 'a' })).toBe(422);
  await rejected.flush();
  expect(await shown(other)).toMatchObject([{ event: 'level_up' }]);
  expect(new Set((await shown(of_nul)).map(({ event, client }) => `${event} ${client}`))).toEqual(
    new Set(['a\ufffdb sdk', '\ufffd lib\ufffdrary']),
  );
});

it('the list is read in pages, the latest first, and repeated refusals are added', async () => {
  const other = await fixture.makeTenant();
  for (const name of ['one', 'two', 'three']) {
    await send(other.api_key, '/v1/events', { event: name, anonymous_id: 'a' });
    now_ms += 1_000;
  }
  await rejected.flush();
  await send(other.api_key, '/v1/events', { event: 'one', anonymous_id: 'a' });
  now_ms += 70_000;
  await rejected.flush();
  expect((await shown(other)).map(({ event, count }) => [event, count])).toEqual([
    ['one', 2],
    ['three', 1],
    ['two', 1],
  ]);
  const first = await fixture.as(other.session, '/v1/rejected-events?limit=2');
  expect(await shown(other, `?limit=2&cursor=${first.next_cursor ?? ''}`)).toMatchObject([{ event: 'two' }]);
});

it('a project has so many rows of a day, and what comes last over 7 days ago is removed', async () => {
  const { tenant_id, project_id } = await fixture.makeTenant();
  const { postgres } = fixture.platform;
  const write = rejectionsWriter(postgres.service);
  const row = (number: number, last_at: Date): RejectionRow => ({
    tenant_id,
    project_id,
    rejection_key: String(number).padStart(32, '0'),
    key_id: null,
    code: 'BODY_MALFORMED',
    reason: `reason ${number}`,
    event: null,
    client: 'other',
    event_index: null,
    shape: null,
    rejections: 1,
    first_at: last_at,
    last_at,
  });
  const today = new Date('2026-03-02T00:00:00Z');
  const rows = Array.from({ length: MAX_ROWS_OF_DAY }, (_, number) => row(number, today));
  await write(rows.slice(0, 500));
  await write(rows.slice(500));
  await write([row(5, today), row(MAX_ROWS_OF_DAY, today), row(9_999, new Date('2026-03-03T00:00:00Z'))]);
  const counts = await postgres.service<{ rejections: bigint; rows: bigint }[]>`
    select sum(rejections)::bigint as rejections, count(*) as rows from rejected_events
    where tenant_id = ${tenant_id}`;
  expect(counts).toEqual([{ rejections: BigInt(MAX_ROWS_OF_DAY + 2), rows: BigInt(MAX_ROWS_OF_DAY + 1) }]);
  const at = Date.parse('2026-03-09T12:00:00Z');
  await cleanUpRejections({ ...fixture.platform, clock: { now_ms: () => at } });
  const left = await postgres.service`select from rejected_events where tenant_id = ${tenant_id}`;
  expect(left).toHaveLength(1);
});
