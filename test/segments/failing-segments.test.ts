import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { evaluateOnce, startSegmentRefresh } from '../../processors/segment-refresh/index.ts';
import { ROLES } from '../../src/config.ts';
import { EVERYTHING } from '../../src/segments/dependencies.ts';
import { insertDirtyPlayers } from '../../src/segments/dirty-player-queries.ts';
import { dirtyPlayersOf } from '../../src/segments/dirty-players.ts';
import { runRefreshJob, runScheduleJob } from '../../src/segments/refresh-job.ts';
import { sweepWindows } from '../../src/segments/sweep.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { insertPlayers } from './inserted-players.ts';
import { segmentClient, type SegmentClient } from './segment-client.ts';

// Segments whose queries fail, beside good ones. The tests insert rows into Postgres and ClickHouse directly, drive the
// processor, and set its clock.

const HOUR_MS = 3_600_000;
/** Longer than every back-off of a segment. */
const LATER_MS = 2 * HOUR_MS;

/** Errors as a ClickHouse server sends them. */
const SHORT_OF_MEMORY = { code: '241', message: '(total) memory limit exceeded: would use 3.60 GiB' };
const OVER_OWN_LIMIT = { code: '241', message: 'Query memory limit exceeded: would use 1.90 GiB' };
const REFUSED = { code: '43', message: 'Illegal types of arguments of function less' };

let service: TestService;
let client: SegmentClient;
let project: { tenant_id: string; project_id: string };
/** The processor's clock stands still at the start of a test, plus `ahead_ms`. */
let start_ms = 0;
let ahead_ms = 0;
/** Queries about the project. */
let queries = 0;
/** While it returns an error for the text of a query and its parameters, ClickHouse fails with it. */
let failure: (text: string) => { code: string; message: string } | Promise<undefined> | undefined;
let platform: Platform;

beforeAll(async () => {
  const driven = ['segment-refresh', 'scheduler', 'player-mirror', 'analytics-sink'];
  service = await startTestService({ roles: new Set(ROLES.filter((role) => !driven.includes(role))) });
  const { clickhouse } = service.platform;
  platform = {
    ...service.platform,
    clock: { ...service.platform.clock, now_ms: () => start_ms + ahead_ms },
    clickhouse: {
      ...clickhouse,
      async query(sql, params) {
        if (params?.['project_id'] === project.project_id) queries += 1;
        const failing = await failure(sql + JSON.stringify(params));
        if (failing === undefined) return clickhouse.query(sql, params);
        throw Object.assign(new Error(failing.message), { name: 'ClickHouseError', code: failing.code });
      },
    },
  };
});
beforeEach(async () => {
  start_ms = Date.now();
  ahead_ms = 0;
  failure = () => undefined;
  await newProject();
});
afterAll(async () => service?.close());

async function newProject() {
  const tenant = await service.newTenant();
  project = { tenant_id: tenant.tenant_id, project_id: tenant.project_id };
  client = segmentClient({ ...service, ...tenant });
}

const players = (count: number) => insertPlayers(platform, project, count);

async function happened(player_id: string, event: string, at_ms: number): Promise<void> {
  const occurred_at = new Date(at_ms).toISOString().replace('T', ' ').replace('Z', '');
  const row = { event, occurred_at, received_at: occurred_at, ingestion_id: randomUUID(), event_index: 0 };
  const line = { ...project, player_id, ...row, properties: {}, revision: 0 };
  await platform.clickhouse.insertLines('events', [JSON.stringify(line)], randomUUID());
}

const mark = (ids: readonly string[], of = project) =>
  insertDirtyPlayers(
    platform.postgres.service,
    dirtyPlayersOf(of, [EVERYTHING], ids),
    new Date(platform.clock.now_ms()),
  );

async function evaluate(): Promise<void> {
  while (await evaluateOnce(platform));
}

async function members(segment_id: string): Promise<string[]> {
  const rows = await platform.postgres.service<{ player_id: string }[]>`
    select player_id from segment_members where segment_id = ${segment_id} order by player_id`;
  return rows.map(({ player_id }) => player_id);
}

const queued = () =>
  platform.postgres.service`select from dirty_players where project_id = ${project.project_id}`;
const lastError = async (segment_id: string) =>
  (await client.api('GET', `/v1/segments/${segment_id}`)).data['last_error'];
const refresh = (segment_id: string) => runRefreshJob(platform, { ...project, segment_id });
const realtime = (...conditions: Record<string, unknown>[]) =>
  client.make(conditions, { refresh_strategy: 'realtime' });
const trait = (op: string, value: unknown) => ({ type: 'trait', field: 'email', op, value });
const did = (event: string, last: Record<string, number>) => {
  return { type: 'event', event, aggregate: 'count', op: 'gte', value: 1, window: { last } };
};
const everybody = trait('neq', 'nobody@example.com');
const hard = trait('neq', 'hard@example.com');
const failsOn = (part: string, error: { code: string; message: string }) => (text: string) =>
  text.includes(part) ? error : undefined;

it.each([
  ['others use the memory', SHORT_OF_MEMORY, 'short of memory'],
  ['it needs too much memory itself', OVER_OWN_LIMIT, 'more time or memory'],
  ['ClickHouse refuses its statement', REFUSED, 'code 43'],
])(
  'players of a segment that fails stay queued and enter once it can be evaluated: %s',
  async (_why, error, told) => {
    const ids = await players(20);
    const [before, bad, after] = [await realtime(everybody), await realtime(hard), await realtime(everybody)];
    failure = failsOn('hard@', error);
    await mark(ids);
    await evaluate();
    expect([await members(before), await members(bad), await members(after)]).toEqual([ids, [], ids]);
    expect(await lastError(bad)).toContain(told);
    expect((await queued()).length).toBeGreaterThan(0);
    // The cause ends, and nothing else happens.
    failure = () => undefined;
    ahead_ms = LATER_MS;
    await evaluate();
    expect(await members(bad)).toEqual(ids);
    expect(await lastError(bad)).toBeNull();
    expect(await queued()).toHaveLength(0);
  },
);

it('a player of whom all else is known stays queued for a segment that fails', async () => {
  const [one = ''] = await players(1);
  const seen = { type: 'event', event: 'custom_seen', aggregate: 'last_seen', op: 'within_last' };
  const [good, bad] = [
    await realtime(did('login', { hours: 2 })),
    await realtime({ ...seen, value: { hours: 2 } }),
  ];
  await happened(one, 'login', start_ms - 1_000);
  await mark([one]);
  await evaluate();
  expect([await members(good), await members(bad)]).toEqual([[one], []]);
  await happened(one, 'custom_seen', start_ms - 500);
  failure = failsOn('maxOrNull', REFUSED);
  const entries = dirtyPlayersOf(project, ['event:custom_seen'], [one]);
  await insertDirtyPlayers(platform.postgres.service, entries, new Date(start_ms));
  await evaluate();
  expect(await members(bad)).toEqual([]);
  expect((await queued()).length).toBeGreaterThan(0);
  failure = () => undefined;
  ahead_ms = HOUR_MS;
  await evaluate();
  expect(await members(bad)).toEqual([one]);
});

/** How many players a query is about: their ids are one of its parameters. */
const playersIn = (text: string) => /"players":\[([^\]]*)\]/.exec(text)?.[1]?.split(',').length ?? 0;

it('players that are too many for one query are evaluated in parts, and no segment is quarantined', async () => {
  const ids = await players(200);
  const segments = await Promise.all(Array.from({ length: 4 }, () => realtime(everybody)));
  failure = (text) => (playersIn(text) > 30 ? OVER_OWN_LIMIT : undefined);
  await mark(ids.slice(0, 110));
  await mark(ids.slice(110));
  queries = 0;
  await evaluateOnce(platform);
  // 200, 100 and 50 are too many; then eight parts of 25.
  expect(queries).toBe(11);
  for (const segment_id of segments) {
    expect(await members(segment_id)).toEqual(ids);
    expect(await lastError(segment_id)).toBeNull();
  }
  expect(await queued()).toHaveLength(0);
});

it('a part that is written stays written, and the others stay queued, when a later one fails', async () => {
  const ids = await players(40);
  const segment = await realtime(everybody);
  let parts = 0;
  failure = (text) => {
    if (playersIn(text) > 10) return OVER_OWN_LIMIT;
    return ++parts > 2 ? { code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' } : undefined;
  };
  await mark(ids);
  await expect(evaluateOnce(platform)).rejects.toThrow('ECONNREFUSED');
  expect(await members(segment)).toEqual(ids.slice(0, 20));
  const [entry] = await platform.postgres.service<{ player_ids: string[] }[]>`
    select player_ids::text[] as player_ids from dirty_players where project_id = ${project.project_id}`;
  expect(entry?.player_ids).toEqual(ids.slice(20));
  failure = () => undefined;
  await evaluate();
  expect(await members(segment)).toEqual(ids);
  expect(await queued()).toHaveLength(0);
});

it('a player who is too much for all segments at once quarantines none of them', async () => {
  const ids = await players(60);
  const segments = [
    await realtime(everybody),
    await realtime(hard),
    await realtime(trait('neq', 'c@example.com')),
  ];
  const heavy = ids[20] ?? '';
  failure = (text) =>
    text.includes(heavy) && text.includes('nobody@') && text.includes('hard@') ? OVER_OWN_LIMIT : undefined;
  await mark(ids);
  await evaluate();
  for (const segment_id of segments) {
    expect(await members(segment_id)).toEqual(ids);
    expect(await lastError(segment_id)).toBeNull();
  }
});

it('a segment that is quarantined is tried again with fewer players', async () => {
  const ids = await players(100);
  const [bad, good] = [await realtime(hard), await realtime(everybody)];
  failure = failsOn('hard@', OVER_OWN_LIMIT);
  await mark(ids);
  await evaluate();
  expect([await members(bad), await members(good)]).toEqual([[], ids]);
  expect(await lastError(bad)).toContain('more time or memory');
  failure = (text) => (text.includes('hard@') && playersIn(text) > 30 ? OVER_OWN_LIMIT : undefined);
  ahead_ms = LATER_MS;
  await evaluate();
  expect(await members(bad)).toEqual(ids);
  expect(await lastError(bad)).toBeNull();
  expect(await queued()).toHaveLength(0);
});

it('a failing segment costs later evaluations of the good ones no further query', async () => {
  const [one = '', other = ''] = await players(2);
  const good = await Promise.all(Array.from({ length: 9 }, () => realtime(everybody)));
  const bad = await realtime(hard);
  failure = failsOn('hard@', SHORT_OF_MEMORY);
  await mark([one]);
  await evaluate();
  queries = 0;
  await mark([other]);
  await evaluate();
  expect(queries).toBe(1);
  for (const segment_id of good) expect(await members(segment_id)).toEqual([one, other].sort());
  // Retried alone, it fails again.
  ahead_ms = LATER_MS;
  await evaluate();
  expect(queries).toBe(2);
  failure = () => undefined;
  ahead_ms += LATER_MS;
  await evaluate();
  expect(await members(bad)).toEqual([one, other].sort());
});

it('a segment with very many waiting players is refreshed instead', async () => {
  const ids = await players(150);
  const bad = await realtime(hard);
  failure = failsOn('hard@', SHORT_OF_MEMORY);
  for (const id of ids) {
    await mark([id]);
    await evaluateOnce(platform);
  }
  expect((await queued()).length).toBeLessThanOrEqual(100);
  failure = () => undefined;
  ahead_ms = LATER_MS;
  expect(await orderedRefreshes()).toContain(bad);
  await refresh(bad);
  await evaluate();
  expect(await members(bad)).toEqual(ids);
});

/** Runs the schedule; returns the segments for which it has added a refresh job. */
async function orderedRefreshes(): Promise<string[]> {
  const ordered: string[] = [];
  const jobs: Platform['jobs'] = {
    ...platform.jobs,
    async add(_sql, { payload }) {
      ordered.push(String(payload['segment_id']));
      await Promise.resolve();
    },
  };
  await runScheduleJob({ ...platform, jobs });
  return ordered;
}

it('a refresh of a realtime segment that failed is repeated by itself', async () => {
  const ids = await players(3);
  const bad = await realtime(hard);
  failure = failsOn('hard@', SHORT_OF_MEMORY);
  await expect(refresh(bad)).rejects.toThrow('memory');
  ahead_ms = LATER_MS;
  expect(await orderedRefreshes()).toContain(bad);
  failure = () => undefined;
  await refresh(bad);
  expect(await members(bad)).toEqual(ids);
  ahead_ms += LATER_MS;
  expect(await orderedRefreshes()).not.toContain(bad);
});

it('a stored definition that cannot be read stops no other segment', async () => {
  const ids = await players(3);
  const [bad, good] = [await realtime(everybody), await realtime(everybody)];
  // As a version before left it, whose language had another operator.
  const unreadable = JSON.stringify({ operator: 'XOR', conditions: [everybody] });
  await platform.postgres.service`
    update segments set definition = ${unreadable}::text::json where segment_id = ${bad}`;
  await mark(ids);
  await evaluate();
  expect([await members(good), await members(bad)]).toEqual([ids, []]);
  expect(await lastError(bad)).toContain('definition');
  const { status, data } = await client.api('POST', `/v1/players/${ids[0]}/refresh-segments`);
  expect([status, data['matched_segment_ids']]).toEqual([200, [good]]);
  const listed = (await client.api('GET', '/v1/segments')).data as unknown as { id: string }[];
  expect(listed.map(({ id }) => id)).toEqual([good, bad]);
  // Mended, and without any new event.
  const definition = { operator: 'AND', conditions: [everybody] };
  expect((await client.api('PATCH', `/v1/segments/${bad}`, { definition })).status).toBe(200);
  await refresh(bad);
  expect(await members(bad)).toEqual(ids);
  await evaluate();
  expect(await queued()).toHaveLength(0);
  expect(await lastError(bad)).toBeNull();
});

it('400 windows of one project pass', async () => {
  const [one = ''] = await players(1);
  const [segment] = await Promise.all([
    realtime(did('login', { hours: 1 })),
    ...Array.from({ length: 8 }, (_, i) =>
      realtime(...Array.from({ length: 50 }, (_, n) => did('bet_placed', { hours: 100 + 50 * i + n }))),
    ),
  ]);
  await happened(one, 'login', start_ms - HOUR_MS / 2);
  await refresh(segment ?? '');
  expect(await members(segment ?? '')).toEqual([one]);
  ahead_ms = HOUR_MS / 2 + 5_000;
  await sweepWindows(platform, 0);
  await evaluate();
  expect(await members(segment ?? '')).toEqual([]);
});

it('a window that cannot be swept stops no other, and is swept when it can be', async () => {
  const [one = '', other = ''] = await players(2);
  const good = await realtime(did('login', { hours: 1 }));
  const bad = await realtime(did('custom_slow', { hours: 1 }));
  const later = await realtime(did('logout', { hours: 1 }));
  await happened(one, 'login', start_ms - HOUR_MS / 2);
  await happened(one, 'logout', start_ms - HOUR_MS / 2);
  await happened(other, 'custom_slow', start_ms - HOUR_MS / 2);
  for (const segment_id of [good, bad, later]) await refresh(segment_id);
  expect([await members(good), await members(bad), await members(later)]).toEqual([[one], [other], [one]]);
  ahead_ms = HOUR_MS / 2 + 5_000;
  // The statement about counted events, and those about windows.
  failure = (text) =>
    text.includes('custom_slow') && (text.includes('is_unclear') || text.includes('since_ms'))
      ? SHORT_OF_MEMORY
      : undefined;
  await sweepWindows(platform, 0);
  await evaluate();
  expect([await members(good), await members(bad), await members(later)]).toEqual([[], [other], []]);
  expect(await lastError(bad)).toContain('window');
  // Quarantined: the next sweep asks about the others alone, in one query.
  queries = 0;
  ahead_ms += 1;
  await sweepWindows(platform, 0);
  expect(queries).toBe(1);
  failure = () => undefined;
  ahead_ms += LATER_MS;
  await sweepWindows(platform, 0);
  await evaluate();
  expect(await members(bad)).toEqual([]);
  expect(await lastError(bad)).toBeNull();
});

it('a project whose queries hang holds up no other project', async () => {
  const hanging = project;
  const [stuck = ''] = await players(1);
  const stuck_in = await realtime(everybody, did('login', { hours: 1 }));
  await mark([stuck]);
  await newProject();
  const [one = ''] = await players(1);
  const segment = await realtime(everybody);
  let release: (value: undefined) => void = () => undefined;
  const hung = new Promise<undefined>((resolve) => (release = resolve));
  failure = (text) => (text.includes(hanging.tenant_id) ? hung : undefined);
  const processor = await startSegmentRefresh(platform, service.service.notifications);
  try {
    await mark([one]);
    await until(async (saw) => saw((await members(segment)).length) === 1);
    expect(await members(stuck_in)).toEqual([]);
  } finally {
    release(undefined);
    await processor.close();
  }
});

it.each([
  ['unreachable', { code: 'ECONNREFUSED', message: 'connect ECONNREFUSED 127.0.0.1:8123' }],
  ['out of memory', SHORT_OF_MEMORY],
])('a realtime segment heals by itself after an outage: ClickHouse is %s', async (_what, error) => {
  const [one = ''] = await players(1);
  const segments = [await realtime(everybody), await realtime(everybody)];
  failure = () => error;
  const processor = await startSegmentRefresh(platform, service.service.notifications);
  try {
    queries = 0;
    await mark([one]);
    await until((saw) => saw(queries) > 0);
    await sleep(3_000);
    // It pauses between its attempts.
    expect(queries).toBeLessThan(20);
    failure = () => undefined;
    ahead_ms = LATER_MS;
    for (const segment_id of segments)
      await until(async (saw) => saw((await members(segment_id)).length) === 1);
  } finally {
    await processor.close();
  }
  expect(await members(segments[0] ?? '')).toEqual([one]);
});
