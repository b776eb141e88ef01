import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiEndpoints } from '../../src/app/api-app.ts';
import { buildIntakeApp } from '../../src/app/intake-app.ts';
import { INGESTION_DOCS } from '../../src/app/ingestion-docs.ts';
import { EVENTS } from '../../src/ingest/events/catalogue.ts';
import type { NewRecord } from '../../src/platform/event-log/port.ts';
import { callApp } from '../engines/http-client.ts';
import { CANONICAL, login, propertiesOf } from '../ingest/sound-events.ts';
import type { Fixture, Tenant } from './api-fixture.ts';
import { sharedFixture } from './shared-fixture.ts';

// What a key that is public in a page may do, for every event and every endpoint (docs/decisions/059-client-keys.md).

/** Written by hand from the page. */
const ALLOWED_EVENTS = ['page_view', 'click', 'session_start', 'session_end', 'push_opened', 'push_clicked'];
const ALLOWED_ENDPOINTS = ['GET /v1/me', 'POST /v1/players/identify'];
/** Those that a server key alone may call. */
const SERVER_ENDPOINTS = ['POST /v1/scores'];
const CUSTOM = ['custom_wheel_spun', 'custom_deposit_confirmed', 'custom_ '];
/** No names of events: as with a server key. */
const NO_NAMES = ['Deposit_Confirmed', ' deposit_confirmed', 'custom_', 'CUSTOM_x', 'toString', '', 7, null];

let fixture: Fixture;
let tenant: Tenant;
let intake: FastifyInstance;
let client_key: string;
/** What intake has appended to the log. */
const appended: NewRecord[] = [];

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  const request = { method: 'POST', body: { name: 'page', kind: 'client' } };
  const { body } = await fixture.as(tenant.session, `/v1/projects/${tenant.project_id}/api-keys`, request);
  client_key = String(body.data['key']);
  const { platform, auth, deps } = fixture;
  const append = (_topic: string, records: readonly NewRecord[]) => {
    appended.push(...records);
    return Promise.resolve([]);
  };
  intake = buildIntakeApp(
    {
      ...platform,
      eventLog: { append } as unknown as typeof platform.eventLog,
      apiKeys: auth.api_keys,
      capabilities: deps.capabilities,
      rejected: { note: () => undefined },
      defaultPolicy: { name: 'ingest', per_second: 100_000, burst: 100_000 },
    },
    platform.logger,
  );
});
afterAll(async () => {
  await intake?.close();
  await fixture.close();
});

const send = (key: string, path: string, body: unknown) =>
  callApp(intake, path, key, { method: 'POST', body });
const eventOf = (event: unknown) => login({ event, properties: propertiesOf(String(event)) });

test('the catalogue has the events of this test', () => {
  expect([...CANONICAL].sort()).toEqual(Object.keys(EVENTS).sort());
});

describe.each([...Object.keys(EVENTS), ...CUSTOM])('the event %s', (event) => {
  const is_allowed = ALLOWED_EVENTS.includes(event) || CUSTOM.includes(event);

  test(`${is_allowed ? 'is accepted' : 'is refused'}, alone and in a batch`, async () => {
    appended.length = 0;
    for (const body of [eventOf(event), { event, anonymous_id: 'a' }, { event }]) {
      const answer = await send(client_key, '/v1/events', body);
      if (!is_allowed) expect([answer.status, answer.body.error.code]).toEqual([403, 'KEY_KIND_FORBIDDEN']);
      else if ('anonymous_id' in body) expect(answer.status, answer.text).toBe(202);
    }
    const batch = await send(client_key, '/v1/events/batch', { events: [eventOf('click'), eventOf(event)] });
    expect(batch.status, batch.text).toBe(202);
    const { accepted, rejected } = batch.body.data as { accepted: number; rejected: { code: string }[] };
    expect([accepted, rejected.map(({ code }) => code)]).toEqual(
      is_allowed ? [2, []] : [1, ['KEY_KIND_FORBIDDEN']],
    );
    expect(appended.length).toBe(is_allowed ? 4 : 1);
    const by_server = await send(tenant.api_key, '/v1/events', eventOf(event));
    expect(by_server.status, by_server.text).toBe(202);
  });
});

test.each(NO_NAMES)('the name %j is refused as with a server key', async (event) => {
  for (const key of [client_key, tenant.api_key]) {
    const answer = await send(key, '/v1/events', eventOf(event));
    expect([answer.status, answer.body.error.code]).toEqual([422, 'PROPERTIES_INVALID']);
  }
});

test('the endpoints that take an API key are those of the page', () => {
  const of_keys = apiEndpoints(fixture.platform, fixture.config, fixture.deps).filter(
    ({ access }) => access.mode === 'api_key',
  );
  const names = of_keys.map(({ method, path }) => `${method} ${path}`).sort();
  expect(names).toEqual([...ALLOWED_ENDPOINTS, ...SERVER_ENDPOINTS].sort());
  expect(INGESTION_DOCS.map(({ path }) => path)).toEqual(['/v1/events', '/v1/events/batch']);
});

test('every other endpoint refuses a client key', async () => {
  const endpoints = apiEndpoints(fixture.platform, fixture.config, fixture.deps);
  for (const { method, path, access } of endpoints) {
    const name = `${method} ${path}`;
    if (access.mode === 'public' || ALLOWED_ENDPOINTS.includes(name)) continue;
    const url = path.replace(/:\w+/g, '00000000-0000-4000-8000-000000000000');
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
    const { status } = await fixture.as(client_key, url, { method, ...body });
    if (SERVER_ENDPOINTS.includes(name)) {
      expect(status, name).toBe(403);
      continue;
    }
    // A webhook has a signature or a link of its own; the key is not looked at.
    expect(access.mode === 'webhook' ? [401, 404, 415, 422] : [401], name).toContain(status);
  }
  expect((await fixture.as(client_key, '/v1/me')).status).toBe(200);
});
