import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';

/** The channel on which those who advance runs wait for timers that are due at once. */
const TIMERS_CHANNEL = 'journey_timers';
/** A run's context is no longer than this as JSON. */
const MAX_CONTEXT_BYTES = 16 * 1024;

/** What an attempt has led to. */
export interface AttemptResult extends ProjectRef {
  event_id: string;
  /** The number of the attempt. */
  attempts: number;
  run_id: string;
  node_id: string;
  seq: number;
  wait_for_response: boolean;
  save_as: string | null;
  status: 'pending' | 'delivered' | 'failed' | 'cancelled';
  /** When a pending delivery is attempted again. */
  next_at: Date;
  /** The attempt was interrupted, so it does not count. */
  is_void: boolean;
  /** The attempt was not made: what the last one has led to stays, and the number of it, too. */
  is_unmade: boolean;
  last_status: number | null;
  last_error: string | null;
  last_reason: string | null;
  /** The beginning of the answer. */
  response: string | null;
  /** JSON to keep in the run's context; null: nothing. */
  saved: string | null;
}

/**
 * Writes results, and wakes the runs that wait for them, in the caller's transaction. A result counts only if its
 * attempt is the last one and the delivery is still pending; a run is woken only if it still stands at the step. Runs are
 * locked before deliveries, as cancelling does.
 */
export async function writeResults(tx: Tx, results: readonly AttemptResult[], now: Date): Promise<void> {
  const ended = results.filter(({ status, wait_for_response }) => wait_for_response && status !== 'pending');
  const waiting = await lockWaitingRuns(tx, ended);
  const counted = await updateDeliveries(tx, results, now);
  await wakeRuns(
    tx,
    ended.filter(({ event_id, run_id }) => counted.has(event_id) && waiting.has(run_id)),
    now,
  );
}

/** The ids of those runs that are running and still stand at the step, locked in the order of their ids. */
async function lockWaitingRuns(tx: Tx, results: readonly AttemptResult[]): Promise<ReadonlySet<string>> {
  if (results.length === 0) return new Set();
  const rows = await tx<{ run_id: string }[]>`
    select r.run_id from (
      select * from ${rowsOf(tx, 'u', results, { ...PROJECT_KEY, run_id: 'uuid', seq: 'integer', node_id: 'text' })}
      order by run_id) u
    cross join lateral (
      select r.run_id from journey_runs r
      where r.run_id = u.run_id and r.tenant_id = u.tenant_id and r.project_id = u.project_id and r.seq = u.seq
        and r.node_id = u.node_id and r.status = 'running'
      for update) r`;
  return new Set(rows.map(({ run_id }) => run_id));
}

/**
 * The event ids of the results that count. A statement of its own locks first, so that the next one sees what other
 * transactions have changed. The claim has taken the attempt for one that does not count; now it does, unless it is void.
 */
async function updateDeliveries(
  tx: Tx,
  results: readonly AttemptResult[],
  now: Date,
): Promise<ReadonlySet<string>> {
  await lockDeliveries(tx, results);
  const rows = await tx<{ event_id: string }[]>`
    update webhook_deliveries d set
      status = r.status, next_at = 'epoch'::timestamptz + r.next_ms * interval '1 millisecond',
      attempts = d.attempts - r.unmade, attempts_before = d.attempts_before - 1 + r.voided,
      attempted_at = case when r.unmade = 1 and d.attempts = 1 then null else d.attempted_at end,
      last_status = case when r.unmade = 1 then d.last_status else r.last_status end,
      last_error = case when r.unmade = 1 then coalesce(r.last_error, d.last_error) else r.last_error end,
      last_reason = case when r.unmade = 1 then d.last_reason else r.last_reason end,
      response = case when r.unmade = 1 then d.response else r.response end,
      completed_at = case when r.status <> 'pending' then ${now}::timestamptz end
    from ${rowsOf(tx, 'r', results, {
      tenant_id: 'uuid',
      event_id: 'uuid',
      attempts: 'integer',
      status: 'text',
      next_ms: ['bigint', (r) => r.next_at.getTime()],
      voided: ['integer', (r) => (r.is_void ? 1 : 0)],
      unmade: ['integer', (r) => (r.is_unmade ? 1 : 0)],
      last_status: 'integer',
      last_error: 'text',
      last_reason: 'text',
      response: 'text',
    })}
    cross join lateral (
      select o.ctid from webhook_deliveries o
      where o.tenant_id = r.tenant_id and o.event_id = r.event_id and o.attempts = r.attempts and o.status = 'pending'
      offset 0) found
    where d.ctid = found.ctid
    returning d.event_id`;
  return new Set(rows.map(({ event_id }) => event_id));
}

async function lockDeliveries(tx: Tx, results: readonly AttemptResult[]): Promise<void> {
  await tx`
    select from ${rowsOf(tx, 'r', results, { tenant_id: 'uuid', event_id: 'uuid' })}
    cross join lateral (
      select from webhook_deliveries o
      where o.tenant_id = r.tenant_id and o.event_id = r.event_id and o.status = 'pending'
      for update) found`;
}

/** Lets runs that the transaction has locked go on now, with the outcome; a response that fits is kept in their context. */
async function wakeRuns(tx: Tx, results: readonly AttemptResult[], now: Date): Promise<void> {
  if (results.length === 0) return;
  const wokenBy = ({ status, last_error }: AttemptResult) =>
    JSON.stringify(
      status === 'delivered'
        ? { kind: 'delivery', outcome: 'delivered' }
        : { kind: 'delivery', outcome: 'exhausted', error_code: last_error },
    );
  await tx`
    with woken as (
      update journey_runs r set woken_by = w.woken_by::jsonb, due_at = ${now},
        context = case when octet_length(c.context::text) <= ${MAX_CONTEXT_BYTES}::integer then c.context else r.context end
      from ${rowsOf(tx, 'w', results, {
        ...PROJECT_KEY,
        run_id: 'uuid',
        woken_by: ['text', wokenBy],
        save_as: 'text',
        saved: 'text',
      })}
      cross join lateral (
        select o.ctid, case when w.save_as is null or w.saved is null then o.context
          else o.context || jsonb_build_object('responses',
            coalesce(o.context -> 'responses', '{}') || jsonb_build_object(w.save_as, w.saved::jsonb)) end as context
        from journey_runs o
        where o.run_id = w.run_id and o.tenant_id = w.tenant_id and o.project_id = w.project_id offset 0) c
      where r.ctid = c.ctid
      returning r.tenant_id, r.project_id, r.run_id, r.seq
    )
    insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
    select tenant_id, project_id, ${now}, run_id, seq from woken
    on conflict (tenant_id, project_id, due_at, run_id) do update set seq = excluded.seq`;
  await tx`select pg_notify(${TIMERS_CHANNEL}, '')`;
}
