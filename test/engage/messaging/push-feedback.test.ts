import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { plainArray } from '../../../src/platform/postgres/arrays.ts';
import { call } from '../../engines/http-client.ts';
import { sunk, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient, type Body, type MessagingClient } from './messaging-client.ts';

interface Row {
  player_id: string;
  send_id: string;
  status: string;
  delivered_at: Date | null;
  opened_at: Date | null;
  clicked_at: Date | null;
  changed_xid: string;
}

const MINUTE_MS = 60_000;
/** The current time, cut to the second; the events happen relative to it. */
const NOW_MS = Math.floor(Date.now() / 1000) * 1000;
const ago = (minutes: number) => new Date(NOW_MS - minutes * MINUTE_MS);

let service: TestService;
let client: MessagingClient;
let campaign_id: string;
/** The sends to the two players. */
let mine: Row;
let theirs: Row;
beforeAll(async () => {
  service = await sharedService();
  client = messagingClient(service);
});
afterAll(async () => service?.close());

beforeEach(async () => {
  const sql = service.platform.postgres.service;
  const player_ids = await client.players(2);
  await sql`
    update players set custom_attributes = custom_attributes || jsonb_build_object('push_token', player_id::text)
    where player_id = any(${plainArray(player_ids)}::text::uuid[])`;
  const channel = 'push';
  const [segment_id, provider_id, template_id] = await Promise.all([
    client.segment(player_ids),
    client.provider({ channel }),
    client.template({ channel, subject: 'Hello', body: 'Come and play' }),
  ]);
  campaign_id = await client.campaign({ segment_id, provider_id, template_id, channel });
  expect((await client.send(campaign_id)).status).toBe(200);
  await client.reaches(campaign_id, 'sent');
  // The messages were sent some minutes ago, so that events can have happened since.
  const rows = await sql<[Row, Row]>`
    update message_sends set enqueued_at = ${ago(11)}, counted_at = ${ago(10)}, sent_at = ${ago(10)}
    where campaign_id = ${campaign_id} returning *`;
  [mine, theirs] = rows;
  expect([mine.status, theirs.status]).toEqual(['sent', 'sent']);
});

/** Sends an event with this timestamp, as the client SDK does. */
async function tell(player_id: string, event: string, properties: Body, timestamp = new Date(NOW_MS)) {
  const response = await call(`${service.ingest_url}/v1/events`, service.api_key, {
    body: { event, player_id, properties, timestamp: timestamp.toISOString() },
  });
  expect(response.status, response.text).toBe(202);
}

/** Resolves when all events sent so far, and the events that those caused, are applied and mirrored. */
async function settled(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    await sunk(service.platform);
    await until('the messenger has seen every event', async (saw) => {
      const lag = saw(await service.platform.eventLog.lag('player-events', 'campaign-trigger'));
      return lag.every(({ next_offset, end_offset }) => next_offset >= end_offset);
    });
    await until('what was reported is written', async (saw) => {
      const { service: sql } = service.platform.postgres;
      return saw(await sql`select from push_receipts where tenant_id = ${service.tenant_id}`).length === 0;
    });
    await waitUntilCaughtUp(service.platform, 90_000);
  }
}

async function rowOf({ send_id }: Row): Promise<Row | undefined> {
  const [row] = await service.platform.postgres.service<Row[]>`
    select player_id, send_id, status, delivered_at, opened_at, clicked_at, changed_xid::text as changed_xid
    from message_sends where send_id = ${send_id}`;
  return row;
}

async function eventsOf(player_id: string): Promise<string[]> {
  const { data } = await client.api<{ event: string }[]>('GET', `/v1/players/${player_id}/timeline`);
  return data.map(({ event }) => event).toSorted();
}

it('an opened and a clicked push change the row and the stats, and each is one event', async () => {
  const { player_id, send_id } = mine;
  await tell(player_id, 'push_opened', { send_id }, ago(2));
  await settled();
  expect(await rowOf(mine)).toMatchObject({
    status: 'opened',
    delivered_at: ago(2),
    opened_at: ago(2),
    clicked_at: null,
  });
  await tell(player_id, 'push_clicked', { send_id }, ago(1));
  await settled();
  const clicked = await rowOf(mine);
  expect(clicked).toMatchObject({ status: 'clicked', opened_at: ago(2), clicked_at: ago(1) });
  const { counters } = await client.stats(campaign_id);
  expect(counters).toMatchObject({ sent: 2, opened: 1, clicked: 1 });
  expect(await eventsOf(player_id)).toEqual(['push_clicked', 'push_opened', 'push_sent']);
  expect(await eventsOf(theirs.player_id)).toEqual(['push_sent']);
  expect((await rowOf(theirs))?.status).toBe('sent');
});

it('feedback has the same result in any order, and a repetition leaves the row unchanged', async () => {
  const { player_id, send_id } = mine;
  await tell(player_id, 'push_clicked', { send_id }, ago(3));
  await tell(player_id, 'push_opened', { send_id: send_id.toUpperCase() }, ago(5));
  await tell(player_id, 'push_opened', { send_id }, ago(4));
  await settled();
  const row = await rowOf(mine);
  expect(row).toMatchObject({
    status: 'clicked',
    delivered_at: ago(5),
    opened_at: ago(5),
    clicked_at: ago(3),
  });
  await tell(player_id, 'push_opened', { send_id }, ago(5));
  await tell(player_id, 'push_opened', { send_id }, ago(1));
  await tell(player_id, 'push_clicked', { send_id }, ago(3));
  await tell(player_id, 'push_clicked', { send_id }, ago(2));
  await settled();
  // Compares `changed_xid` as well: the row was not written again.
  expect(await rowOf(mine)).toEqual(row);
});

it('feedback is ignored when it does not name a push to the player who reports it', async () => {
  const { player_id, send_id } = mine;
  const before = await rowOf(mine);
  await tell(theirs.player_id, 'push_opened', { send_id });
  const tenant = await service.newTenant();
  const foreign = messagingClient(service, tenant);
  const [stranger = ''] = await foreign.players(1);
  await foreign.event(stranger, 'push_opened', { send_id });
  for (const odd of [undefined, null, 7, '', 'nonsense', [send_id], { send_id }, randomUUID()])
    await tell(player_id, 'push_clicked', { send_id: odd });
  for (const event of ['email_opened', 'sms_clicked', 'custom_push_opened', 'click', 'push_sent'])
    await tell(player_id, event, { send_id, event: 'push_opened' });
  await settled();
  expect(await rowOf(mine)).toEqual(before);
  // For other channels the provider reports, not the device.
  const sql = service.platform.postgres.service;
  await sql`update message_sends set channel = 'email' where send_id = ${send_id}`;
  await tell(player_id, 'push_opened', { send_id });
  await settled();
  expect((await rowOf(mine))?.status).toBe('sent');
  // A message that was not sent cannot be opened.
  await sql`
    update message_sends set status = 'failed', error_code = 'SKIPPED_BANNED' where send_id = ${theirs.send_id}`;
  await tell(theirs.player_id, 'push_opened', { send_id: theirs.send_id });
  await settled();
  expect(await rowOf(theirs)).toMatchObject({ status: 'failed', opened_at: null });
});

it('feedback times lie between the sending of the push and now, whatever the device’s clock is', async () => {
  const { player_id, send_id } = mine;
  const before = new Date();
  await tell(player_id, 'push_opened', { send_id }, new Date(0));
  await tell(player_id, 'push_clicked', { send_id }, new Date(Date.now() + 3_600_000));
  // The outcome of this message is unknown, so the feedback is the only information about it.
  const sql = service.platform.postgres.service;
  await sql`
    update message_sends set status = 'failed', error_code = 'OUTCOME_UNKNOWN', sent_at = null
    where send_id = ${theirs.send_id}`;
  await tell(theirs.player_id, 'push_opened', { send_id: theirs.send_id }, new Date('1900-01-01'));
  await settled();
  const after_ms = Date.now();
  const row = await rowOf(mine);
  expect(row).toMatchObject({ status: 'clicked', delivered_at: ago(10), opened_at: ago(10) });
  expect(Number(row?.clicked_at)).toBeGreaterThanOrEqual(before.getTime());
  expect(Number(row?.clicked_at)).toBeLessThanOrEqual(after_ms);
  const [unknown] = await sql`select * from message_sends where send_id = ${theirs.send_id}`;
  expect(unknown).toMatchObject({ status: 'opened', sent_at: ago(10), opened_at: ago(10) });
  await tell(player_id, 'push_opened', { send_id }, new Date(1));
  await settled();
  expect(await rowOf(mine)).toEqual(row);
});

it('without a known hand-over, feedback times are not before the message was enqueued', async () => {
  const { player_id, send_id } = mine;
  const sql = service.platform.postgres.service;
  await sql`
    update message_sends set status = 'failed', error_code = 'PROVIDER_UNAVAILABLE', sent_at = null, counted_at = null
    where send_id = ${send_id}`;
  await tell(player_id, 'push_clicked', { send_id }, new Date(0));
  await settled();
  const [row] = await sql`select * from message_sends where send_id = ${send_id}`;
  const times = { sent_at: ago(11), counted_at: ago(11), opened_at: ago(11), clicked_at: ago(11) };
  expect(row).toMatchObject({ status: 'clicked', ...times });
});

it('a message that another transaction holds delays no report on those of other tenants', async () => {
  const other = await service.newTenant();
  const [player_id = ''] = await messagingClient(service, other).players(1);
  const { service: sql } = service.platform.postgres;
  const send_id = randomUUID();
  const { tenant_id, project_id } = other;
  const sent = {
    enqueued_at: ago(11),
    counted_at: ago(10),
    sent_at: ago(10),
    status: 'sent',
    channel: 'push',
  };
  await sql`insert into message_sends ${sql({ tenant_id, project_id, send_id, player_id, ...sent })}`;
  const statusOf = async (id: string) =>
    (await sql<Row[]>`select status from message_sends where send_id = ${id}`)[0]?.status;
  await sql.begin(async (tx) => {
    await tx`select from message_sends where send_id = ${mine.send_id} for update`;
    await tell(mine.player_id, 'push_opened', { send_id: mine.send_id }, ago(1));
    await until('the report waits', async (saw) => {
      const waiting = await sql`select from push_receipts where send_id = ${mine.send_id}`;
      return saw(waiting).length > 0;
    });
    const body = {
      event: 'push_opened',
      player_id,
      properties: { send_id },
      timestamp: ago(1).toISOString(),
    };
    const answer = await call(`${service.ingest_url}/v1/events`, other.api_key, { body });
    expect(answer.status, answer.text).toBe(202);
    await until('theirs is opened', async (saw) => saw(await statusOf(send_id)) === 'opened');
    expect(await statusOf(mine.send_id)).toBe('sent');
  });
  await until('mine is opened', async (saw) => saw(await statusOf(mine.send_id)) === 'opened');
});
