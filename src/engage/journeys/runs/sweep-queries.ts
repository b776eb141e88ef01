import type { Tx } from '../../../platform/postgres/port.ts';
import { NIL_ID } from '../../../platform/ids.ts';
import type { RunRef } from './run-row.ts';

/** A running run whose timer is missing. */
export interface StuckRun extends RunRef {
  seq: number;
  due_at: Date;
}

/** A page of the walk over running runs. */
export interface WalkPage {
  stuck: StuckRun[];
  /** Runs that have begun before the oldest time that is allowed. */
  too_old: RunRef[];
  /** The last run of the page; undefined: the walk is over. */
  last: RunRef | undefined;
}

/**
 * Looks at the next `limit` running runs after `after` in the order of their ids. Too old are those that have begun
 * before `oldest`. Stuck are those whose timer does not exist, of journeys that are neither held nor resuming. One that is
 * overdue with its timer only waits for its turn.
 */
export async function walkRuns(
  sql: Tx,
  after: RunRef | undefined,
  limit: number,
  oldest: Date,
): Promise<WalkPage> {
  const run_id = after?.run_id ?? NIL_ID;
  const rows = await sql<(StuckRun & { is_stuck: boolean; is_too_old: boolean })[]>`
    select r.tenant_id, r.project_id, r.run_id, r.seq, r.due_at, r.started_at < ${oldest} as is_too_old,
      not j.is_held and j.resuming_since is null and r.due_at is not null and not exists (
        select from journey_timers t
        where t.tenant_id = r.tenant_id and t.project_id = r.project_id and t.due_at = r.due_at and t.run_id = r.run_id
          and t.seq = r.seq) as is_stuck
    from (
      select * from journey_runs o
      where o.status = 'running' and o.run_id > ${run_id}::uuid
      order by o.run_id limit ${limit}
    ) r
    cross join lateral (
      select j.is_held, j.resuming_since from journeys j
      where j.tenant_id = r.tenant_id and j.project_id = r.project_id and j.journey_id = r.journey_id offset 0) j
    order by r.run_id`;
  return {
    stuck: rows.filter(({ is_stuck, is_too_old }) => is_stuck && !is_too_old),
    too_old: rows.filter(({ is_too_old }) => is_too_old),
    last: rows.length < limit ? undefined : rows.at(-1),
  };
}
