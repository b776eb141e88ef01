import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { evaluateOnce } from '../../processors/segment-refresh/index.ts';
import { ensureEpoch, mayWriteRevisions, newEpochMemory } from '../../src/analytics/epoch.ts';
import { auditNothing } from '../../src/http/audit.ts';
import { ROLES } from '../../src/config.ts';
import { EVERYTHING } from '../../src/segments/dependencies.ts';
import { lockMembership } from '../../src/segments/lock-queries.ts';
import { refreshPlayerSegments } from '../../src/segments/player-segments.ts';
import { refreshSegment } from '../../src/segments/refresh.ts';
import { runPurgeJob } from '../../src/segments/refresh-job.ts';
import { sweepWindows } from '../../src/segments/sweep.ts';
import { copyPendingChanges, publishMembershipChanges } from '../../src/segments/publish-changes.ts';
import { insertDirtyPlayers } from '../../src/segments/dirty-player-queries.ts';
import { dirtyPlayersOf } from '../../src/segments/dirty-players.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { runs, SEED } from '../engines/effort.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { definitionOver, NOW_MS, player as playerArbitrary } from './arbitraries.ts';
import { matches, type NaivePlayer, type WrittenGroup } from './naive.ts';
import { storePopulation } from './population.ts';
import { openTestPlatform } from '../engines/wiring.ts';
import { segmentClient, type SegmentClient } from './segment-client.ts';

// Concurrent refreshes, refreshes beside realtime evaluation, and crashes half-way. The tests insert players into
// Postgres and ClickHouse directly.

const PLAYERS = 30;
const DEFINITIONS = runs(20, { nightly: 200, nightly_on_servers: 40 });

let service: TestService;
let client: SegmentClient;
let project: { tenant_id: string; project_id: string };
let platform: Platform;
beforeAll(async () => {
  const driven = ['segment-refresh', 'scheduler', 'player-mirror'];
  service = await startTestService(
    { roles: new Set(ROLES.filter((role) => !driven.includes(role))) },
    // The tests read advisory locks and end the sessions that hold one, so they need a server of their own.
    (config) => openTestPlatform(config, { own_postgres: true }),
  );
  platform = { ...service.platform, clock: { ...service.platform.clock, now_ms: () => NOW_MS } };
});
afterAll(async () => service?.close());
beforeEach(async () => {
  const tenant = await service.newTenant();
  project = { tenant_id: tenant.tenant_id, project_id: tenant.project_id };
  client = segmentClient({ ...service, ...tenant });
});

async function populate(seed: number): Promise<NaivePlayer[]> {
  const drawn = fc.sample(playerArbitrary, { numRuns: PLAYERS, seed });
  const players = drawn.map((one) => ({ ...one, player_id: randomUUID(), segment_ids: new Set<string>() }));
  await storePopulation(platform.clickhouse, project, players);
  await platform.postgres.service`
    insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
    select ${project.tenant_id}, ${project.project_id}, r::uuid, 'EUR', now(), now()
    from unnest(${`{${players.map(({ player_id }) => player_id).join(',')}}`}::text::text[]) as r`;
  return players;
}

async function members(segment_id: string): Promise<string[]> {
  const rows = await platform.postgres.service<{ player_id: string }[]>`
    select player_id from segment_members where tenant_id = ${project.tenant_id} and segment_id = ${segment_id}
    order by player_id`;
  return rows.map(({ player_id }) => player_id);
}

const expected = (written: WrittenGroup, players: readonly NaivePlayer[]) =>
  players
    .filter((one) => matches(written, one, NOW_MS))
    .map(({ player_id }) => player_id)
    .sort();

const everybody = { type: 'trait', field: 'kyc_level', op: 'gte', value: 0 };
const ref = (segment_id: string) => ({ ...project, segment_id });

it('batch refresh and realtime evaluation agree with the direct evaluation for random definitions', async () => {
  const players = await populate(SEED);
  const definitions = fc.sample(definitionOver([randomUUID()], []), { numRuns: DEFINITIONS * 2 });
  // Definitions with references to segments are dropped, because those segments do not exist.
  const usable = definitions
    .filter((one) => !JSON.stringify(one).includes('"segment"'))
    .slice(0, DEFINITIONS);
  expect(usable.length).toBeGreaterThan(DEFINITIONS / 2);
  const make = (written: WrittenGroup, rest = {}) => client.make([written as never], rest);
  const batch_ids = [];
  const batch = [];
  for (const written of usable) {
    const segment_id = await make(written);
    batch_ids.push(segment_id);
    await refreshSegment(platform, ref(segment_id));
    batch.push(await members(segment_id));
  }
  expect(batch).toEqual(usable.map((written) => expected(written, players)));
  const realtime = [];
  for (const written of usable) realtime.push(await make(written, { refresh_strategy: 'realtime' }));
  const ids = players.map(({ player_id }) => player_id);
  await insertDirtyPlayers(
    platform.postgres.service,
    dirtyPlayersOf(project, [EVERYTHING], ids),
    new Date(NOW_MS),
  );
  while (await evaluateOnce(platform));
  for (const [i, segment_id] of realtime.entries()) expect(await members(segment_id)).toEqual(batch[i]);
  await platform.postgres.service`delete from segment_members where tenant_id = ${project.tenant_id}`;
  const some = players.slice(0, 5);
  for (const { player_id } of some) {
    const { status, data } = await client.api('POST', `/v1/players/${player_id}/refresh-segments`);
    expect([status, data['total_segments_evaluated']]).toEqual([200, usable.length * 2]);
    // The service evaluates at the current time, where windows contain other events. Its function does so at NOW_MS.
    await refreshPlayerSegments(platform, { ...project, player_id }, auditNothing);
  }
  const those = usable.map((written) => expected(written, some));
  for (const segment_ids of [batch_ids, realtime]) {
    expect(await Promise.all(segment_ids.map(members))).toEqual(those);
  }
});

it('concurrent refreshes of one segment run one after the other: each player is added once', async () => {
  await populate(1);
  const segment_id = await client.make([everybody]);
  const results = await Promise.all(
    Array.from({ length: 5 }, () => refreshSegment(platform, ref(segment_id))),
  );
  expect(results.map(({ added }) => added).sort((a, b) => b - a)).toEqual([PLAYERS, 0, 0, 0, 0]);
  expect(
    results.filter(({ matched, removed }) => !(matched === PLAYERS && removed === 0)).slice(0, 20),
  ).toEqual([]);
  expect(await members(segment_id)).toHaveLength(PLAYERS);
});

it('a refresh refreshes the segments that the definition refers to first', async () => {
  await populate(2);
  const inner = await client.make([everybody]);
  const middle = await client.make([{ type: 'segment', segment_id: inner, op: 'in' }]);
  const outer = await client.make([
    { type: 'segment', segment_id: middle, op: 'in' },
    { type: 'segment', segment_id: inner, op: 'in' },
  ]);
  expect(await refreshSegment(platform, ref(outer))).toMatchObject({ matched: PLAYERS, added: PLAYERS });
});

it('a refresh that dies leaves the membership unchanged or complete, and the next one completes it', async () => {
  const players = await populate(3);
  const segment_id = await client.make([everybody]);
  await refreshSegment(platform, ref(segment_id));
  await client.api('PATCH', `/v1/segments/${segment_id}`, {
    definition: { operator: 'NOT', conditions: [{ operator: 'AND', conditions: [everybody] }] },
  });
  for (const dies_at of ['comparing', 'writing'] as const) {
    const kills: Promise<void>[] = [];
    const clickhouse: Platform['clickhouse'] = {
      ...platform.clickhouse,
      async query(sql, params) {
        const rows = await platform.clickhouse.query(sql, params);
        if (dies_at === 'comparing') await killRefreshes();
        else setImmediate(() => void kills.push(killRefreshes()));
        return rows as never;
      },
    };
    // When it is killed while writing, it may have committed already.
    await refreshSegment({ ...platform, clickhouse }, ref(segment_id)).catch(() => undefined);
    // A kill that is late must not meet the next refresh.
    await Promise.all(kills);
    expect([0, players.length]).toContain((await members(segment_id)).length);
    if (dies_at === 'comparing') expect(await members(segment_id)).toHaveLength(players.length);
  }
  expect(await refreshSegment(platform, ref(segment_id))).toMatchObject({ matched: 0 });
  expect(await members(segment_id)).toEqual([]);
});

/** Ends every session that holds a refresh lock. */
async function killRefreshes(): Promise<void> {
  await platform.postgres.service.begin(async (tx) => {
    await tx`set local role none`;
    await tx`
      select pg_terminate_backend(pid) from pg_locks
      where locktype = 'advisory' and mode = 'ExclusiveLock' and granted and pid <> pg_backend_pid()
        and pid in (select pid from pg_stat_activity where application_name = 'engagement engagement_service')`;
  });
}

/** A refresh that pauses after its query, until `resume` is called. */
async function pausedRefresh(segment_id: string) {
  let resume: () => void = () => undefined;
  const paused = new Promise<void>((resolve) => (resume = resolve));
  let comparing: () => void = () => undefined;
  const compared = new Promise<void>((resolve) => (comparing = resolve));
  const clickhouse: Platform['clickhouse'] = {
    ...platform.clickhouse,
    async query(sql, params) {
      const rows = await platform.clickhouse.query(sql, params);
      comparing();
      await paused;
      return rows as never;
    },
  };
  const done = refreshSegment({ ...platform, clickhouse }, ref(segment_id));
  await compared;
  return { done, resume };
}

it('a long queue for a segment under refresh does not block other segments', async () => {
  const [one] = await populate(7);
  const busy = await client.make([everybody], { refresh_strategy: 'realtime' });
  const other = await client.make([everybody], { refresh_strategy: 'realtime' });
  const player_ids = [one?.player_id ?? ''];
  const { done, resume } = await pausedRefresh(busy);
  const { service: sql } = platform.postgres;
  const deferred = { ...project, reads: [EVERYTHING], player_ids, segment_id: busy };
  await insertDirtyPlayers(
    sql,
    Array.from({ length: 300 }, () => deferred),
    new Date(NOW_MS),
  );
  await insertDirtyPlayers(sql, dirtyPlayersOf(project, [EVERYTHING], player_ids), new Date(NOW_MS));
  while (await evaluateOnce(platform));
  expect(await members(other)).toEqual(player_ids);
  resume();
  await done;
  while (await evaluateOnce(platform));
  const left = await sql`select from dirty_players where tenant_id = ${project.tenant_id}`;
  expect(left).toHaveLength(0);
});

it('calls that wait for a refresh occupy no connections that processors need', async () => {
  const [one] = await populate(8);
  const segment_id = await client.make([everybody]);
  const { done, resume } = await pausedRefresh(segment_id);
  const waiting = [
    ...Array.from({ length: 12 }, () => refreshSegment(platform, ref(segment_id))),
    ...Array.from({ length: 12 }, () =>
      client.api('POST', `/v1/players/${one?.player_id ?? ''}/refresh-segments`),
    ),
  ];
  const { service: sql } = platform.postgres;
  await until('they wait', async (saw) => {
    const [row] = saw(
      await sql<{ count: number }[]>`
      select count(*)::integer as count from pg_locks where locktype = 'advisory' and not granted`,
    );
    return (row?.count ?? 0) >= 3;
  });
  // By now the waiting calls have taken every connection they can get.
  await Promise.all(Array.from({ length: 5 }, () => client.api('GET', `/v1/segments/${segment_id}`)));
  await Promise.all(Array.from({ length: 5 }, () => sql.begin((tx) => tx`select pg_sleep(0.05)`)));
  expect(await members(segment_id)).toEqual([]);
  resume();
  await Promise.all([done, ...waiting]);
  expect(await members(segment_id)).toHaveLength(PLAYERS);
});

it('a refresh that waits too long gives its session back and is no failure of the segment', async () => {
  await populate(12);
  const segment_id = await client.make([everybody], { refresh_strategy: 'realtime' });
  await platform.postgres.session(async (session) => {
    await lockMembership(session, ref(segment_id));
    const late = refreshSegment(platform, ref(segment_id), auditNothing, { lock_wait_ms: 100 });
    await expect(late).rejects.toMatchObject({ code: '55P03' });
  });
  expect(await retryOf(segment_id)).toEqual({ last_error: null, refresh_failures: 0, is_due: true });
});
const retryOf = async (segment_id: string) =>
  (
    await platform.postgres
      .service`select last_error, refresh_failures, refresh_retry_at is not null as is_due
    from segments where segment_id = ${segment_id}`
  )[0];

it('no player enters a segment that is deleted while an evaluation waits for its lock', async () => {
  const [one] = await populate(9);
  const segment_id = await client.make([everybody]);
  const { service: sql } = platform.postgres;
  let looking: Promise<{ status: number }> | undefined;
  await platform.postgres.session(async (session) => {
    // Takes the same lock as the removal of the members.
    await lockMembership(session, ref(segment_id));
    looking = client.api('POST', `/v1/players/${one?.player_id ?? ''}/refresh-segments`);
    await until('it waits', async (saw) => {
      const waiting = saw(await sql`select from pg_locks where locktype = 'advisory' and not granted`);
      return waiting.length > 0;
    });
    await client.api('DELETE', `/v1/segments/${segment_id}`);
  });
  expect((await looking)?.status).toBe(200);
  expect(await members(segment_id)).toEqual([]);
});

it('a late copy to ClickHouse brings back no member of a deleted segment', async () => {
  await populate(10);
  const segment_id = await client.make([everybody]);
  const other_id = await client.make([everybody]);
  for (const id of [segment_id, other_id]) await refreshSegment(platform, ref(id));
  let resume: () => void = () => undefined;
  const paused = new Promise<void>((resolve) => (resume = resolve));
  let copying: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (copying = resolve));
  const clickhouse: Platform['clickhouse'] = {
    ...platform.clickhouse,
    async insertLines(table, lines, token) {
      copying();
      await paused;
      // Under another token than the batch that was copied meanwhile, so the engine does not drop it as a duplicate.
      await platform.clickhouse.insertLines(table, lines, `${token}.late`);
    },
  };
  const late = copyPendingChanges({ ...platform, clickhouse }, project);
  await begun;
  while (await publishMembershipChanges(platform));
  await client.api('DELETE', `/v1/segments/${segment_id}`);
  await runPurgeJob(platform, ref(segment_id));
  resume();
  await late;
  const copied = await platform.clickhouse.query<{ segment_id: string; members: string }>(
    `select segment_id, count() as members from segment_members final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} group by segment_id`,
    { ...project },
  );
  expect(copied).toEqual([{ segment_id: other_id, members: String(PLAYERS) }]);
});

it('while a new epoch has to begin, changes of members wait, and nothing is compared with earlier ones', async () => {
  const { service: sql } = platform.postgres;
  await ensureEpoch(platform, newEpochMemory());
  await populate(8);
  const segment_id = await client.make([everybody], { refresh_strategy: 'realtime' });
  await refreshSegment(platform, ref(segment_id));
  const waiting = async () => {
    const rows = await sql`select from segment_changes where segment_id = ${segment_id}`;
    return rows.length;
  };
  expect(await waiting()).toBe(1);
  // As after a database was loaded from a dump of another cluster.
  await sql`insert into mirror_positions (name, epoch, changed_xid, row_id)
    values ('loaded', 0, '1000000000000', gen_random_uuid())`;
  try {
    await until('the processes notice', async (saw) => !saw(await mayWriteRevisions(platform)));
    expect(await publishMembershipChanges(platform)).toBe(false);
    expect(await waiting()).toBe(1);
    await expect(copyPendingChanges(platform, project)).rejects.toThrow('a new epoch');
    const { status, error } = await client.api('POST', `/v1/segments/${segment_id}/refresh`);
    expect([status, error]).toMatchObject([503, { code: 'SERVICE_UNAVAILABLE' }]);
    expect(await retryOf(segment_id)).toEqual({ last_error: null, refresh_failures: 0, is_due: true });
  } finally {
    await sql`delete from mirror_positions where name = 'loaded'`;
  }
  while (await publishMembershipChanges(platform));
  expect(await waiting()).toBe(0);
  expect((await client.api('POST', `/v1/segments/${segment_id}/refresh`)).status).toBe(200);
});

it('a project whose queries fail blocks no other project', async () => {
  const failing = project;
  const [stuck] = await populate(9);
  const lately = { type: 'trait', field: 'last_seen_at', op: 'within_last', value: { hours: 1 } };
  await client.make([everybody, lately], { refresh_strategy: 'realtime' });
  const tenant = await service.newTenant();
  project = { tenant_id: tenant.tenant_id, project_id: tenant.project_id };
  client = segmentClient({ ...service, ...tenant });
  const [one] = await populate(10);
  const segment_id = await client.make([everybody], { refresh_strategy: 'realtime' });
  const clickhouse: Platform['clickhouse'] = {
    ...platform.clickhouse,
    query: (sql, params) =>
      params?.['tenant_id'] === failing.tenant_id
        ? Promise.reject(new Error('no such luck'))
        : platform.clickhouse.query(sql, params),
  };
  const { service: sql } = platform.postgres;
  await insertDirtyPlayers(
    sql,
    dirtyPlayersOf(failing, [EVERYTHING], [stuck?.player_id ?? '']),
    new Date(NOW_MS),
  );
  await insertDirtyPlayers(
    sql,
    dirtyPlayersOf(project, [EVERYTHING], [one?.player_id ?? '']),
    new Date(NOW_MS),
  );
  const broken = { ...platform, clickhouse };
  await expect(evaluateOnce(broken)).rejects.toThrow('no such luck');
  expect(await members(segment_id)).toEqual([one?.player_id]);
  await expect(sweepWindows(broken, 0)).resolves.toBeUndefined();
  const left = await sql`select from dirty_players where tenant_id = ${failing.tenant_id}`;
  expect(left).toHaveLength(1);
});

it('players marked dirty during a refresh are evaluated after it', async () => {
  const [one] = await populate(4);
  const segment_id = await client.make([everybody], { refresh_strategy: 'realtime' });
  const { done, resume } = await pausedRefresh(segment_id);
  // A player leaves meanwhile: the refresh has already seen it matching and will add it.
  const player_id = one?.player_id ?? '';
  await platform.clickhouse.insertLines(
    'players',
    [
      JSON.stringify({
        ...project,
        player_id,
        ...one?.traits,
        kyc_level: -1,
        custom_attributes: {},
        revision: 2,
      }),
    ],
    randomUUID(),
  );
  await insertDirtyPlayers(
    platform.postgres.service,
    dirtyPlayersOf(project, [EVERYTHING], [player_id]),
    new Date(NOW_MS),
  );
  await evaluateOnce(platform);
  expect(await members(segment_id)).toEqual([]);
  resume();
  await done;
  expect(await members(segment_id)).toContain(player_id);
  while (await evaluateOnce(platform));
  expect(await members(segment_id)).toHaveLength(PLAYERS - 1);
  expect(await members(segment_id)).not.toContain(player_id);
});

it('a segment over its limits fails alone', async () => {
  const players = await populate(5);
  const good = await client.make([everybody], { refresh_strategy: 'realtime' });
  const bad = await client.make([{ type: 'trait', field: 'email', op: 'starts_with', value: 'too much' }], {
    refresh_strategy: 'realtime',
  });
  const clickhouse: Platform['clickhouse'] = {
    ...platform.clickhouse,
    query: (sql, params) =>
      JSON.stringify(params).includes('too much')
        ? Promise.reject(Object.assign(new Error('Query memory limit exceeded'), { code: '241' }))
        : platform.clickhouse.query(sql, params),
  };
  const ids = players.map(({ player_id }) => player_id);
  await insertDirtyPlayers(
    platform.postgres.service,
    dirtyPlayersOf(project, [EVERYTHING], ids),
    new Date(NOW_MS),
  );
  while (await evaluateOnce({ ...platform, clickhouse }));
  expect(await members(good)).toHaveLength(PLAYERS);
  expect(await members(bad)).toEqual([]);
  expect((await client.api('GET', `/v1/segments/${bad}`)).data['last_error']).toContain(
    'more time or memory',
  );
  await expect(refreshSegment({ ...platform, clickhouse }, ref(bad))).rejects.toMatchObject({
    code: 'SEGMENT_TOO_EXPENSIVE',
  });
});

it('the limits of a query reach the engine, and its refusal becomes SEGMENT_TOO_EXPENSIVE', async () => {
  await populate(6);
  const segment_id = await client.make([everybody]);
  const clickhouse: Platform['clickhouse'] = {
    ...platform.clickhouse,
    query: (sql, params) =>
      platform.clickhouse.query(sql.replace(/max_memory_usage = \d+/, 'max_memory_usage = 1'), params),
  };
  await expect(refreshSegment({ ...platform, clickhouse }, ref(segment_id))).rejects.toMatchObject({
    code: 'SEGMENT_TOO_EXPENSIVE',
  });
  expect(await refreshSegment(platform, ref(segment_id))).toMatchObject({ matched: PLAYERS });
});
