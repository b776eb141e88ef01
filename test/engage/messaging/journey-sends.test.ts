import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  cancelJourneySends,
  insertJourneySends,
  type JourneySend,
} from '../../../src/engage/messaging/journey-send-queries.ts';
import type { PlayerEvent } from '../../../src/ingest/events/envelope.ts';
import { TOPICS } from '../../../src/platform/event-log/topics.ts';
import { until } from '../../engines/until.ts';
import { messengerOf, openMessengerFixture, type MessengerFixture } from './messenger-fixture.ts';

// Messages of journeys go through the same queue, fence and gate as those of campaigns.

const HOUR_MS = 3_600_000;
/** The messenger's clock stands still, at noon in London in winter; the tests move it. */
const NOON_MS = Date.UTC(2031, 0, 15, 12);

let fixture: MessengerFixture;
let operator: Awaited<ReturnType<MessengerFixture['newTenant']>>;
let project: { tenant_id: string; project_id: string };
let running: ReturnType<typeof messengerOf>;
let now_ms: number;
beforeAll(async () => {
  fixture = await openMessengerFixture();
});
afterAll(async () => fixture?.close());
beforeEach(async () => {
  now_ms = NOON_MS;
  running = messengerOf(fixture.service, { clock: { now_ms: () => now_ms } });
  operator = await fixture.newTenant();
  const { data } = await operator.client.api<{ tenant_id: string; project_id: string }>(
    'GET',
    `/v1/templates/${await operator.client.template()}`,
  );
  project = { tenant_id: data.tenant_id, project_id: data.project_id };
});
afterEach(() => running.messenger.close());

const sql = () => fixture.service.platform.postgres.service;
const insert = (...sends: JourneySend[]) =>
  sql().begin((tx) => insertJourneySends(tx, sends, new Date(now_ms)));

async function aSend(rest: Partial<JourneySend> = {}, timezone = 'Europe/London'): Promise<JourneySend> {
  const { client } = operator;
  const [player_id = ''] = await client.players(1, { timezone });
  return {
    ...project,
    journey_id: randomUUID(),
    journey_run_id: randomUUID(),
    node_id: 'n1',
    player_id,
    template_id: await client.template({
      body: 'Your code is {{ journey.context.coupon }}{{ total_deposited }}{{ status }}',
    }),
    provider_id: await client.provider(),
    quiet_hours: 'skip',
    context: { coupon: 'X-17' },
    ...rest,
  };
}

const rowsOf = ({ journey_run_id }: JourneySend) =>
  sql()<{ status: string; error_code: string | null; retry_at: Date | null; channel: string }[]>`
    select status, error_code, retry_at, channel from message_sends where journey_run_id = ${journey_run_id}`;
const statusOf = async (send: JourneySend) => {
  const [row] = await rowsOf(send);
  return `${row?.status} ${row?.error_code ?? ''}`.trim();
};
const isOver = async (send: JourneySend) => !['queued', 'sending'].includes(await statusOf(send));

it('a node of a run sends one message, with the context of the run; its events name the run', async () => {
  const send = await aSend();
  const [first] = await insert(send);
  // The totals are those of the moment in which the message is sent.
  await sql()`update player_totals set total_deposited = 4200 where player_id = ${send.player_id}`;
  expect(first).toMatchObject({ journey_run_id: send.journey_run_id, node_id: 'n1' });
  expect(await insert(send)).toEqual([]);
  await running.turnsUntil('it is sent', async () => (await statusOf(send)) === 'sent');
  expect(await operator.client.messages(send.provider_id)).toMatchObject([
    { send_id: first?.send_id, body: 'Your code is X-174200active' },
  ]);
  expect(await rowsOf(send)).toMatchObject([{ channel: 'email' }]);
  const { eventLog } = fixture.service.platform;
  const events = await until('its event is on the log', async (saw) => {
    const read: PlayerEvent[] = [];
    for (const [partition, end] of await eventLog.endOffsets(TOPICS.playerEvents)) {
      for await (const { records } of eventLog.read(TOPICS.playerEvents, partition, 0n, end))
        read.push(...records.map(({ value }) => JSON.parse(value) as PlayerEvent));
    }
    const found = saw(read.filter(({ properties }) => properties['send_id'] === first?.send_id));
    return found.length > 0 && found;
  });
  expect(events).toMatchObject([
    { event: 'email_sent', properties: { journey_run_id: send.journey_run_id, campaign_id: null } },
  ]);
});

it('two providers of a journey are two queues, and a failing one does not stop the other', async () => {
  const journey_id = randomUUID();
  const paused = await operator.client.provider();
  await operator.client.api('PATCH', `/v1/messaging-providers/${paused}`, { status: 'paused' });
  const [waits, goes] = [await aSend({ journey_id, provider_id: paused }), await aSend({ journey_id })];
  await insert(waits, goes);
  await running.turnsUntil('one is sent', async () => (await statusOf(goes)) === 'sent');
  expect(await statusOf(waits)).toBe('queued');
});

it('the gate decides: an excluded player gets nothing', async () => {
  const send = await aSend();
  await sql()`update players set self_excluded = true where player_id = ${send.player_id}`;
  await insert(send);
  await running.turnsUntil('it is decided', () => isOver(send));
  expect(await statusOf(send)).toBe('failed SKIPPED_SELF_EXCLUDED');
});

it('in quiet hours a message is skipped, or waits until they end and passes the gate again', async () => {
  await operator.client.configure({
    quiet_hours: { start: '11:00', end: '14:30', default_timezone: 'UTC' },
  });
  const [skips, defers, excluded] = [
    await aSend(),
    await aSend({ quiet_hours: 'defer' }),
    await aSend({ quiet_hours: 'defer' }),
  ];
  await insert(skips, defers, excluded);
  const isDecided = async (one: JourneySend) => (await rowsOf(one))[0]?.retry_at != null;
  await running.turnsUntil(
    'all are decided',
    async () => (await isOver(skips)) && (await isDecided(defers)) && (await isDecided(excluded)),
  );
  expect(await statusOf(skips)).toBe('failed SKIPPED_QUIET_HOURS');
  expect(await rowsOf(defers)).toMatchObject([
    { status: 'queued', error_code: null, retry_at: new Date(NOON_MS + 2.5 * HOUR_MS) },
  ]);
  await sql()`update players set self_excluded = true where player_id = ${excluded.player_id}`;
  now_ms = NOON_MS + 2.5 * HOUR_MS;
  running.messenger.wake();
  await running.turnsUntil('it is sent', async () => (await statusOf(defers)) === 'sent');
  await running.turnsUntil('the other is decided', () => isOver(excluded));
  expect(await statusOf(excluded)).toBe('failed SKIPPED_SELF_EXCLUDED');
});

it('a message that comes back from its provider after its run was cancelled is skipped', async () => {
  const { client } = operator;
  const graph = {
    start_node_id: 'w',
    nodes: [
      { id: 'w', type: 'wait', duration_ms: HOUR_MS, next: 'end' },
      { id: 'end', type: 'end' },
    ],
  };
  const made = await client.api<{ id: string }>('POST', '/v1/journeys', {
    name: 'j',
    trigger: { kind: 'api' },
    graph,
  });
  const path = `/v1/journeys/${made.data.id}`;
  await client.api('POST', `${path}/activate`);
  const [player_id = ''] = await client.players(1);
  const { data } = await client.api<{ run_id: string }>('POST', `${path}/trigger`, { player_id });
  const send = await aSend({ journey_id: made.data.id, journey_run_id: data.run_id, player_id });
  await insert(send);
  // The provider has it while the run is cancelled, so that cancelling does not find it in the queue.
  await sql()`update message_sends set status = 'sending' where journey_run_id = ${data.run_id}`;
  expect((await client.api('POST', `${path}/runs/${data.run_id}/cancel`)).status).toBe(200);
  await sql()`update message_sends set status = 'queued' where journey_run_id = ${data.run_id}`;
  await running.turnsUntil('it is decided', () => isOver(send));
  expect(await statusOf(send)).toBe('failed SKIPPED_CANCELLED');
});

it('queued messages of cancelled runs are skipped, and sent ones stay', async () => {
  const [sent, queued] = [await aSend(), await aSend()];
  await insert(sent);
  await running.turnsUntil('one is sent', async () => (await statusOf(sent)) === 'sent');
  await insert(queued);
  await sql().begin((tx) =>
    cancelJourneySends(
      tx,
      [sent, queued].map(({ journey_run_id }) => ({ ...project, run_id: journey_run_id })),
    ),
  );
  expect([await statusOf(sent), await statusOf(queued)]).toEqual(['sent', 'failed SKIPPED_CANCELLED']);
});

it('a message on a bonus needs the consent that the licence asks for when it is sent', async () => {
  const { client } = operator;
  const body = { license_jurisdiction: 'ukgc' };
  expect((await client.api('PATCH', '/v1/tenant/config', body)).status).toBe(200);
  const template_id = await client.template({ bonus_product: 'casino' });
  const [asked, plain, consenting] = [
    await aSend({ template_id }),
    await aSend(),
    await aSend({ template_id }),
  ];
  await sql()`
    update players set custom_attributes = '{"rg_risk": "none", "consent": {"email": {"casino": "yes"}}}'
    where player_id = ${consenting.player_id}`;
  await sql()`update players set custom_attributes = '{"rg_risk": "none"}' where player_id = ${asked.player_id}`;
  await insert(asked, plain, consenting);
  await running.turnsUntil('all are sent or skipped', async () =>
    (await Promise.all([asked, plain, consenting].map(isOver))).every(Boolean),
  );
  expect(await Promise.all([asked, plain, consenting].map(statusOf))).toEqual([
    'failed SKIPPED_NO_CONSENT',
    'sent',
    'sent',
  ]);
});
