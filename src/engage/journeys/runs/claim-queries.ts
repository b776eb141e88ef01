import type { PendingQuery, Row } from 'postgres';
import { NIL_ID } from '../../../platform/ids.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../../platform/postgres/work-watch.ts';
import { PROJECT_KEY, type ProjectRef } from '../../../tenants/project-ref.ts';
import type { RunningRow, RunRef } from './run-row.ts';

// Claiming deletes timers and locks their runs until the transaction ends; when it rolls back, everything is due again.
// Locks are taken in the order timers, runs by run_id, waits. Nothing that locks a run first locks a timer after it.

/** Postgres notifies on this channel when runs have come due at once. */
export const TIMERS_CHANNEL = 'journey_timers';

/** Wakes the runners when the transaction commits: runs are due now. */
export async function notifyRunners(tx: Tx): Promise<void> {
  await tx`select pg_notify(${TIMERS_CHANNEL}, '')`;
}

/** A timer that the transaction has claimed. */
export interface Timer extends RunRef {
  due_at: Date;
  seq: number;
}

/**
 * So long before a timer is due, the runner begins to wait for it itself, to the millisecond. This is longer than the
 * longest pause of the watch of work.
 */
export const ALMOST_DUE_MS = 2_000;

/** Returns a row while a timer is due, or will be within {@link ALMOST_DUE_MS}. */
export const timerWork: WorkQuery = (sql, now) => sql`
  select from journey_timers where due_at <= ${new Date(now.getTime() + ALMOST_DUE_MS)} order by due_at limit 1`;

/** When the next timer is due; undefined: there is none. */
export async function selectNextDue(sql: Tx): Promise<Date | undefined> {
  const [row] = await sql<{ due_at: Date }[]>`select due_at from journey_timers order by due_at limit 1`;
  return row?.due_at;
}

/**
 * Lets the statements of the transaction keep their plans. They look lists of keys up, whose plan is the same for every
 * list; to make it for each list takes some ms of a batch.
 */
export async function keepPlans(tx: Tx): Promise<void> {
  await tx`select set_config('plan_cache_mode', 'force_generic_plan', true)`;
}

/** Claims the timers that are due, the longest due first, except those that others claim now. */
export async function claimDue(tx: Tx, now: Date, limit: number): Promise<Timer[]> {
  return deleted(
    tx,
    tx`select ctid from journey_timers where due_at <= ${now}
      order by due_at limit ${limit} for update skip locked`,
  );
}

/**
 * Claims due timers of the projects after `after` in the order of their ids, at most `quota` of each, so that a project
 * with many due runs does not hold up the others. It hops from one project that has timers to the next.
 */
export async function claimByProject(
  tx: Tx,
  now: Date,
  after: ProjectRef | undefined,
  { limit, quota }: { limit: number; quota: number },
): Promise<Timer[]> {
  const { tenant_id, project_id } = after ?? { tenant_id: NIL_ID, project_id: NIL_ID };
  const next = (beyond: PendingQuery<Row[]>) => tx`
    select t.tenant_id, t.project_id from journey_timers t
    where (t.tenant_id, t.project_id) > (${beyond}) order by 1, 2 limit 1`;
  return deleted(
    tx,
    tx`
      with recursive lane as (
        (${next(tx`${tenant_id}::uuid, ${project_id}::uuid`)})
        union all
        select n.* from lane cross join lateral (${next(tx`lane.tenant_id, lane.project_id`)}) n
      )
      select d.ctid from lane cross join lateral (
        -- Of the key as a whole, which only the primary key has: by the index of all due timers each small project would
        -- read those of the crowd.
        select t.ctid from journey_timers t
        where (t.tenant_id, t.project_id, t.due_at) >= (lane.tenant_id, lane.project_id, '-infinity'::timestamptz)
          and (t.tenant_id, t.project_id, t.due_at) <= (lane.tenant_id, lane.project_id, ${now}::timestamptz)
        order by t.tenant_id, t.project_id, t.due_at limit ${quota} for update skip locked
      ) d limit ${limit}`,
  );
}

/** Claims those of these timers that still are, except those that others claim now. */
export async function claimTimers(tx: Tx, timers: readonly Timer[]): Promise<Timer[]> {
  return deleted(
    tx,
    tx`
      select t.ctid
      from ${rowsOf(tx, 'r', timers, { ...PROJECT_KEY, due_ms: ['bigint', (t) => t.due_at.getTime()], run_id: 'uuid' })}
      cross join lateral (
        select t.ctid from journey_timers t
        where t.tenant_id = r.tenant_id and t.project_id = r.project_id and t.run_id = r.run_id
          and t.due_at = 'epoch'::timestamptz + r.due_ms * interval '1 millisecond'
        for update skip locked) t`,
  );
}

async function deleted(tx: Tx, due: PendingQuery<Row[]>): Promise<Timer[]> {
  return tx<Timer[]>`
    with due as materialized (${due})
    delete from journey_timers t using due where t.ctid = due.ctid
    returning t.tenant_id, t.project_id, t.run_id, t.due_at, t.seq`;
}

/** The runs of these timers that are running and still rest where the timer was set, locked in order of run_id. */
export async function lockRuns(tx: Tx, timers: readonly Omit<Timer, 'due_at'>[]): Promise<RunningRow[]> {
  return tx<RunningRow[]>`
    select r.* from (
      select distinct on (d.run_id) d.* from ${rowsOf(tx, 'd', timers, { ...PROJECT_KEY, run_id: 'uuid', seq: 'integer' })}
      order by d.run_id, d.seq desc
    ) d
    cross join lateral (
      select r.tenant_id, r.project_id, r.run_id, r.journey_id, r.version, r.player_id, r.node_id, r.seq, r.entered_at,
        r.due_at, r.woken_by, r.context, r.started_at, r.partition, r.log_id, r.from_offset
      from journey_runs r
      where r.run_id = d.run_id and r.tenant_id = d.tenant_id and r.project_id = d.project_id
        and r.seq = d.seq and r.status = 'running'
      for update) r`;
}
