import { afterAll, beforeAll, expect, it } from 'vitest';
import { mirrorSends } from '../../../processors/send-mirror/index.ts';
import { Schedule } from '../../../src/engage/campaigns/send.ts';
import { isAtPlainTime } from '../../../src/engage/campaigns/send-time.ts';
import { until } from '../../engines/until.ts';
import { giveHours, HOUR_MS, hourOf, storeModel } from '../campaigns/send-time-world.ts';
import { messengerOf, openMessengerFixture, type MessengerFixture } from './messenger-fixture.ts';

// A campaign with a send time, from the call to the provider. The clock of the messenger stands still; the test moves it.

let fixture: MessengerFixture;
let now_ms = Date.now();
let running: ReturnType<typeof messengerOf>;
beforeAll(async () => {
  fixture = await openMessengerFixture();
  running = messengerOf(fixture.service, { clock: { now_ms: () => now_ms } });
});
afterAll(async () => {
  await running?.messenger.close();
  await fixture?.close();
});

type Operator = Awaited<ReturnType<MessengerFixture['newTenant']>>;

async function projectOf({ client }: Operator) {
  const [player_id = ''] = await client.players(1);
  const [row] = await fixture.service.platform.postgres.service<{ tenant_id: string; project_id: string }[]>`
    select tenant_id, project_id from players where player_id = ${player_id}`;
  if (row === undefined) throw new Error('the tenant has a player');
  return row;
}
const statuses = async ({ client }: Operator, campaign_id: string) =>
  new Map((await client.recipients(campaign_id)).map((send) => [send.player_id, send]));

/** Takes turns until so many messages of the campaign are queued no more. */
const settles = (operator: Operator, campaign_id: string, many: number) =>
  running.turnsUntil(`${many} messages are decided`, async () => {
    const all = [...(await statuses(operator, campaign_id)).values()];
    return all.filter(({ status }) => status !== 'queued' && status !== 'sending').length === many;
  });

it(
  'sends to each member at the own hour, to a tenth at once, and compares them',
  { timeout: 120_000 },
  async () => {
    const operator = await fixture.newTenant();
    const { client } = operator;
    const { platform } = fixture.service;
    const project = await projectOf(operator);
    await storeModel(platform, project);
    now_ms = Date.now();
    const [soon, late, few] = [await client.players(60), await client.players(60), await client.players(10)];
    const [soon_ms, late_ms] = [hourOf(now_ms) + 5 * HOUR_MS, hourOf(now_ms) + 15 * HOUR_MS];
    await giveHours(platform, soon, soon_ms);
    await giveHours(platform, late, late_ms);
    const provider_id = await client.provider();
    const players = [...soon, ...late, ...few];
    const campaign_id = await operator.sending(players, { provider_id, send_time: 'player' });
    const plain: string[] = [...soon, ...late].filter((player_id) => isAtPlainTime(campaign_id, player_id));
    const owned = (of: readonly string[]) => of.filter((player_id) => !plain.includes(player_id));
    expect(plain.length).toBeGreaterThan(0);
    const schedule = new Schedule(platform);
    const campaign = async () => (await client.api('GET', `/v1/campaigns/${campaign_id}`)).data['status'];

    now_ms = Date.now();
    await settles(operator, campaign_id, plain.length + few.length);
    const first = await statuses(operator, campaign_id);
    for (const player_id of [...plain, ...few]) expect(first.get(player_id)?.status).toBe('sent');
    for (const player_id of owned([...soon, ...late])) expect(first.get(player_id)?.status).toBe('queued');

    now_ms = soon_ms - 1;
    await running.messenger.turn();
    expect(
      [...(await statuses(operator, campaign_id)).values()].filter(({ status }) => status === 'queued'),
    ).toHaveLength(owned([...soon, ...late]).length);
    // Who excluded itself meanwhile gets nothing: the gate looks again when the message is due.
    const [excluded = ''] = owned(soon);
    await platform.postgres.service`update players set self_excluded = true where player_id = ${excluded}`;
    now_ms = soon_ms;
    running.messenger.wake();
    await settles(operator, campaign_id, players.length - owned(late).length);
    const second = await statuses(operator, campaign_id);
    for (const player_id of owned(soon)) {
      const gone = player_id === excluded;
      expect(second.get(player_id)).toMatchObject(
        gone
          ? { status: 'failed', error_code: 'SKIPPED_SELF_EXCLUDED' }
          : { status: 'sent', error_code: null },
      );
    }
    for (const player_id of owned(late)) expect(second.get(player_id)?.status).toBe('queued');
    await schedule.turn();
    expect(await campaign()).toBe('sending');

    now_ms = late_ms;
    running.messenger.wake();
    await settles(operator, campaign_id, players.length);
    await schedule.turn();
    expect(await campaign()).toBe('sent');
    expect(await client.messages(provider_id)).toHaveLength(players.length - 1);

    // The mirror stops at transactions that run, also those of others.
    await until('the messages are in ClickHouse', async (saw) => {
      await mirrorSends(platform);
      const [row] = await platform.clickhouse.query<{ copied: string }>(
        `select toString(count()) as copied from campaign_sends final
      where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and assumeNotNull(campaign_id) = {campaign_id:UUID}`,
        { ...project, campaign_id },
      );
      return saw(Number(row?.copied)) === players.length;
    });
    const path = `/v1/campaigns/${campaign_id}/uplift`;
    const { data } = await client.api<Record<string, unknown> & { arms: Record<string, unknown>[] }>(
      'GET',
      `${path}?compare=send_time`,
    );
    expect(data).toMatchObject({
      kind: 'campaign',
      holdout_percent: 10,
      looks: 'once',
      is_final: false,
      held_out: { players: plain.length },
      arms: [{ arm: 'own_hour', name: 'own_hour', players: owned([...soon, ...late]).length }],
    });
    const holdout = await client.api<Record<string, unknown>>('GET', path);
    expect(holdout.data).toMatchObject({ holdout_percent: 0, held_out: { players: 0 } });
  },
);

it('skips waiting messages of a cancelled campaign at once', { timeout: 60_000 }, async () => {
  const operator = await fixture.newTenant();
  const { client } = operator;
  const { platform } = fixture.service;
  await storeModel(platform, await projectOf(operator));
  const players = await client.players(30);
  now_ms = Date.now();
  await giveHours(platform, players, now_ms + 5 * HOUR_MS);
  const provider_id = await client.provider();
  const campaign_id = await operator.sending(players, { provider_id, send_time: 'player' });
  const cancelled = await client.api('POST', `/v1/campaigns/${campaign_id}/cancel`);
  expect(cancelled.status).toBe(200);
  running.messenger.wake();
  await settles(operator, campaign_id, players.length);
  const all = [...(await statuses(operator, campaign_id)).values()];
  expect(new Set(all.map(({ error_code }) => error_code))).toEqual(new Set(['SKIPPED_CANCELLED']));
});

it('lets a message that is late wait for the end of quiet hours', { timeout: 60_000 }, async () => {
  const operator = await fixture.newTenant();
  const { client } = operator;
  const { platform } = fixture.service;
  await storeModel(platform, await projectOf(operator));
  const players = await client.players(20);
  now_ms = Date.now();
  const due_ms = hourOf(now_ms) + 5 * HOUR_MS;
  await giveHours(platform, players, due_ms);
  const provider_id = await client.provider();
  const campaign_id = await operator.sending(players, { provider_id, send_time: 'player' });
  const plain: string[] = players.filter((player_id) => isAtPlainTime(campaign_id, player_id));
  await settles(operator, campaign_id, plain.length);
  const clock = (at_ms: number) => new Date(at_ms).toISOString().slice(11, 16);
  const quiet_hours = {
    start: clock(due_ms - HOUR_MS),
    end: clock(due_ms + HOUR_MS),
    default_timezone: 'UTC',
  };
  await client.configure({ quiet_hours });
  now_ms = due_ms + 60_000;
  running.messenger.wake();
  const owned = players.filter((one) => !plain.includes(one));
  const { service } = platform.postgres;
  await running.turnsUntil('all wait for the end', async () => {
    const rows = await service`
      select from message_sends where campaign_id = ${campaign_id} and status = 'queued'
        and retry_at = ${new Date(due_ms + HOUR_MS)} and give_up_at = ${new Date(due_ms + 25 * HOUR_MS)}`;
    return rows.length === owned.length;
  });
  now_ms = due_ms + HOUR_MS;
  running.messenger.wake();
  await settles(operator, campaign_id, players.length);
  const all = await statuses(operator, campaign_id);
  for (const player_id of owned) expect(all.get(player_id)?.status).toBe('sent');
});
