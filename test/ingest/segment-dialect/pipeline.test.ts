import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, type Answer } from '../../engines/http-client.ts';
import { sharedService } from '../../engines/shared-service.ts';
import type { TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { basicOf } from './dialect-host.ts';

let service: TestService;
beforeAll(async () => (service = await sharedService()));
afterAll(() => service?.close());

const read = (path: string): Promise<Answer> => call(`${service.base_url}${path}`, service.session_token);

/** Posts a batch as rudder-sdk-node does. */
const post = (batch: readonly object[], key = service.api_key) =>
  call(`${service.ingest_url}/v1/batch`, undefined, {
    method: 'POST',
    raw: gzipSync(JSON.stringify({ batch, sentAt: new Date().toISOString() })),
    headers: {
      authorization: basicOf(key),
      'content-type': 'application/x-www-form-urlencoded',
      'content-encoding': 'gzip',
    },
  });

interface Shown {
  event: string;
  timestamp: string;
  properties: Record<string, unknown>;
}

async function timeline(player_id: string): Promise<Shown[]> {
  const { data } = await read(`/v1/players/${player_id}/timeline?limit=100`);
  return data as unknown as Shown[];
}

it('counts each event once, whatever is sent again under its messageId', async () => {
  const timestamp = '2026-03-01T12:00:00.000Z';
  const deposit = { amount: 2_500, currency: 'EUR', transaction_id: 'seg-1', payment_method: 'card' };
  const shared = { userId: 'seg-player', anonymousId: null, timestamp };
  const batch = [
    { ...shared, type: 'identify', traits: { email: 'seg@example.com', firstName: 'Sam' } },
    { ...shared, type: 'track', event: 'session_start', messageId: 's-1' },
    { ...shared, type: 'track', event: 'deposit_confirmed', messageId: 'd-1', properties: deposit },
    { ...shared, type: 'track', event: 'Level Up', messageId: 'l-1', properties: { level: 1 } },
    { ...shared, type: 'page', name: 'Lobby', messageId: 'p-1', timestamp: undefined },
    { ...shared, type: 'track', event: 'Level Up', messageId: 'l-0', properties: { level: 0 } },
  ];
  expect((await post(batch)).text).toBe('{"success":true}');
  expect((await post(batch)).text).toBe('{"success":true}');
  // The first stands, whatever time, content, name or player comes later.
  const later = { ...shared, timestamp: '2026-03-01T13:00:00.000Z', type: 'track' };
  const changed = [
    { ...later, event: 'session_start', messageId: 's-1' },
    { ...later, event: 'Level Up', messageId: 'l-1', properties: { level: 99 } },
    { ...later, event: 'Other Name', messageId: 'l-0' },
    { ...later, event: 'Level Up', messageId: 'p-1', userId: 'seg-other' },
    {
      ...later,
      event: 'deposit_confirmed',
      messageId: 'd-1',
      properties: { ...deposit, transaction_id: 'seg-2' },
    },
    { ...later, event: 'Done', messageId: 'end', timestamp },
  ];
  expect((await post(changed)).text).toBe('{"success":true}');
  const named = await read('/v1/players?external_id=seg-player');
  const player_id = String(named.data[0]?.['id']);
  const shown = await until('every event is shown', async (saw) => {
    const events = await timeline(player_id);
    saw(events.map(({ event }) => event));
    return events.some(({ event }) => event === 'custom_done') && events;
  });
  expect(shown.map(({ event }) => event).sort()).toEqual([
    'custom_done',
    'custom_level_up',
    'custom_level_up',
    'deposit_confirmed',
    'page_view',
    'session_start',
  ]);
  expect(
    shown.filter(({ event }) => event === 'custom_level_up').map(({ properties }) => properties['level']),
  ).toEqual(expect.arrayContaining([0, 1]));
  const { data } = await read(`/v1/players/${player_id}`);
  expect(data).toMatchObject({
    external_id: 'seg-player',
    email: 'seg@example.com',
    total_deposited: 2_500,
    session_count: 1,
    custom_attributes: { first_name: 'Sam' },
  });
  const [other] = (await read('/v1/players?external_id=seg-other')).data as unknown as {
    id: string;
  }[];
  expect(await timeline(other?.id ?? '')).toEqual([]);
});
