import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { RETRY_TASK, runRetryJob } from '../../../src/engage/campaigns/retry-failed.ts';
import { Schedule } from '../../../src/engage/campaigns/send.ts';

import { until } from '../../engines/until.ts';
import { messengerOf, openMessengerFixture, type MessengerFixture } from '../messaging/messenger-fixture.ts';

let fixture: MessengerFixture;
let operator: Awaited<ReturnType<MessengerFixture['newTenant']>>;
let provider_id: string;
beforeAll(async () => {
  fixture = await openMessengerFixture();
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  operator = await fixture.newTenant();
  provider_id = await operator.client.provider();
});

const sql = () => fixture.service.platform.postgres.service;
const retry = (campaign_id: string) =>
  operator.client.api('POST', `/v1/campaigns/${campaign_id}/retry-failed`);
async function identify(ids: object, traits: object = {}): Promise<string> {
  const key = { authorization: `Bearer ${operator.api_key}` };
  const { data, error } = await operator.client.api('POST', '/v1/players/identify', { ...ids, traits }, key);
  expect(error).toBeUndefined();
  return String(data['player_id']);
}

/** A state of a message, as the messenger leaves it. */
const STATES = {
  sent: { status: 'sent', error_code: null, counted_at: new Date() },
  unknown: { status: 'failed', error_code: 'OUTCOME_UNKNOWN', counted_at: new Date() },
  queued: { status: 'queued', error_code: null, counted_at: null },
  rejected: { status: 'failed', error_code: 'PROVIDER_REJECTED', counted_at: null },
  unavailable: { status: 'failed', error_code: 'PROVIDER_UNAVAILABLE', counted_at: null },
} as const;

it.each([
  ['sent', 0],
  ['unknown', 0],
  ['queued', 0],
  ['rejected', 1],
  ['unavailable', 1],
] as const)(
  'a person merged of two, one of whose messages is %s, gets the other one again: %i',
  async (state, queued) => {
    const device = randomUUID();
    const loser = await identify({ anonymous_id: device }, { email: 'a@example.com' });
    const survivor = await identify({ external_id: device }, { email: 'b@example.com' });
    const campaign_id = await operator.sending([loser, survivor], { provider_id });
    const set = (player_id: string, { status, error_code, counted_at }: (typeof STATES)[typeof state]) =>
      sql()`
        update message_sends set status = ${status}, error_code = ${error_code}, counted_at = ${counted_at}
        where campaign_id = ${campaign_id} and player_id = ${player_id}`;
    await set(survivor, STATES.unavailable);
    await set(loser, STATES[state]);
    await identify({ anonymous_id: device, external_id: device });
    expect((await retry(campaign_id)).data).toMatchObject({ queued });
    const waiting = (await operator.codes(campaign_id)).filter((code) => code === 'queued null');
    expect(waiting).toHaveLength(state === 'queued' ? 1 : queued);
  },
);

it('counting the failed messages does not hold the campaign', async () => {
  const campaign_id = await operator.sending(1, { provider_id });
  await sql()`
    update message_sends set status = 'failed', error_code = 'PROVIDER_UNAVAILABLE' where campaign_id = ${campaign_id}`;
  let answer: ReturnType<typeof retry> | undefined;
  // The count waits, as if it read millions of messages.
  const lock = sql().begin(async (tx) => {
    await tx`lock table message_sends in access exclusive mode`;
    answer = retry(campaign_id);
    await until(async (saw) => {
      const [row] = saw(
        await sql()<{ waits: boolean }[]>`
        select exists (
          select from pg_locks where not granted and relation = 'message_sends'::regclass
            and pid in (select pid from pg_stat_activity where datname = current_database())) as waits`,
      );
      return row?.waits === true;
    });
    return sql()`select 1 from campaigns where campaign_id = ${campaign_id} for update nowait`;
  });
  const [found] = await Promise.allSettled([lock, answer]);
  await answer;
  expect(found).toMatchObject({ status: 'fulfilled' });
});

it('of more than a thousand failed messages it says how many failed, and queues those that may be queued', async () => {
  const campaign_id = await operator.sending(1, { provider_id });
  await sql()`
    update message_sends set status = 'failed', error_code = 'PROVIDER_UNAVAILABLE' where campaign_id = ${campaign_id}`;
  await sql()`
    insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, status, error_code,
      enqueued_at, dedup_key)
    select tenant_id, project_id, gen_random_uuid(), campaign_id, gen_random_uuid(), channel, status, error_code,
      enqueued_at, case when i <= 2 then 'of event ' || i || ' merged x' else '' end
    from message_sends, generate_series(1, 1002) i where campaign_id = ${campaign_id}`;
  expect((await retry(campaign_id)).data).toMatchObject({ queued: 1_003 });
  const worker = await fixture.service.platform.jobs.work(
    { [RETRY_TASK]: (payload) => runRetryJob(fixture.service.platform, payload) },
    [],
  );
  await until('all were queued', async (saw) => {
    const [row] = saw(
      await sql()`select retry_failed_until from campaigns where campaign_id = ${campaign_id}`,
    );
    return row?.['retry_failed_until'] === null;
  });
  await worker.close();
  const rows = await sql()`select status, count(*)::integer as n from message_sends
    where campaign_id = ${campaign_id} group by status order by status`;
  expect(rows).toEqual([
    { status: 'failed', n: 2 },
    { status: 'queued', n: 1_001 },
  ]);
});

it('a campaign that is retried while it is finished goes on', async () => {
  const campaign_id = await operator.sending(1, { provider_id });
  await sql()`
    update message_sends set status = 'failed', error_code = 'PROVIDER_UNAVAILABLE' where campaign_id = ${campaign_id}`;
  const schedule = new Schedule(fixture.service.platform);
  let [has_ended, turn] = [false, Promise.resolve<unknown>(undefined)];
  await sql().begin(async (tx) => {
    await tx`update campaigns set updated_at = now() where campaign_id = ${campaign_id}`;
    await tx`update message_sends set status = 'queued', error_code = null where campaign_id = ${campaign_id}`;
    turn = schedule.turn().then(() => (has_ended = true));
    await until('the campaign is being finished', async (saw) => {
      const [row] = saw(
        await sql()<{ waits: boolean }[]>`
        select exists (
          select from pg_locks where not granted
            and pid in (select pid from pg_stat_activity where datname = current_database())) as waits`,
      );
      return has_ended || row?.waits === true;
    });
  });
  await turn;
  expect((await operator.client.stats(campaign_id)).status).toBe('sending');
});

it('retrying ends at its deadline', async () => {
  const campaign_id = await operator.sending(1, { provider_id });
  const past = new Date(Date.now() - 1_000);
  await sql()`
    update message_sends set status = 'failed', error_code = 'PROVIDER_UNAVAILABLE' where campaign_id = ${campaign_id}`;
  await sql()`update campaigns set retry_failed_until = ${past} where campaign_id = ${campaign_id}`;
  const [ref] =
    await sql()`select tenant_id, project_id, campaign_id from campaigns where campaign_id = ${campaign_id}`;
  await runRetryJob(fixture.service.platform, ref);
  expect(await operator.codes(campaign_id)).toEqual(['failed PROVIDER_UNAVAILABLE']);
  await new Schedule(fixture.service.platform).turn();
  expect((await operator.client.stats(campaign_id)).status).toBe('sent');
});

it('the fault of an earlier attempt ends with it', async () => {
  const campaign_id = await operator.sending(1, { provider_id });
  const faults = async () =>
    (await operator.client.recipients(campaign_id)).map((row) => [
      row.error_code,
      row.provider_code,
      row.provider_message,
    ]);
  const fail = (status: string, error_code: string | null) => sql()`
    update message_sends set status = ${status}, error_code = ${error_code}, provider_code = '503',
      provider_message = 'later' where campaign_id = ${campaign_id}`;
  await fail('failed', 'PROVIDER_UNAVAILABLE');
  await retry(campaign_id);
  expect(await faults()).toEqual([[null, null, null]]);
  await fail('queued', null);
  await sql()`update players set self_excluded = true where tenant_id = (
    select tenant_id from campaigns where campaign_id = ${campaign_id})`;
  const { messenger, turnsUntil } = messengerOf(fixture.service);
  try {
    await turnsUntil('it is skipped', async () => (await faults())[0]?.[0] !== null);
  } finally {
    await messenger.close();
  }
  expect(await faults()).toEqual([['SKIPPED_SELF_EXCLUDED', null, null]]);
});
