import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { runRetryJob } from '../../../src/engage/campaigns/retry-failed.ts';
import { Schedule } from '../../../src/engage/campaigns/send.ts';
import { Deliveries } from '../../../src/engage/messaging/batch-dispatcher.ts';
import { giveUpLate, selectQueues } from '../../../src/engage/messaging/queue-queries.ts';
import { MESSAGES_CHANNEL } from '../../../src/engage/messaging/wake-queries.ts';
import { until } from '../../engines/until.ts';
import { messengerOf, openMessengerFixture, urlOf, type MessengerFixture } from './messenger-fixture.ts';

const MINUTE_MS = 60_000;

let fixture: MessengerFixture;
let server: Server;
/** How the provider answers, and how often it was asked. */
let answer: (response: ServerResponse, body: string) => unknown;
let test_number = 0;
let asked = 0;
/** The messenger's clock stands still, and the tests move it ahead. */
let begun_ms = 0;
let ahead_ms = 0;
let running: ReturnType<typeof messengerOf>;
let operator: Awaited<ReturnType<MessengerFixture['newTenant']>>;
let provider_id: string;
const clock = { now_ms: () => begun_ms + ahead_ms };
/** More than a day ago by the messenger's clock, however long ago its messages were queued in fact. */
const dayAgo = () => new Date(clock.now_ms() - 24 * 60 * MINUTE_MS - 1_000);

beforeAll(async () => {
  fixture = await openMessengerFixture();
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      // Messages that another test left waiting are tried again.
      if (request.url?.startsWith(`/${test_number}/`) !== true) return response.writeHead(503).end();
      asked += 1;
      return answer(response, Buffer.concat(chunks).toString());
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await fixture?.close();
});
beforeEach(async () => {
  [asked, ahead_ms, test_number] = [0, 0, test_number + 1];
  begun_ms = Date.now() + MINUTE_MS;
  running = messengerOf(fixture.service, { clock });
  operator = await fixture.newTenant();
  const config = { base_url: `${urlOf(server)}/${test_number}`, from: 'hi@casino.example', api_key: 'key' };
  provider_id = await operator.client.provider({ kind: 'sendgrid', config });
});
afterEach(() => running.messenger.close());

const replies = (status: number, body = '', headers = {}) => {
  answer = (response) => response.writeHead(status, headers).end(body);
};
const ended = (response: ServerResponse) => response.destroy();
const rest_s = async () => {
  const { values } = await fixture.service.platform.metrics.providerRest.get();
  return values.find(({ labels }) => labels.provider_id === provider_id)?.value;
};
const countOf = async (campaign_id: string, code: string) =>
  (await operator.codes(campaign_id)).filter((one) => one === code).length;
/** Takes some turns; more messages than these begin would show. */
const someTurns = async () => {
  for (let n = 0; n < 5; n++) {
    running.messenger.wake();
    await running.messenger.turn();
  }
};

it('rests longer and longer, is probed with one message each time, and resumes when it works', async () => {
  const campaign_id = await operator.sending(70, { provider_id });
  const body = JSON.stringify({ errors: [{ message: 'Try later', field: 'service' }] });
  replies(503, body);
  await running.turnsUntil('the first messages fail', async () => (await rest_s()) !== undefined);
  await running.turnsUntil(
    'none is on its way',
    async () => (await countOf(campaign_id, 'queued null')) === 70,
  );
  const first = asked;
  expect(first).toBeLessThanOrEqual(60);
  await someTurns();
  expect(asked).toBe(first);
  const rests = [await rest_s()];
  for (let probe = 1; probe <= 8; probe++) {
    ahead_ms += (rests.at(-1) ?? 0) * 1_000 + 50;
    await running.turnsUntil('it is probed', async () => asked > first && (await rest_s()) !== rests.at(-1));
    rests.push(await rest_s());
    await someTurns();
    expect(asked).toBe(first + probe);
  }
  expect(rests).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 300]);
  // Every message still waits, after more than five attempts of the provider.
  expect(await countOf(campaign_id, 'queued null')).toBe(70);
  const rows = await operator.client.recipients(campaign_id);
  expect(rows).toContainEqual(
    expect.objectContaining({ provider_code: 'service', provider_message: 'Try later' }),
  );
  replies(202);
  ahead_ms += 16 * MINUTE_MS;
  await running.turnsUntil('all are sent', async () => (await countOf(campaign_id, 'sent null')) === 70);
  expect(await rest_s()).toBeUndefined();
  expect(new Set((await operator.client.recipients(campaign_id)).map((row) => row.provider_code))).toEqual(
    new Set([null]),
  );
});

it('honours Retry-After, and works at once when its settings were changed', async () => {
  const campaign_id = await operator.sending(1, { provider_id });
  replies(429, '', { 'retry-after': '600' });
  await running.turnsUntil('it fails', async () => (await rest_s()) !== undefined);
  expect(await rest_s()).toBe(600);
  ahead_ms += 599_000;
  await someTurns();
  expect(asked).toBe(1);
  replies(202);
  await operator.client.api('PATCH', `/v1/messaging-providers/${provider_id}`, { name: 'repaired' });
  const { service } = fixture.service.platform.postgres;
  await service`update message_sends set retry_at = null where campaign_id = ${campaign_id}`;
  await running.turnsUntil('it is sent', async () => (await countOf(campaign_id, 'sent null')) === 1);
});

it.each([401, 403])(
  'keeps its messages while it refuses its credentials (%i), until they are mended',
  async (status) => {
    const campaign_id = await operator.sending(70, { provider_id });
    const { client } = operator;
    const path = `/v1/messaging-providers/${provider_id}`;
    const refused = async () => (await client.api('GET', path)).data['credentials_refused'];
    expect(await refused()).toBeNull();
    replies(status, JSON.stringify({ errors: [{ message: 'The key is revoked', field: null }] }));
    await running.turnsUntil('it fails', async () => (await rest_s()) !== undefined);
    await running.turnsUntil(
      'none is on its way',
      async () => (await countOf(campaign_id, 'queued null')) === 70,
    );
    const since = { code: String(status), message: 'The key is revoked', at: expect.any(String) as string };
    await running.turnsUntil('its row says so', async () => (await refused()) !== null);
    const said = await refused();
    expect(said).toEqual(since);
    // Each probe is one message.
    const before = asked;
    ahead_ms += 3_000;
    await running.turnsUntil('it is probed', () => asked > before);
    await someTurns();
    expect(asked).toBe(before + 1);
    expect(await refused()).toEqual(said);
    // A new name does not mend it; new credentials do, without any pause.
    await client.api('PATCH', path, { name: 'renamed' });
    expect(await refused()).toEqual(said);
    replies(202);
    const woken: string[] = [];
    await fixture.service.platform.postgres.service.listen(MESSAGES_CHANNEL, (id) => woken.push(id));
    expect((await client.api('PATCH', path, { config: { api_key: 'mended' } })).status).toBe(200);
    await until('the queue is woken', () => Promise.resolve(woken.includes(campaign_id)));
    running.messenger.wake(campaign_id);
    expect(await refused()).toBeNull();
    await running.turnsUntil('all are sent', async () => (await countOf(campaign_id, 'sent null')) === 70);
    expect(await refused()).toBeNull();
  },
);

it('says that its credentials are accepted again, also when they were mended elsewhere', async () => {
  const { client } = operator;
  const template_id = await client.template();
  const test = () =>
    client.api('POST', `/v1/templates/${template_id}/send-test`, { recipient: 'a@b.example', provider_id });
  const refused = async () =>
    (await client.api('GET', `/v1/messaging-providers/${provider_id}`)).data['credentials_refused'];
  replies(401);
  expect((await test()).data).toMatchObject({ error_code: 'PROVIDER_UNAVAILABLE' });
  expect(await refused()).toMatchObject({ code: '401', message: null });
  replies(202);
  expect((await test()).data).toMatchObject({ error_code: null });
  expect(await refused()).toBeNull();
});

it('is reported no more once it was deleted, or nothing waits for it', async () => {
  const fails = async () => {
    const campaign_id = await operator.sending(1, { provider_id });
    await running.turnsUntil('it fails', async () => (await rest_s()) !== undefined);
    await operator.client.api('POST', `/v1/campaigns/${campaign_id}/cancel`);
  };
  /** Rests are looked through every 5 s; one look may come while a claim still holds a place. */
  const isForgotten = async () => {
    ahead_ms += 6_000;
    return (await rest_s()) === undefined;
  };
  replies(503);
  await fails();
  ahead_ms += 2 * MINUTE_MS;
  await running.turnsUntil('nothing waits for it', isForgotten);
  await fails();
  const { status } = await operator.client.api('DELETE', `/v1/messaging-providers/${provider_id}`);
  expect(status).toBe(200);
  await running.turnsUntil('it is forgotten', isForgotten);
});

it('stops a campaign while outcomes stay unknown, instead of giving all of it up', async () => {
  const campaign_id = await operator.sending(150, { provider_id });
  answer = ended;
  await running.turnsUntil('it fails', async () => (await rest_s()) !== undefined);
  await someTurns();
  expect(await countOf(campaign_id, 'failed OUTCOME_UNKNOWN')).toBeLessThanOrEqual(60);
  expect(await countOf(campaign_id, 'queued null')).toBeGreaterThanOrEqual(90);
});

it('one message that always fails does not keep the provider from the others', async () => {
  const campaign_id = await operator.sending(3, { provider_id });
  const rows = await operator.client.recipients(campaign_id);
  const [poison] = rows.map(({ id }) => id).sort();
  answer = (response, body) => response.writeHead(body.includes(poison ?? '-') ? 500 : 202).end();
  await running.turnsUntil(
    'the others are sent',
    async () => (await countOf(campaign_id, 'sent null')) === 2,
  );
});

it('two messages that always fail do not make every probe of a provider', async () => {
  const campaign_id = await operator.sending(3, { provider_id });
  const rows = await operator.client.recipients(campaign_id);
  const poisons = rows
    .map(({ id }) => id)
    .sort()
    .slice(0, 2);
  replies(503);
  await running.turnsUntil('all have failed', async () => asked === 3 && (await rest_s()) !== undefined);
  await running.turnsUntil(
    'none is on its way',
    async () => (await countOf(campaign_id, 'queued null')) === 3,
  );
  const probed: string[] = [];
  answer = (response, body) => {
    const fails = poisons.some((id) => body.includes(id));
    probed.push(fails ? 'fails' : 'works');
    return response.writeHead(fails ? 500 : 202).end();
  };
  ahead_ms += 4_000;
  for (let probe = 1; probe <= 3; probe++) {
    const before = await rest_s();
    ahead_ms += (before ?? 0) * 1_000 + 50;
    await running.turnsUntil('it is probed', async () => (await rest_s()) !== before);
    // Each probe is one message. Once the provider works, its other messages go again at once; that is no probe.
    if (!probed.includes('works')) expect(probed).toHaveLength(probe);
  }
  expect(probed.slice(0, 3)).toContain('works');
  await running.turnsUntil(
    'the other one is sent',
    async () => (await countOf(campaign_id, 'sent null')) === 1,
  );
});

it('messages are given up a day after they were queued, also those that were not tried', async () => {
  const { service } = fixture.service.platform.postgres;
  const tried = await operator.sending(1, { provider_id });
  replies(503);
  await running.turnsUntil('it fails', async () => (await rest_s()) !== undefined);
  const waiting = await operator.sending(3, { provider_id });
  await someTurns();
  expect(await operator.codes(waiting)).toEqual(Array(3).fill('queued null'));
  await service`
    update message_sends set enqueued_at = ${dayAgo()}, retry_at = null
    where campaign_id in (${tried}, ${waiting})`;
  ahead_ms += 1_000;
  running = await restartedMessenger();
  await running.turnsUntil('both are given up', async () => {
    const codes = [...(await operator.codes(tried)), ...(await operator.codes(waiting))];
    return codes.every((code) => code === 'failed PROVIDER_UNAVAILABLE');
  });
  expect(asked).toBeLessThanOrEqual(5);
});

it.each([
  ['is paused', { status: 'paused' }],
  ['has secrets that cannot be decrypted', { credentials: 'broken' }],
])('messages are given up a day after they were queued although their provider %s', async (_how, changes) => {
  const { service } = fixture.service.platform.postgres;
  const late = await operator.sending(1, { provider_id });
  const young = await operator.sending(1, { provider_id });
  await service`update messaging_providers set ${service(changes)} where provider_id = ${provider_id}`;
  await service`
    update message_sends set enqueued_at = ${dayAgo()} where campaign_id = ${late}`;
  await running.turnsUntil(
    'it is given up',
    async () => (await countOf(late, 'failed PROVIDER_UNAVAILABLE')) === 1,
  );
  expect(await operator.codes(young)).toEqual(['queued null']);
  expect(asked).toBe(0);
});

it('a tenant with as many deliveries as it may have still skips the messages of a cancelled campaign', async () => {
  const campaign_id = await operator.sending(2, { provider_id });
  const full = vi.spyOn(Deliveries.prototype, 'mayBegin').mockReturnValue(false);
  try {
    expect((await operator.client.api('POST', `/v1/campaigns/${campaign_id}/cancel`)).status).toBe(200);
    await running.turnsUntil(
      'they are skipped',
      async () => (await countOf(campaign_id, 'failed SKIPPED_CANCELLED')) === 2,
    );
  } finally {
    full.mockRestore();
  }
});

it('the search for late messages reads a part of the queue, and finds those behind messages that were queued again', async () => {
  const { service } = fixture.service.platform.postgres;
  const campaign_id = await operator.sending(1, { provider_id });
  await service`
    insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, status, enqueued_at, provider_id)
    select tenant_id, project_id, new_id(), campaign_id, gen_random_uuid(), channel, status, enqueued_at, provider_id
    from message_sends, generate_series(1, 2500) where campaign_id = ${campaign_id}`;
  await service`update messaging_providers set status = 'paused' where provider_id = ${provider_id}`;
  const [queue] = await selectQueues(service).then((queues) =>
    queues.filter((one) => one.queue_id === campaign_id),
  );
  if (queue === undefined) throw new Error('the campaign has no queue');
  await service.begin(async (tx) => {
    await giveUpLate(tx, queue, new Date());
    const [{ rows_read } = { rows_read: undefined }] = await tx<{ rows_read: number }[]>`
      select (seq_tup_read + idx_tup_fetch)::integer as rows_read from pg_stat_xact_user_tables
      where relname = 'message_sends'`;
    expect(rows_read).toBeLessThan(1_500);
  });
  // All are old, and all but the last 500 were queued again.
  await service`
    update message_sends set enqueued_at = now() - interval '1 day' where campaign_id = ${campaign_id}`;
  await service`
    update message_sends set give_up_at = now() + interval '1 day' where send_id in (
      select send_id from message_sends where campaign_id = ${campaign_id} order by send_id limit 2001)`;
  running = await restartedMessenger();
  // Two turns may give up a part each, at the same time.
  await running.turnsUntil(
    'the others are given up',
    async () => (await countOf(campaign_id, 'failed PROVIDER_UNAVAILABLE')) >= 500,
  );
  const counts = await service`select status, count(*)::integer as n from message_sends
    where campaign_id = ${campaign_id} group by status order by status`;
  expect(counts).toEqual([
    { status: 'failed', n: 500 },
    { status: 'queued', n: 2_001 },
  ]);
});

/** A messenger that has searched no queue yet. */
async function restartedMessenger() {
  await running.messenger.close();
  return messengerOf(fixture.service, { clock });
}

it('failed messages are queued again on request, and pass the gate', async () => {
  const { service } = fixture.service.platform.postgres;
  const { client } = operator;
  const campaign_id = await operator.sending(1_100, { provider_id });
  const retry = (headers = {}) =>
    client.api('POST', `/v1/campaigns/${campaign_id}/retry-failed`, undefined, headers);
  await service`
    update message_sends set status = 'failed', error_code = 'PROVIDER_UNAVAILABLE', attempts = 9,
      enqueued_at = now() - interval '2 days' where campaign_id = ${campaign_id}`;
  const [excluded] = await client.recipients(campaign_id);
  await service`update players set self_excluded = true where player_id = ${excluded?.player_id ?? ''}`;
  const schedule = new Schedule(fixture.service.platform);
  await schedule.turn();
  expect((await client.stats(campaign_id)).status).toBe('sent');

  const key = { 'idempotency-key': randomUUID() };
  const answers = [await retry(key), await retry(key)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(answers[0]?.data).toEqual({
    campaign_id,
    queued: 1_100,
    enqueued_at: expect.stringMatching(/^20.*Z$/) as string,
  });
  expect(answers[1]?.data).toEqual(answers[0]?.data);
  expect(answers[1]?.headers.get('idempotent-replayed')).toBe('true');
  await schedule.turn();
  expect((await client.stats(campaign_id)).status).toBe('sending');
  expect(await countOf(campaign_id, 'queued null')).toBe(1_000);
  const [ref] =
    await service`select tenant_id, project_id, campaign_id from campaigns where campaign_id = ${campaign_id}`;
  await runRetryJob(fixture.service.platform, ref);
  expect(await countOf(campaign_id, 'queued null')).toBe(1_100);
  // Queued two days ago, they wait for another day from now on.
  replies(503);
  await running.turnsUntil('it fails', async () => (await rest_s()) !== undefined);
  await running.turnsUntil(
    'none is on its way',
    async () => (await countOf(campaign_id, 'sending null')) === 0,
  );
  expect(await countOf(campaign_id, 'failed PROVIDER_UNAVAILABLE')).toBe(0);
  replies(202);
  ahead_ms += 16 * MINUTE_MS;
  const decided = async () => {
    await schedule.turn();
    return (await client.stats(campaign_id)).status === 'sent';
  };
  await running.turnsUntil('all are decided', decided);
  expect(await countOf(campaign_id, 'sent null')).toBe(1_099);
  expect(await countOf(campaign_id, 'failed SKIPPED_SELF_EXCLUDED')).toBe(1);
  expect((await retry()).data).toMatchObject({ queued: 0 });
  expect((await client.stats(campaign_id)).status).toBe('sent');
});

it('only campaigns that are sending or sent can be retried, with a provider', async () => {
  const { client } = operator;
  const draft = await client.campaign({ provider_id });
  const retry = (id: string) => client.api('POST', `/v1/campaigns/${id}/retry-failed`);
  expect(await retry(draft)).toMatchObject({ status: 409, code: 'CAMPAIGN_INVALID_STATUS' });
  const campaign_id = await operator.sending(1, { provider_id });
  expect((await retry(campaign_id)).data).toMatchObject({ queued: 0 });
  await client.api('PATCH', `/v1/messaging-providers/${provider_id}`, { status: 'paused' });
  expect(await retry(campaign_id)).toMatchObject({ status: 422, code: 'PROVIDER_NOT_CONFIGURED' });
  await client.api('POST', `/v1/campaigns/${campaign_id}/cancel`);
  expect(await retry(campaign_id)).toMatchObject({ status: 409, code: 'CAMPAIGN_INVALID_STATUS' });
});
