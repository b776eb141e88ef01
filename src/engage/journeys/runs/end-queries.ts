import type { PendingQuery, Row } from 'postgres';
import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { lastStepsSql } from './last-step-queries.ts';
import type { RunRef } from './run-row.ts';

/** Some running runs of a journey; absent fields do not matter. */
interface RunsOfJourney {
  journey_id: string;
  version?: number | undefined;
  node_id?: string | undefined;
  run_ids?: readonly string[] | undefined;
  /** Runs whose rest ended before this time. */
  due_before?: Date;
}

/** Which running runs of a project end; of `run_ids` there are no more than may end at once. */
export type EndScope = ProjectRef &
  ({ run_id: string } | { player_id: string } | { run_ids: readonly string[] } | RunsOfJourney);

/** How they end, and how many at most. */
export interface Ending {
  /** The user, or what happened; undefined: they leave the journey, and so are completed. */
  cancelled_by: string | undefined;
  /** They fail with this code instead. */
  error_code?: string | undefined;
  now: Date;
  limit: number;
}

/**
 * Ends running runs, at most `limit`, and writes their last steps. Their timers fall away when they are claimed. Returns
 * the runs that have ended; none means that no such run is running, fewer than `limit` does not. What is queued for them
 * is the caller's concern.
 */
export async function endRunning(
  tx: Tx,
  scope: EndScope,
  { cancelled_by, error_code, now, limit }: Ending,
): Promise<RunRef[]> {
  const { tenant_id, project_id } = scope;
  const { status, outcome, step_status, step } = endOf({ cancelled_by, error_code });
  // A statement of its own locks first, so that the next one sees what other transactions have changed.
  const locked = await lockRunning(tx, scope, limit);
  if (locked.length === 0) return [];
  return tx<RunRef[]>`
    with due as materialized (
      select o.ctid from unnest(${plainArray(locked.map(({ run_id }) => run_id))}::text::uuid[]) as l (run_id)
      cross join lateral (
        select o.ctid from journey_runs o
        where o.run_id = l.run_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id} offset 0) o
    ), ended as (
      update journey_runs r
      set status = ${status}, outcome = ${outcome}, cancelled_by = ${cancelled_by ?? null}, completed_at = ${now}, due_at = null, woken_by = null,
        error_code = ${error_code ?? null}
      from due where r.ctid = due.ctid
      returning r.*
    ), ${lastStepsSql(tx, 'ended', { status: step_status, outcome: step, error_code: error_code ?? null, now })}
    select tenant_id, project_id, run_id from ended`;
}

/**
 * Locks the runs that are to end, in the order of their ids. For a whole journey it takes any runs: sorting would read all
 * of them for every page. When all that it took have ended while they were being locked, it takes others. Each round means
 * that another transaction has made progress.
 */
async function lockRunning(tx: Tx, scope: EndScope, limit: number): Promise<{ run_id: string }[]> {
  const { tenant_id, project_id } = scope;
  const isRunning = tx`r.tenant_id = ${tenant_id} and r.project_id = ${project_id} and r.status = 'running'
    ${'journey_id' in scope ? isMeant(tx, scope) : tx``}`;
  const lock = (run_ids: readonly string[]) =>
    tx<{ run_id: string }[]>`
      select r.run_id from (select unnest(${plainArray(run_ids)}::text::uuid[]) as run_id order by 1) l
      cross join lateral (select r.run_id from journey_runs r where r.run_id = l.run_id and ${isRunning} for update) r`;
  if ('run_id' in scope) return lock([scope.run_id]);
  if ('run_ids' in scope && scope.run_ids !== undefined) return lock(scope.run_ids);
  if (!('journey_id' in scope) && !('player_id' in scope)) return [];
  // The lock names the run alone, so that without statistics no index of the journey's runs is taken for it.
  const owner =
    'journey_id' in scope ? tx`r.journey_id = ${scope.journey_id}` : tx`r.player_id = ${scope.player_id}`;
  for (;;) {
    const found = await tx<{ run_id: string }[]>`
      select r.run_id from journey_runs r where ${owner} and ${isRunning} limit ${limit}`;
    if (found.length === 0) return [];
    const locked = await lock(found.map(({ run_id }) => run_id));
    if (locked.length > 0) return locked;
  }
}

/** What happens to runs, and of the steps on which they end. */
function endOf({ cancelled_by, error_code }: Pick<Ending, 'cancelled_by' | 'error_code'>) {
  if (error_code !== undefined) {
    return { status: 'failed', outcome: null, step_status: 'failed', step: 'failed' } as const;
  }
  if (cancelled_by === undefined) {
    return { status: 'completed', outcome: 'exited', step_status: 'skipped', step: 'exited' } as const;
  }
  return { status: 'cancelled', outcome: null, step_status: 'skipped', step: 'cancelled' } as const;
}

/** What is asked of the journey's runs; that it is no longer so may be found while they are locked. */
function isMeant(tx: Tx, { version, node_id, due_before }: RunsOfJourney): PendingQuery<Row[]> {
  return tx`${version === undefined ? tx`` : tx`and r.version = ${version}`}
    ${node_id === undefined ? tx`` : tx`and r.node_id = ${node_id}`}
    ${due_before === undefined ? tx`` : tx`and r.due_at < ${due_before}`}`;
}
