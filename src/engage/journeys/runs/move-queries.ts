import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { JourneyRef } from '../graph/queries.ts';
import { notifyRunners } from './claim-queries.ts';

/** A running run, as what moves it needs to know it. */
export interface StandingRun {
  run_id: string;
  seq: number;
  node_id: string;
  entered_at: Date | null;
  due_at: Date | null;
  /** Microseconds since the epoch. */
  started_us: bigint;
}

/** After which run a page begins. */
export type RunPosition = Pick<StandingRun, 'started_us' | 'run_id'>;

/** Where a run goes on; `due_at` null: when it would have gone on anyway. */
export interface Move {
  run_id: string;
  seq: number;
  node_id: string;
  due_at: Date | null;
}

const MAX_PAGE = 1_000;

/** At most 1,000 running runs after a position, the latest first; with `version` only those of it. */
export async function selectStanding(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyRef,
  version: number | undefined,
  after: RunPosition | undefined,
): Promise<StandingRun[]> {
  return tx<StandingRun[]>`
    select run_id, seq, node_id, entered_at, due_at, (extract(epoch from started_at) * 1000000)::bigint as started_us
    from journey_runs
    where journey_id = ${journey_id} and status = 'running' and tenant_id = ${tenant_id} and project_id = ${project_id}
      ${version === undefined ? tx`` : tx`and version = ${version}`}
      ${
        after === undefined
          ? tx``
          : tx`and (started_at, run_id) <
              ('epoch'::timestamptz + ${String(after.started_us)}::bigint * interval '1 microsecond', ${after.run_id}::uuid)`
      }
    order by started_at desc, run_id desc
    limit ${MAX_PAGE}`;
}

/** How many running runs of a version stand on each node. */
export function countStanding(tx: Tx, { tenant_id, project_id, journey_id }: JourneyRef, version: number) {
  return tx<{ node_id: string; runs: number }[]>`
    select node_id, count(*)::integer as runs from journey_runs
    where journey_id = ${journey_id} and status = 'running' and tenant_id = ${tenant_id} and project_id = ${project_id}
      and version = ${version}
    group by node_id`;
}

/**
 * Moves runs to another version; those that went on meanwhile stay. One that was woken goes on when it would have anyway. A timer that changes is deleted before its run is
 * locked, which is the order of the runner. Returns how many were moved.
 */
export async function moveRuns(
  tx: Tx,
  { tenant_id, project_id }: JourneyRef,
  versions: { from: number; to: number },
  moves: readonly Move[],
): Promise<number> {
  const is_retimed = await deleteChanged(tx, { tenant_id, project_id }, moves, true);
  const [row] = await tx<{ moved: number }[]>`
    with wanted as (
      select * from ${rowsOf(tx, 'w', moves, { run_id: 'uuid', seq: 'integer', node_id: 'text', due_at: 'timestamptz' })}
    ), locked as materialized (
      select r.run_id, w.node_id, case when r.woken_by is null then w.due_at end as due_at, r.seq
      from journey_runs r join wanted w using (run_id)
      where r.tenant_id = ${tenant_id} and r.project_id = ${project_id} and r.status = 'running'
        and r.version = ${versions.from} and r.seq = w.seq
      order by r.run_id
      for update of r
    ), moved as (
      update journey_runs r set version = ${versions.to}, node_id = l.node_id, due_at = coalesce(l.due_at, r.due_at),
        changed_xid = pg_current_xact_id()
      from locked l
      where r.run_id = l.run_id and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
    ), timed as (
      insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
      select ${tenant_id}, ${project_id}, due_at, run_id, seq from locked where due_at is not null
      on conflict do nothing
    )
    select count(*)::integer as moved from locked`;
  if (is_retimed) await notifyRunners(tx);
  return row?.moved ?? 0;
}

/** Deletes the timers of runs that get others, before their runs are locked, as the runner does; whether there are any. */
async function deleteChanged(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  moves: readonly Pick<Move, 'run_id' | 'due_at'>[],
  keeps_woken: boolean,
): Promise<boolean> {
  const retimed = moves.filter(({ due_at }) => due_at !== null).map(({ run_id }) => run_id);
  if (retimed.length === 0) return false;
  await tx`
    delete from journey_timers t using journey_runs r
    where r.run_id = any (${plainArray(retimed)}::text::uuid[]) and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
      and t.tenant_id = ${tenant_id} and t.project_id = ${project_id}
      and t.run_id = r.run_id and t.due_at = r.due_at and t.seq = r.seq ${keeps_woken ? tx`and r.woken_by is null` : tx``}`;
  return true;
}

/**
 * Gives runs that stood still their timers again, each at the time at which it goes on. A run that has one at this time
 * keeps it; a timer for a run that went on meanwhile has an old seq and is dropped.
 */
export async function rearmRuns(
  tx: Tx,
  { tenant_id, project_id }: JourneyRef,
  moves: readonly Pick<Move, 'run_id' | 'seq' | 'due_at'>[],
): Promise<void> {
  if (moves.length === 0) return;
  await deleteChanged(tx, { tenant_id, project_id }, moves, false);
  await tx`
    with wanted as (
      select * from ${rowsOf(tx, 'w', moves, { run_id: 'uuid', seq: 'integer', due_at: 'timestamptz' })}
    ), locked as materialized (
      select r.run_id, r.seq, w.due_at as later, coalesce(w.due_at, r.due_at) as due_at
      from journey_runs r join wanted w using (run_id)
      where r.tenant_id = ${tenant_id} and r.project_id = ${project_id} and r.status = 'running' and r.seq = w.seq
        and r.due_at is not null
      order by r.run_id
      for update of r
    ), postponed as (
      update journey_runs r set due_at = l.later from locked l
      where l.later is not null and r.run_id = l.run_id and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
    )
    insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
    select ${tenant_id}, ${project_id}, due_at, run_id, seq from locked
    on conflict do nothing`;
  await notifyRunners(tx);
}
