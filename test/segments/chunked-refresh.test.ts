import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { runRefreshJob, runScheduleJob } from '../../src/segments/refresh-job.ts';
import { refreshSegment } from '../../src/segments/refresh.ts';
import { publishMembershipChanges } from '../../src/segments/publish-changes.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { openTestPlatform } from '../engines/wiring.ts';
import { insertPlayers } from './inserted-players.ts';
import { segmentClient, type SegmentClient } from './segment-client.ts';

// Large refreshes. The tests insert players into Postgres and ClickHouse directly.

const HOUR_MS = 3_600_000;
const SAMPLE_MS = 20;

let service: TestService;
let client: SegmentClient;
let project: { tenant_id: string; project_id: string };
let platform: Platform;
beforeAll(async () => {
  service = await startTestService(
    // No processor, so that every transaction is one of the tests.
    { roles: new Set(['api', 'intake']) },
    // The tests observe all sessions of the server, and end those that hold a lock.
    (config) => openTestPlatform(config, { own_postgres: true }),
  );
  ({ platform } = service);
});
afterAll(async () => service?.close());
beforeEach(async () => {
  const tenant = await service.newTenant();
  project = { tenant_id: tenant.tenant_id, project_id: tenant.project_id };
  client = segmentClient({ ...service, ...tenant });
});

const populate = (count: number) => insertPlayers(platform, project, count);

const everybody = { type: 'trait', field: 'kyc_level', op: 'gte', value: 0 };
const ref = (segment_id: string) => ({ ...project, segment_id });

async function storedSize(segment_id: string): Promise<{ members: number; counted: number }> {
  const [row] = await platform.postgres.service<{ members: number; counted: number }[]>`
    select estimated_size::integer as counted,
      (select count(*)::integer from segment_members m where m.segment_id = s.segment_id) as members
    from segments s where segment_id = ${segment_id}`;
  return row ?? { members: 0, counted: 0 };
}

/** The most members of the segment that one transaction inserted. */
async function largestInsertion(segment_id: string): Promise<number | undefined> {
  const [row] = await platform.postgres.service<{ largest: number }[]>`
    select max(n)::integer as largest
    from (select count(*) as n from segment_members where segment_id = ${segment_id} group by xmin::text) inserted`;
  return row?.largest;
}

/**
 * Samples every session of the service until `work` ends; returns the most members of the segment that were committed
 * while one transaction held a transaction id or a snapshot, and its query.
 */
async function committedWhileHeld(
  segment_id: string,
  work: () => Promise<unknown>,
): Promise<{ members: number; query: string }> {
  const first_seen = new Map<string, number>();
  let most = { members: 0, query: '' };
  const ended = new AbortController();
  const working = work().finally(() => ended.abort());
  while (!ended.signal.aborted) {
    const held = await platform.postgres.service.begin(async (tx) => {
      await tx`set local role none`;
      return tx<{ transaction: string; query: string; members: number }[]>`
        select concat(pid, ' since ', xact_start) as transaction, query,
          (select count(*)::integer from segment_members where segment_id = ${segment_id}) as members
        from pg_stat_activity
        where pid <> pg_backend_pid() and application_name like 'engagement%'
          and (backend_xid is not null or backend_xmin is not null or state like 'idle in transaction%')`;
    });
    for (const { transaction, query, members } of held) {
      const before = first_seen.get(transaction) ?? members;
      first_seen.set(transaction, before);
      if (members - before > most.members) most = { members: members - before, query };
    }
    await sleep(SAMPLE_MS);
  }
  await working;
  return most;
}

it('a refresh of 100,000 members commits them in small transactions, while none is held longer', async () => {
  await populate(100_000);
  const segment_id = await client.make([everybody]);
  const { members, query } = await committedWhileHeld(segment_id, async () => {
    expect(await refreshSegment(platform, ref(segment_id))).toMatchObject({
      matched: 100_000,
      added: 100_000,
    });
  });
  expect(await largestInsertion(segment_id)).toBeLessThanOrEqual(5_000);
  // One chunk at most, or two when a sample falls between their commits.
  expect(members, query).toBeLessThanOrEqual(10_000);
  expect(await storedSize(segment_id)).toEqual({ members: 100_000, counted: 100_000 });
  while (await publishMembershipChanges(platform));
  expect(await refreshSegment(platform, ref(segment_id))).toMatchObject({ added: 0, removed: 0 });
});

it('no transaction is open while a refresh or an evaluation of a player asks ClickHouse', async () => {
  const [player_id = ''] = await populate(1);
  const segment_id = await client.make([everybody]);
  const open: unknown[] = [];
  const clickhouse: Platform['clickhouse'] = {
    ...platform.clickhouse,
    async query(sql, params) {
      open.push(...(await openTransactions()));
      return platform.clickhouse.query(sql, params);
    },
  };
  await refreshSegment({ ...platform, clickhouse }, ref(segment_id));
  const { refreshPlayerSegments } = await import('../../src/segments/player-segments.ts');
  const { auditNothing } = await import('../../src/http/audit.ts');
  const one = { ...project, player_id };
  await refreshPlayerSegments({ ...platform, clickhouse }, one, auditNothing);
  expect(open).toEqual([]);
});

async function openTransactions(): Promise<readonly unknown[]> {
  return platform.postgres.service.begin(async (tx) => {
    await tx`set local role none`;
    return await tx<Record<string, unknown>[]>`
      select state, query from pg_stat_activity
      where pid <> pg_backend_pid() and application_name like 'engagement%' and state like 'idle in transaction%'`;
  });
}

it('a project with very many changes does not hold up the publishing of others', async () => {
  while (await publishMembershipChanges(platform));
  const queue = (of: { tenant_id: string; project_id: string }, rows: number) =>
    platform.postgres.service`
      insert into segment_changes (tenant_id, project_id, segment_id, has_entered, player_ids, changed_at)
      select ${of.tenant_id}, ${of.project_id}, ${randomUUID()}, true, array[gen_random_uuid()], now()
      from generate_series(1, ${rows})`;
  const other = await service.newTenant();
  await queue(project, 200);
  await queue(other, 1);
  expect(await publishMembershipChanges(platform)).toBe(true);
  const left = await platform.postgres.service<{ project_id: string; rows: number }[]>`
    select project_id, count(*)::integer as rows from segment_changes group by project_id`;
  expect(left).toEqual([{ project_id: project.project_id, rows: 151 }]);
  while (await publishMembershipChanges(platform));
  const copied = await platform.clickhouse.query<{ members: string }>(
    'select count() as members from segment_members final where tenant_id = {tenant_id:UUID}',
    project,
  );
  expect(copied).toEqual([{ members: '200' }]);
});

it('a refresh that dies half-way leaves whole chunks, and is repeated by itself', async () => {
  await populate(12_000);
  const segment_id = await client.make([everybody]);
  await slowDown('segment_members');
  const dying = client.api('POST', `/v1/segments/${segment_id}/refresh`);
  try {
    await until(async (saw) => saw((await storedSize(segment_id)).members) > 0);
    await endLockHolders();
  } finally {
    await dying;
    await platform.postgres.service.begin(async (tx) => {
      await tx`set local role none`;
      await tx`drop trigger slow on segment_members`;
    });
  }
  expect((await dying).status).toBeGreaterThanOrEqual(500);
  const left = await storedSize(segment_id);
  expect(left.members).toBe(left.counted);
  expect(left.members).toBeGreaterThan(0);
  expect(left.members).toBeLessThan(12_000);
  const jobs: string[] = [];
  await runScheduleJob({
    ...platform,
    clock: { ...platform.clock, now_ms: () => Date.now() + HOUR_MS },
    jobs: {
      ...platform.jobs,
      add: (_sql, { payload }) => Promise.resolve(void jobs.push(String(payload['segment_id']))),
    },
  });
  expect(jobs).toContain(segment_id);
  await runRefreshJob(platform, ref(segment_id));
  expect(await storedSize(segment_id)).toEqual({ members: 12_000, counted: 12_000 });
  const { data } = await client.api('GET', `/v1/segments/${segment_id}`);
  expect(data).toMatchObject({ last_error: null, refresh_progress: null, estimated_size: 12_000 });
});

/** Makes every insert into the table take a moment longer. */
async function slowDown(table: string): Promise<void> {
  await platform.postgres.service.begin(async (tx) => {
    await tx`set local role none`;
    await tx`create or replace function pause() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.5); return null; end $$`;
    await tx`create trigger slow after insert on ${tx(table)} for each statement execute function pause()`;
  });
}

/** Ends every session that holds an advisory lock alone. */
async function endLockHolders(): Promise<void> {
  await platform.postgres.service.begin(async (tx) => {
    await tx`set local role none`;
    await tx`
      select pg_terminate_backend(pid) from pg_locks
      where locktype = 'advisory' and mode = 'ExclusiveLock' and granted and pid <> pg_backend_pid()
        and pid in (select pid from pg_stat_activity where application_name = 'engagement engagement_service')`;
  });
}
