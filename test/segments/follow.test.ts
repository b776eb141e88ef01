import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { mayWriteRevisions } from '../../src/analytics/epoch.ts';
import { evaluateOnce } from '../../processors/segment-refresh/index.ts';
import { ROLES } from '../../src/config.ts';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import { runRefreshJob, runScheduleJob } from '../../src/segments/refresh-job.ts';
import { publishMembershipChanges } from '../../src/segments/publish-changes.ts';
import { sweepWindows } from '../../src/segments/sweep.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { startTestService, sunk, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { segmentClient, type SegmentClient } from './segment-client.ts';

// Realtime segments, step by step: the tests drive the processors themselves, with a clock that they set.

const HOUR_MS = 3_600_000;

let service: TestService;
/** Each test uses a project of its own. */
let client: SegmentClient;
let project: { tenant_id: string; project_id: string };
beforeAll(async () => {
  const driven = ['segment-refresh', 'scheduler'];
  service = await startTestService({ roles: new Set(ROLES.filter((role) => !driven.includes(role))) });
  // A refresh is refused until then.
  await until('the epoch has begun', async (saw) => saw(await mayWriteRevisions(service.platform)));
});
beforeEach(async () => {
  const tenant = await service.newTenant();
  project = { tenant_id: tenant.tenant_id, project_id: tenant.project_id };
  client = segmentClient({ ...service, ...tenant });
});
afterAll(async () => service?.close());

/** The platform at this time, which stands still. */
const at = (now_ms: number): Platform => ({
  ...service.platform,
  clock: { ...service.platform.clock, now_ms: () => now_ms },
});

/** Waits until events and players are in ClickHouse, then sweeps, evaluates and publishes, now or at a later time. */
async function follow(later_ms?: number): Promise<void> {
  await sunk(service.platform);
  const { postgres } = service.platform;
  await until('players are mirrored', async (saw) => {
    const [row] = saw(
      await postgres.service<{ behind: boolean }[]>`
      select exists (select from player_totals t left join mirror_positions m on m.name = 'players'
        where m.name is null or (t.changed_xid, t.player_id) > (m.changed_xid, m.row_id)) as behind`,
    );
    return row?.behind === false;
  });
  const platform = at(later_ms ?? Date.now());
  await sweepWindows(platform, 0);
  while (await evaluateOnce(platform));
  while (await publishMembershipChanges(platform));
}

const refresh = (segment_id: string) =>
  runRefreshJob(service.platform, {
    ...project,
    segment_id,
  });

const loginWithin = (hours: number) => ({
  type: 'event',
  event: 'login',
  aggregate: 'count',
  op: 'gte',
  value: 1,
  window: { last: { hours } },
});

it('a player leaves when the window passes, to the millisecond, without any new event', async () => {
  const [player, other] = [await client.identify(), await client.identify()];
  const segment = await client.make([loginWithin(1)], { refresh_strategy: 'realtime' });
  await refresh(segment);
  const login_ms = Date.now() - HOUR_MS / 2;
  await client.send(player, 'login', {}, login_ms);
  await client.send(other, 'login', {}, login_ms + 60_000);
  await follow();
  expect(await client.segmentsOf(player)).toEqual([segment]);
  await follow(login_ms + HOUR_MS - 1);
  expect(await client.segmentsOf(player)).toEqual([segment]);
  await follow(login_ms + HOUR_MS);
  expect(await client.segmentsOf(player)).toEqual([]);
  expect(await client.segmentsOf(other)).toEqual([segment]);
  await follow(login_ms + HOUR_MS + 60_000);
  expect(await client.segmentsOf(other)).toEqual([]);
});

it('an event with a future timestamp counts from that time on', async () => {
  const player = await client.identify();
  const segment = await client.make([loginWithin(1)], { refresh_strategy: 'realtime' });
  await refresh(segment);
  await client.send(player, 'login', {}, Date.now() + 2 * HOUR_MS);
  await follow();
  expect(await client.segmentsOf(player)).not.toContain(segment);
  await follow(Date.now() + 2 * HOUR_MS + 1_000);
  expect(await client.segmentsOf(player)).toContain(segment);
});

it('a date in a custom attribute passes too', async () => {
  const condition = {
    type: 'trait',
    field: 'custom_attributes.joined',
    op: 'within_last',
    value: { hours: 2 },
  };
  const segment = await client.make([condition], { refresh_strategy: 'realtime' });
  await refresh(segment);
  const player = await client.identify({ joined: new Date(Date.now() - HOUR_MS).toISOString() });
  await follow();
  expect(await client.segmentsOf(player)).toContain(segment);
  await follow(Date.now() + HOUR_MS + 5_000);
  expect(await client.segmentsOf(player)).not.toContain(segment);
});

it('entering and leaving are published on the log and copied to ClickHouse', async () => {
  const { eventLog, clickhouse } = service.platform;
  const ends = async () => new Map(await eventLog.endOffsets(TOPICS.segmentChanges));
  const before = await ends();
  const player = await client.identify({ colour: 'red' });
  const segment = await client.make(
    [{ type: 'trait', field: 'custom_attributes.colour', op: 'eq', value: 'red' }],
    {
      refresh_strategy: 'realtime',
    },
  );
  await refresh(segment);
  await follow();
  await client.api('PATCH', `/v1/players/${player}`, { custom_attributes: { colour: null } });
  await follow();
  const told: unknown[] = [];
  for (const [partition, end] of await ends()) {
    for await (const part of eventLog.read(
      TOPICS.segmentChanges,
      partition,
      before.get(partition) ?? 0n,
      end,
    )) {
      told.push(...part.records.map(({ value }) => JSON.parse(value) as unknown));
    }
  }
  const change = {
    ...project,
    segment_id: segment,
    player_id: player,
  };
  expect(told.filter((one) => (one as { segment_id: string }).segment_id === segment)).toMatchObject([
    { ...change, change: 'entered' },
    { ...change, change: 'left' },
  ]);
  expect(
    await clickhouse.query('select * from segment_members final where segment_id = {segment:UUID}', {
      segment,
    }),
  ).toEqual([]);
});

it('without realtime segments no player is queued, and a sweep sends ClickHouse no query', async () => {
  const player = await client.identify();
  await client.send(player, 'login');
  await follow();
  const { postgres } = service.platform;
  const entries = await postgres.service`select from dirty_players where tenant_id = ${project.tenant_id}`;
  expect(entries).toHaveLength(0);
  await postgres.service`update segments set deleted_at = now() where refresh_strategy = 'realtime'`;
  let asked = 0;
  const clickhouse: Platform['clickhouse'] = {
    ...service.platform.clickhouse,
    query: async () => {
      asked++;
      return [];
    },
  };
  const later = { ...at(Date.now() + HOUR_MS), clickhouse };
  await sweepWindows(later, 0);
  await evaluateOnce(later);
  expect(asked).toBe(0);
});

it('a scheduled segment is refreshed when it is due, and records why a refresh failed', async () => {
  const player = await client.identify({ colour: 'blue' });
  const segment = await client.make(
    [{ type: 'trait', field: 'custom_attributes.colour', op: 'eq', value: 'blue' }],
    {
      refresh_strategy: 'scheduled',
      refresh_interval_minutes: 10,
    },
  );
  await follow();
  const { postgres } = service.platform;
  const jobs = () =>
    postgres.service.begin(async (tx) => {
      await tx`set local role none`;
      return tx<{ task: string; payload: { segment_id: string } }[]>`
      select t.identifier as task, j.payload from graphile_worker._private_jobs j
      join graphile_worker._private_tasks t on t.id = j.task_id where t.identifier = 'segment-refresh'`;
    });
  const ordered = async () => (await jobs()).filter(({ payload }) => payload.segment_id === segment).length;
  const forget = () =>
    postgres.service.begin(async (tx) => {
      await tx`set local role none`;
      await tx`delete from graphile_worker._private_jobs`;
    });
  const ordered_ms = Date.now();
  await runScheduleJob(at(ordered_ms));
  expect(await ordered()).toBe(1);
  await forget();
  await runScheduleJob(at(ordered_ms + 9 * 60_000));
  expect(await ordered()).toBe(0);
  await runScheduleJob(at(ordered_ms + 10 * 60_000 + 1_000));
  expect(await ordered()).toBe(1);
  await refresh(segment);
  expect(await client.segmentsOf(player)).toEqual([segment]);
  const path = `/v1/segments/${segment}`;
  const broken: Platform['clickhouse'] = {
    ...service.platform.clickhouse,
    query: () => Promise.reject(new Error('out of memory')),
  };
  const ref = { ...project, segment_id: segment };
  await expect(runRefreshJob({ ...service.platform, clickhouse: broken }, ref)).rejects.toThrow(
    'out of memory',
  );
  expect((await client.api('GET', path)).data).toMatchObject({
    last_error: 'out of memory',
    estimated_size: 1,
  });
  await refresh(segment);
  expect((await client.api('GET', path)).data).toMatchObject({ last_error: null, refresh_progress: null });
});

it('a date in event properties passes too', async () => {
  const where = [{ property: 'until', op: 'within_last', value: { hours: 2 } }];
  const condition = { type: 'event', event: 'custom_offer', aggregate: 'count', op: 'gte', value: 1, where };
  const segment = await client.make([condition], { refresh_strategy: 'realtime' });
  await refresh(segment);
  const player = await client.identify();
  await client.send(player, 'custom_offer', { until: new Date(Date.now() - HOUR_MS).toISOString() });
  await follow();
  expect(await client.segmentsOf(player)).toContain(segment);
  await follow(Date.now() + HOUR_MS + 5_000);
  expect(await client.segmentsOf(player)).not.toContain(segment);
});
