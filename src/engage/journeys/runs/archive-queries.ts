import type { ClickHouse } from '../../../platform/clickhouse/port.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../../tenants/project-ref.ts';
import type { JourneyKey } from './journey-queries.ts';
import type { StoredStep } from './read-queries.ts';
import type { RunRef } from './run-row.ts';

/** A step as ClickHouse answers it: times are milliseconds as text. */
type ArchivedStep = Omit<StoredStep, 'entered_at' | 'completed_at'> & {
  entered_ms: string;
  completed_ms: string;
};

/** The steps of a run in their order, as ClickHouse has them. */
export async function readArchivedSteps(
  clickhouse: ClickHouse,
  { tenant_id, project_id, journey_id, run_id }: JourneyKey & { run_id: string },
): Promise<StoredStep[]> {
  const rows = await clickhouse.query<ArchivedStep>(
    `select seq, node_id, node_type, status, outcome, next_node_id, toUnixTimestamp64Milli(entered_at) as entered_ms,
      toUnixTimestamp64Milli(completed_at) as completed_ms, ref, error_code
    from journey_steps final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and journey_id = {journey_id:UUID}
      and run_id = {run_id:UUID}
    order by seq
    settings max_execution_time = 5`,
    { tenant_id, project_id, journey_id, run_id },
  );
  return rows.map(({ entered_ms, completed_ms, ...step }) => ({
    ...step,
    entered_at: new Date(Number(entered_ms)),
    completed_at: new Date(Number(completed_ms)),
  }));
}

/** A run that ended long ago, and how many steps Postgres has of it. */
export interface OldRun extends RunRef {
  journey_id: string;
  steps: number;
  /** When it ended, in microseconds since the epoch. */
  ended_us: bigint;
}

/** At most `limit` runs that ended before `before` and have their steps in Postgres; the longest ended first. */
export async function selectOldRuns(
  sql: Tx,
  before: Date,
  after: Pick<OldRun, 'ended_us' | 'run_id'> | undefined,
  limit: number,
): Promise<OldRun[]> {
  const beyond =
    after === undefined
      ? sql``
      : sql`and (completed_at, run_id) >
          ('epoch'::timestamptz + ${String(after.ended_us)}::bigint * interval '1 microsecond', ${after.run_id}::uuid)`;
  return sql<OldRun[]>`
    select r.tenant_id, r.project_id, r.run_id, r.journey_id, s.steps,
      (extract(epoch from r.completed_at) * 1000000)::bigint as ended_us
    from (
      select * from journey_runs
      where status <> 'running' and not is_archived and completed_at < ${before} ${beyond}
      order by completed_at, run_id limit ${limit}) r
    cross join lateral (
      select count(*)::integer as steps from journey_steps o
      where o.run_id = r.run_id and o.tenant_id = r.tenant_id and o.project_id = r.project_id) s
    order by r.completed_at, r.run_id`;
}

/** How many steps ClickHouse has of each of these runs that it has some of. */
export async function countCopiedSteps(
  clickhouse: ClickHouse,
  runs: readonly OldRun[],
): Promise<Map<string, number>> {
  const distinct = (of: (run: OldRun) => string) => [...new Set(runs.map(of))];
  const rows = await clickhouse.query<RunRef & { steps: string }>(
    `select tenant_id, project_id, run_id, toString(count()) as steps from journey_steps final
    where tenant_id in {tenants:Array(UUID)} and project_id in {projects:Array(UUID)}
      and journey_id in {journeys:Array(UUID)} and run_id in {runs:Array(UUID)}
    group by tenant_id, project_id, run_id
    settings max_execution_time = 30`,
    {
      tenants: distinct(({ tenant_id }) => tenant_id),
      projects: distinct(({ project_id }) => project_id),
      journeys: distinct(({ journey_id }) => journey_id),
      runs: distinct(({ run_id }) => run_id),
    },
  );
  return new Map(rows.map((row) => [runKey(row), Number(row.steps)]));
}

/** The text that identifies a run in maps. */
export function runKey({ tenant_id, project_id, run_id }: RunRef): string {
  return `${tenant_id} ${project_id} ${run_id}`;
}

/** Removes the steps of runs that have ended; returns of how many. */
export async function archiveRuns(sql: Tx, runs: readonly RunRef[]): Promise<number> {
  const [row] = await sql<{ archived: number }[]>`
    with old as materialized (
      select r.ctid, r.tenant_id, r.project_id, r.run_id
      from ${rowsOf(sql, 'g', runs, { ...PROJECT_KEY, run_id: 'uuid' })}
      cross join lateral (
        select o.ctid, o.* from journey_runs o
        where o.run_id = g.run_id and o.tenant_id = g.tenant_id and o.project_id = g.project_id
          and o.status <> 'running' and not o.is_archived
        for update) r
    ), removed as (
      delete from journey_steps s using (
        select found.ctid from old o
        cross join lateral (
          select s.ctid from journey_steps s
          where s.run_id = o.run_id and s.tenant_id = o.tenant_id and s.project_id = o.project_id offset 0) found
      ) gone
      where s.ctid = gone.ctid
    ), archived as (
      update journey_runs r set is_archived = true, changed_xid = pg_current_xact_id()
      from old o where r.ctid = o.ctid
    )
    select count(*)::integer as archived from old`;
  return row?.archived ?? 0;
}

/**
 * Removes at most `limit` versions of journeys that nobody uses: a later one was published before `before`, and no run is
 * on it. Returns how many.
 *
 * The versions are locked before the query checks their use: a transaction that moves runs to one locks it, too.
 */
export async function removeOldVersions(tx: Tx, before: Date, limit: number): Promise<number> {
  const isUnused = tx`
    v.version is distinct from (
      select j.version from journeys j
      where j.tenant_id = v.tenant_id and j.project_id = v.project_id and j.journey_id = v.journey_id)
    and exists (
      select from journey_versions n
      where n.tenant_id = v.tenant_id and n.project_id = v.project_id and n.journey_id = v.journey_id
        and n.version > v.version and n.published_at < ${before})
    and not exists (
      select from journey_runs r
      where r.journey_id = v.journey_id and r.status = 'running' and r.version = v.version
        and r.tenant_id = v.tenant_id and r.project_id = v.project_id)`;
  const locked = await tx<(JourneyKey & { version: number })[]>`
    select v.tenant_id, v.project_id, v.journey_id, v.version from journey_versions v
    where ${isUnused}
    order by v.tenant_id, v.project_id, v.journey_id, v.version limit ${limit} for update of v skip locked`;
  if (locked.length === 0) return 0;
  const [row] = await tx<{ removed: number }[]>`
    with removed as (
      delete from journey_versions v
      using ${rowsOf(tx, 'l', locked, { ...PROJECT_KEY, journey_id: 'uuid', version: 'integer' })}
      where v.tenant_id = l.tenant_id and v.project_id = l.project_id and v.journey_id = l.journey_id
        and v.version = l.version and ${isUnused}
      returning v.*
    ), unwatched as (
      delete from journey_watched w using removed o
      where w.tenant_id = o.tenant_id and w.project_id = o.project_id and w.journey_id = o.journey_id
        and w.version = o.version
    )
    select count(*)::integer as removed from removed`;
  return row?.removed ?? 0;
}
