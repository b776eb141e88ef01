import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { claimTriggerEvents } from '../../../src/engage/triggers/trigger-queries.ts';
import { encodePlayerEvent, playerKey } from '../../../src/ingest/events/envelope.ts';
import type { ClickHouse } from '../../../src/platform/clickhouse/port.ts';
import {
  adoptLog,
  OFFSET_STORES,
  readPositions,
  restartLog,
  resumeLog,
} from '../../../src/platform/event-log/position-queries.ts';
import type { TopicState } from '../../../src/platform/event-log/port.ts';
import { startTestService, sunk, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { openTestPlatform } from '../../engines/wiring.ts';
import { counted, everybody, group, triggerFixture, type TriggerFixture } from './trigger-fixture.ts';

let service: TestService;
let on: TriggerFixture;
/** While it is true, ClickHouse does not answer. */
let is_away = false;

beforeAll(async () => {
  service = await startTestService({}, async (config) => {
    const platform = await openTestPlatform(config);
    return { ...platform, clickhouse: interrupted(platform.clickhouse) };
  });
  on = triggerFixture(service);
});
afterAll(async () => service?.close());
afterEach(() => {
  is_away = false;
  vi.restoreAllMocks();
});

function interrupted(clickhouse: ClickHouse): ClickHouse {
  return new Proxy(clickhouse, {
    get(target, name: keyof ClickHouse) {
      return async (...given: unknown[]) => {
        if (is_away && name !== 'close') throw new Error('ClickHouse is away');
        return (target[name] as (...args: unknown[]) => Promise<unknown>)(...given);
      };
    },
  });
}

/** The value of a metric, summed over its labels that match. */
async function metric(name: string, labels = ''): Promise<number> {
  const text = await service.platform.metrics.registry.metrics();
  const lines = text.split('\n').filter((line) => line.startsWith(name) && line.includes(labels));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

const sql = () => service.platform.postgres.service;

it('an event waits while ClickHouse is away, is counted meanwhile, and fires once when it is back', async () => {
  const campaign = await on.arm('deposit_confirmed', await on.segment(everybody));
  const unsegmented = await on.arm('deposit_confirmed', null);
  const player_id = await on.person();
  await sunk(service.platform);
  is_away = true;
  await on.deposit(player_id);
  // It needs no ClickHouse.
  expect(await on.messages(unsegmented, 1)).toHaveLength(1);
  await until(async (saw) => saw((await on.waiting(campaign)).length) === 1);
  await until(async (saw) => saw(await metric('trigger_events_waiting')) === 1);
  expect(await metric('trigger_events_age_seconds')).toBeGreaterThan(0);
  is_away = false;
  expect(await on.messages(campaign, 1)).toHaveLength(1);
  expect(await on.waiting(campaign)).toEqual([]);
});

it('a decision that fails is repeated; its reason is shown and stops no other campaign', async () => {
  const broken_id = await on.segment(everybody, { refresh_strategy: 'manual' });
  const campaigns = [
    await on.arm('custom_pair', broken_id),
    await on.arm('custom_pair', await on.segment(everybody, { refresh_strategy: 'manual' })),
  ] as const;
  const [broken, sound] = campaigns;
  // As a segment may be after an update that reads definitions more strictly.
  const define = (definition: unknown) =>
    sql()`update segments set definition = ${JSON.stringify(definition)}::text::json where segment_id = ${broken_id}`;
  await define({ operator: 'AND', conditions: [{ type: 'gone' }] });
  const warn = vi.spyOn(service.platform.logger, 'warn');
  const failures = await metric('trigger_failures_total');
  const player_ids = [await on.person(), await on.person()];
  for (const player_id of player_ids) await on.event(player_id, 'custom_pair');
  expect(await on.messages(sound, 2)).toHaveLength(2);
  await until(async (saw) => saw(await on.waiting(broken)).some(({ attempts }) => attempts >= 2));
  expect(await metric('trigger_failures_total')).toBeGreaterThan(failures);
  const last_error = await on.lastError(broken);
  expect(last_error).toEqual(expect.stringMatching(/definition/));
  expect((await on.waiting(broken)).map((one) => one.last_error)).toContain(last_error);
  expect(await on.lastError(sound)).toBeNull();
  const logged = warn.mock.calls.map(([fields]) => fields as Record<string, unknown>);
  expect(logged.some((fields) => fields['listener_id'] === broken.campaign_id)).toBe(true);
  expect(JSON.stringify(logged)).not.toContain(player_ids[0]);
  await define(everybody);
  expect(await on.messages(broken, 2)).toHaveLength(2);
  await until(async (saw) => saw(await on.lastError(broken)) === null);
});

it('an event whose decision is not possible for a day is given up and kept with its reason', async () => {
  const segment_id = await on.segment(everybody, { refresh_strategy: 'manual' });
  const campaign = await on.arm('custom_hopeless', segment_id);
  expect((await on.client.api('DELETE', `/v1/segments/${segment_id}`)).status).toBe(200);
  await on.event(await on.person(), 'custom_hopeless', { n: 7 });
  await until(async (saw) => saw(await on.waiting(campaign)).some(({ last_error }) => last_error !== null));
  const error = vi.spyOn(service.platform.logger, 'error');
  await sql()`update trigger_events set recorded_at = recorded_at - interval '1 day'
    where listener_id = ${campaign.campaign_id}`;
  const [failed] = await on.decided(campaign, 1);
  expect(failed).toMatchObject({ outcome: 'failed', last_error: expect.stringContaining(segment_id) });
  const [row] = await sql()<{ value: string }[]>`
    select value from trigger_events where listener_id = ${campaign.campaign_id}`;
  expect(JSON.parse(row?.value ?? '')).toMatchObject({ event: 'custom_hopeless', properties: { n: 7 } });
  expect(await metric('trigger_events_total', 'failed')).toBe(1);
  const given_up = { listener_id: campaign.campaign_id, listener_kind: 'campaign', events: 1 };
  expect(error.mock.calls.map(([fields]) => fields)).toContainEqual(given_up);
  expect(await on.client.recipients(campaign.campaign_id)).toEqual([]);
});

it('what waits when the campaign is cancelled is recorded as given up', async () => {
  const campaign = await on.arm('custom_cancelled', await on.segment(everybody));
  const player_id = await on.person();
  await sunk(service.platform);
  is_away = true;
  await on.event(player_id, 'custom_cancelled');
  await until(async (saw) => saw((await on.waiting(campaign)).length) === 1);
  await on.client.api('POST', `/v1/campaigns/${campaign.campaign_id}/cancel`);
  const [failed] = await on.decided(campaign, 1);
  expect(failed).toMatchObject({ outcome: 'failed', last_error: expect.stringContaining('ended') });
});

it('an event that is on the log again is not decided again', async () => {
  const campaign = await on.arm('custom_again', await on.segment(group(counted('custom_again', 'eq', 2))));
  const player_id = await on.person();
  await on.event(player_id, 'custom_again');
  await on.decided(campaign, 1);
  const copies = await eventsOf('custom_again');
  await on.event(player_id, 'custom_again');
  expect(await on.messages(campaign, 1)).toHaveLength(1);
  const key = playerKey(service.project_id, player_id);
  // As the fold emits its last batch again after a crash. Now the segment would have the player.
  const other = await on.arm('custom_after', null);
  await service.platform.eventLog.append('player-events', [
    ...copies.map((value) => ({ key, value })),
    {
      key,
      value: encodePlayerEvent({
        ...(JSON.parse(copies[0] ?? '') as Parameters<typeof encodePlayerEvent>[0]),
        event: 'custom_after',
        received_at: Date.now(),
      }),
    },
  ]);
  expect(await on.messages(other, 1)).toHaveLength(1);
  expect(await on.waiting(campaign)).toEqual([]);
  expect((await on.decided(campaign, 2)).map(({ outcome }) => outcome)).toEqual(['refused', 'fired']);
  expect(await on.client.recipients(campaign.campaign_id)).toHaveLength(1);
});

/** The lines of an event on `player-events`. */
async function eventsOf(name: string): Promise<string[]> {
  const { eventLog } = service.platform;
  const found: string[] = [];
  for (const [partition, end] of await eventLog.endOffsets('player-events')) {
    for await (const { records } of eventLog.read('player-events', partition, 0n, end)) {
      found.push(...records.map(({ value }) => value).filter((value) => value.includes(`"${name}"`)));
    }
  }
  return found;
}

it('an event of a player that is merged before the decision fires for the survivor', async () => {
  const both = group(counted('custom_merged', 'eq', 1), counted('login', 'eq', 1));
  const campaign = await on.arm('custom_merged', await on.segment(both));
  const survivor = await on.person();
  await on.event(survivor, 'login');
  await on.visit('visitor to merge', 'page_view');
  await sunk(service.platform);
  is_away = true;
  await on.visit('visitor to merge', 'custom_merged');
  await until(async (saw) => saw((await on.waiting(campaign)).length) === 1);
  const [before] = await on.waiting(campaign);
  expect(before?.player_id).not.toBe(survivor);
  await on.person({ player_id: survivor, anonymous_id: 'visitor to merge' });
  is_away = false;
  const [decided] = await on.decided(campaign, 1);
  expect(decided).toMatchObject({ outcome: 'fired', player_id: survivor });
  expect(await on.messages(campaign, 1)).toHaveLength(1);
  expect((await on.client.recipients(campaign.campaign_id)).map(({ player_id }) => player_id)).toEqual([
    survivor,
  ]);
});

it('an event waits while the position of player-mirror is from the future', async () => {
  const campaign = await on.arm('custom_loaded', await on.segment(everybody));
  const player_id = await on.person();
  await waitUntilCaughtUp(service.platform, 90_000);
  // As after a database was loaded from a dump of another cluster, before player-mirror begins an epoch.
  const [before] = await sql()<{ changed_xid: string }[]>`
    select changed_xid::text from mirror_positions where name = 'players'`;
  const moveTo = (xid: string) =>
    sql()`update mirror_positions set changed_xid = ${xid}::text::xid8 where name = 'players'`;
  await moveTo('1000000000000');
  await on.event(player_id, 'custom_loaded');
  await until(async (saw) => saw((await on.waiting(campaign)).length) === 1);
  await until(sinkHasAll);
  const { tenant_id, project_id } = service;
  const listener = { tenant_id, project_id, listener_id: campaign.campaign_id };
  expect(await claimTriggerEvents(sql(), listener, { reads_clickhouse: true, limit: 1 })).toEqual([]);
  expect(await on.waiting(campaign)).toMatchObject([{ attempts: 0 }]);
  await moveTo(before?.changed_xid ?? '0');
  expect(await on.messages(campaign, 1)).toHaveLength(1);
});

/** Whether ClickHouse has every event that waits. */
async function sinkHasAll(): Promise<boolean> {
  const [row] = await sql()<{ n: number }[]>`
    select count(*)::integer as n from trigger_events e
    left join sink_positions s on s.topic = 'player-events' and s.partition = e.partition
    where e.decided_at is null and e.log_offset >= coalesce(s.next_offset, 0)`;
  return row?.n === 0;
}

it('an event of another log waits until the sink is in that log, too, and those of the earlier one go on', async () => {
  const campaign = await on.arm('custom_other_log', await on.segment(everybody));
  const player_id = await on.person();
  await sunk(service.platform);
  const { eventLog } = service.platform;
  const log = await eventLog.describe(OFFSET_STORES.sink.topic);
  // As between `restart player-fold` and `restart analytics-sink`, after both topics were made again.
  const earlier = 'the earlier log';
  await sql()`update consumed_logs set log_id = ${earlier} where group_name = ${OFFSET_STORES.sink.group}`;
  await until(() => isRefused('analytics-sink'));
  await sql()`update sink_positions set next_offset = 1000000`;
  await on.event(player_id, 'custom_other_log');
  await on.event(player_id, 'custom_other_log');
  await until(async (saw) => saw((await on.waiting(campaign)).length) === 2);
  const [one] = await sql()<{ event_key: string; partition: number }[]>`
    select event_key, partition from trigger_events where listener_id = ${campaign.campaign_id} limit 1`;
  const { event_key: key, partition } = one ?? { event_key: '', partition: -1 };
  await sql()`update trigger_events set log_id = ${earlier}, partition = 7, log_offset = 999999 where event_key = ${key}`;
  // Another campaign is decided meanwhile: the decider has had its turns.
  const other = await on.arm('custom_other_log_too', null);
  await on.event(player_id, 'custom_other_log_too');
  expect(await on.messages(other, 1)).toHaveLength(1);
  expect(await on.waiting(campaign)).toHaveLength(2);
  const deposits = { first: 0n, end: log.partitions.get(partition)?.end ?? 0n };
  is_away = true;
  await restartLog(sql(), OFFSET_STORES.sink, { id: log.id, partitions: new Map([[partition, deposits]]) });
  const places = await sql()`
    select event_key = ${key} as is_earlier, partition, log_offset >= 0 as has_place from trigger_events
    where listener_id = ${campaign.campaign_id} order by is_earlier`;
  expect(places).toEqual([
    { is_earlier: false, partition, has_place: true },
    { is_earlier: true, partition, has_place: false },
  ]);
  is_away = false;
  expect(await on.messages(campaign, 2)).toHaveLength(2);
  await until(async (saw) => !saw(await isRefused('analytics-sink')));
});

it('an event keeps its place when its log is adopted under another id, unless the log had lost that place', async () => {
  const campaign = await on.arm('custom_adopted', await on.segment(everybody));
  const player_id = await on.person();
  await sunk(service.platform);
  is_away = true;
  await on.event(player_id, 'custom_adopted');
  await until(async (saw) => saw((await on.waiting(campaign)).length) === 1);
  const place = async () => {
    const [row] = await sql()<{ log_id: string | null; log_offset: bigint }[]>`
      select log_id, log_offset from trigger_events where listener_id = ${campaign.campaign_id}`;
    return row;
  };
  const [event] = await sql()<{ partition: number }[]>`
    select partition from trigger_events where listener_id = ${campaign.campaign_id}`;
  const partition = event?.partition ?? -1;
  const { group: group_name, topic } = OFFSET_STORES.sink;
  const log = await service.platform.eventLog.describe(topic);
  const recorded = await place();
  expect(recorded?.log_id).toBe(log.id);
  const log_offset = recorded?.log_offset ?? 0n;
  const adopt = async (as: TopicState) =>
    adoptLog(sql(), OFFSET_STORES.sink, as, await readPositions(sql(), OFFSET_STORES.sink));
  await adopt({ ...log, id: 'a copy' });
  expect(await place()).toEqual({ log_id: 'a copy', log_offset });
  await resumeLog(sql(), OFFSET_STORES.sink, log);
  expect(await place()).toEqual({ log_id: log.id, log_offset });
  const refuse = (handled: bigint) =>
    sql()`insert into position_refusals (group_name, topic, log_id, partition, end_offset, handled_offset)
      values (${group_name}, ${topic}, ${log.id}, ${partition}, ${log_offset}, ${handled})`;
  // Another partition had lost records. This one had not, and the event was read between the look at its end and the refusal.
  await refuse(log_offset);
  await adopt(log);
  expect(await place()).toEqual({ log_id: log.id, log_offset });
  await refuse(log_offset + 1n);
  is_away = false;
  // Nothing is decided with positions of a log that was refused.
  const other = await on.arm('custom_adopted_too', null);
  await on.event(player_id, 'custom_adopted_too');
  expect(await on.messages(other, 1)).toHaveLength(1);
  expect(await on.waiting(campaign)).toHaveLength(1);
  is_away = true;
  await adopt(log);
  expect(await place()).toEqual({ log_id: null, log_offset: -1n });
  is_away = false;
  expect(await on.messages(campaign, 1)).toHaveLength(1);
  await until(async (saw) => !saw(await isRefused(group_name)));
  await sunk(service.platform);
});

async function isRefused(group_name: string): Promise<boolean> {
  return (await metric('consumer_refused', group_name)) === 1;
}
