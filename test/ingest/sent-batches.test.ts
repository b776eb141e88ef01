import { afterAll, beforeAll, expect, it } from 'vitest';
import { sentIdOf } from '../../src/ingest/intake/sent-id.ts';
import { call } from '../engines/http-client.ts';
import { folded, sunk, type TestService } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { expectError, send } from './intake-client.ts';

// Batches that their sender names by an Idempotency-Key (docs/clients.md).

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());

const AT = '2026-05-01T10:00:00.000Z';
const post = (key: string | undefined, events: readonly object[]) =>
  send(`${service.ingest_url}/v1/events/batch`, service.api_key, {
    headers: { 'idempotency-key': key },
    body: { events },
  });

/** The player's sessions, and the names of their events. */
async function seen(
  anonymous_id: string,
): Promise<{ sessions: unknown; status: unknown; events: unknown[] }> {
  await folded(service.platform);
  await sunk(service.platform);
  const read = (path: string) => call(`${service.base_url}/v1/players/${path}`, service.session_token);
  const [found] = (await read(`search?q=${anonymous_id}`)).data as unknown as { id: string }[];
  const player = (await read(String(found?.id))).data;
  const timeline = (await read(`${String(found?.id)}/timeline?limit=200`)).data as unknown as {
    event: string;
  }[];
  return {
    sessions: player['session_count'],
    status: player['status'],
    events: timeline.map(({ event }) => event).sort(),
  };
}

it('a repeated batch is the same events, with and without times', async () => {
  const anonymous_id = 'sent-twice';
  const timed = ['session_start', 'page_view', 'custom_wheel', 'login'].map((event) => ({
    event,
    anonymous_id,
    timestamp: AT,
  }));
  const untimed = ['session_start', 'page_view', 'custom_wheel', 'login'].map((event) => ({
    event,
    anonymous_id,
  }));
  const key = 'the batch: 1';
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push((await post(key, [...timed, ...untimed, { event: 'no' }])).data);
  const [first] = answers;
  expect(first).toMatchObject({ accepted: 8, rejected: [{ index: 8, code: 'IDENTITY_REQUIRED' }] });
  for (const answer of answers) expect(answer).toEqual(first);
  const [stored] = await service.platform.postgres.service<{ key_id: string }[]>`
    select key_id from api_keys where tenant_id = ${service.tenant_id}`;
  expect(first?.['ingestion_id']).toBe(sentIdOf(stored?.key_id ?? '', key));
  const names = ['custom_wheel', 'login', 'page_view', 'session_start'];
  expect(await seen(anonymous_id)).toMatchObject({
    sessions: 2,
    events: names.flatMap((name) => [name, name]),
  });
});

it('another name, and none, is another batch', async () => {
  const anonymous_id = 'sent-apart';
  const events = [{ event: 'session_start', anonymous_id, timestamp: AT }];
  for (const key of ['apart-1', 'apart-2', undefined, undefined]) await post(key, events);
  expect((await seen(anonymous_id)).sessions).toBe(4);
});

it('a constant name hides no exclusion', async () => {
  const anonymous_id = 'sent-constant';
  await post('constant', [{ event: 'self_exclusion_set', anonymous_id }]);
  await post('constant', [{ event: 'self_exclusion_lifted', anonymous_id }]);
  await post('constant', [{ event: 'self_exclusion_set', anonymous_id }]);
  expect((await seen(anonymous_id)).status).toBe('self_excluded');
});

it.each(['', 'x'.repeat(257), 'undefined', 'null', '[object Object]'])(
  'the name %j is refused',
  async (key) => {
    expectError(
      await post(key, [{ event: 'login', anonymous_id: 'x' }]),
      422,
      'VALIDATION_ERROR',
      /Idempotency-Key/,
    );
  },
);

it('names have up to 256 characters', async () => {
  expect((await post('x'.repeat(256), [{ event: 'login', anonymous_id: 'long' }])).status).toBe(202);
});
