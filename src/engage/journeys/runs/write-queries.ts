import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../../tenants/project-ref.ts';
import type { RunOutcome, RunRef, RunStatus } from './run-row.ts';
import type { Timer } from './claim-queries.ts';
import type { WokenBy } from './shapes.ts';

/** A node of a run that is done. `ref`: the message, the webhook's event or the grant of the step. */
export interface StepRow extends RunRef {
  seq: number;
  node_id: string;
  node_type: string;
  status: 'completed' | 'skipped' | 'failed';
  outcome: string;
  next_node_id: string | null;
  entered_at_ms: number;
  completed_at_ms: number;
  ref: string | null;
  error_code: string | null;
}

/** Writes steps; a step is written once. One that exists is refused, or with `keeps` stays as it is. */
export async function insertSteps(tx: Tx, rows: readonly StepRow[], keeps = false): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    insert into journey_steps (tenant_id, project_id, run_id, seq, node_id, node_type, status, outcome, next_node_id,
      entered_at, completed_at, ref, error_code)
    select s.tenant_id, s.project_id, s.run_id, s.seq, s.node_id, s.node_type, s.status, s.outcome, s.next_node_id,
      'epoch'::timestamptz + s.entered_ms * interval '1 millisecond',
      'epoch'::timestamptz + s.completed_ms * interval '1 millisecond', s.ref, s.error_code
    from ${rowsOf(tx, 's', rows, {
      ...PROJECT_KEY,
      run_id: 'uuid',
      seq: 'integer',
      node_id: 'text',
      node_type: 'text',
      status: 'text',
      outcome: 'text',
      next_node_id: 'text',
      entered_ms: ['bigint', (r) => r.entered_at_ms],
      completed_ms: ['bigint', (r) => r.completed_at_ms],
      ref: 'uuid',
      error_code: 'text',
    })}
    ${keeps ? tx`on conflict (run_id, seq, tenant_id, project_id) do nothing` : tx``}`;
}

/** Where a run is after it was advanced. */
export interface MovedRun extends RunRef {
  status: RunStatus;
  node_id: string;
  seq: number;
  entered_at_ms: number | null;
  /** Null: the run has ended. */
  due_at_ms: number | null;
  /** What is behind a wait for a rate; null: it rests otherwise, or has ended. */
  woken_by: Extract<WokenBy, { kind: 'rate' }> | null;
  outcome: RunOutcome | null;
  error_code: string | null;
  cancelled_by: string | null;
}

/** Moves runs that the transaction has locked; a run without `due_at_ms` has ended at `now`. */
export async function updateRuns(tx: Tx, rows: readonly MovedRun[], now: Date): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    update journey_runs r set
      status = m.status, node_id = m.node_id, seq = m.seq, woken_by = m.woken_by::jsonb, outcome = m.outcome,
      entered_at = 'epoch'::timestamptz + m.entered_ms * interval '1 millisecond',
      due_at = 'epoch'::timestamptz + m.due_ms * interval '1 millisecond',
      error_code = m.error_code, cancelled_by = m.cancelled_by,
      completed_at = case when m.status <> 'running' then ${now}::timestamptz end
    from ${rowsOf(tx, 'm', rows, {
      ...PROJECT_KEY,
      run_id: 'uuid',
      status: 'text',
      node_id: 'text',
      seq: 'integer',
      entered_ms: ['bigint', (r) => r.entered_at_ms],
      due_ms: ['bigint', (r) => r.due_at_ms],
      woken_by: ['text', (r) => r.woken_by && JSON.stringify(r.woken_by)],
      outcome: 'text',
      error_code: 'text',
      cancelled_by: 'text',
    })}
    cross join lateral (${runOf(tx)}) found
    where r.ctid = found.ctid`;
}

/** The row of the run that `m` names, looked up by its key regardless of the statistics. */
function runOf(tx: Tx) {
  return tx`
    select o.ctid from journey_runs o
    where o.run_id = m.run_id and o.tenant_id = m.tenant_id and o.project_id = m.project_id offset 0`;
}

/** Lets runs that the transaction has locked rest where they are until another time; what has woken them stays. */
export async function postponeRuns(tx: Tx, rows: readonly Timer[]): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    update journey_runs r set due_at = 'epoch'::timestamptz + m.due_ms * interval '1 millisecond'
    from ${rowsOf(tx, 'm', rows, { ...PROJECT_KEY, run_id: 'uuid', due_ms: ['bigint', (r) => r.due_at.getTime()] })}
    cross join lateral (${runOf(tx)}) found
    where r.ctid = found.ctid`;
  await insertTimers(tx, rows);
}

/** Sets timers; one that is set already stays. */
export async function insertTimers(tx: Tx, rows: readonly Timer[]): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
    select t.tenant_id, t.project_id, 'epoch'::timestamptz + t.due_ms * interval '1 millisecond', t.run_id, t.seq
    from ${rowsOf(tx, 't', rows, {
      ...PROJECT_KEY,
      due_ms: ['bigint', (r) => r.due_at.getTime()],
      run_id: 'uuid',
      seq: 'integer',
    })}
    on conflict (tenant_id, project_id, due_at, run_id) do update set seq = excluded.seq`;
}

/** A run that waits for an event: one counts that the stream accepted at `from_offset` of its partition or after it. */
export interface NewWait extends RunRef {
  event: string;
  player_id: string;
  seq: number;
  partition: number;
  log_id: string;
  from_offset: bigint;
}

/** Makes runs wait for events. */
export async function insertWaits(tx: Tx, rows: readonly NewWait[], now: Date): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    insert into journey_waits (tenant_id, project_id, event, player_id, run_id, seq, partition, log_id, from_offset, since)
    select w.*, ${now} from ${rowsOf(tx, 'w', rows, {
      ...PROJECT_KEY,
      event: 'text',
      player_id: 'uuid',
      run_id: 'uuid',
      seq: 'integer',
      partition: 'smallint',
      log_id: 'text',
      from_offset: 'bigint',
    })}
    on conflict (tenant_id, project_id, event, player_id, run_id) do nothing`;
}

/** These runs wait for no event any more; what may end them is still looked at. */
export async function deleteWaits(tx: Tx, runs: readonly RunRef[]): Promise<void> {
  if (runs.length === 0) return;
  await tx`
    delete from journey_waits w
    using ${rowsOf(tx, 'r', runs, { ...PROJECT_KEY, run_id: 'uuid' })}
    cross join lateral (
      select o.ctid from journey_waits o
      where o.run_id = r.run_id and o.tenant_id = r.tenant_id and o.project_id = r.project_id
        and o.seq > 0 offset 0) found
    where w.ctid = found.ctid`;
}
