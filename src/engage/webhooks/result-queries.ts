import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { WokenBy } from '../journeys/runs/shapes.ts';
import { releaseNext } from './turn-queries.ts';
import { lockResting, wakeRuns, type Wake } from '../journeys/runs/wake-queries.ts';

/** What an attempt has led to. */
export interface AttemptResult extends ProjectRef {
  event_id: string;
  /** The number of the attempt. */
  attempts: number;
  player_id: string;
  /** Null: a node of a journey called. */
  subscription_id: string | null;
  /** Null: of a subscription. */
  run_id: string | null;
  /** As the claim has read it, like `wait_for_response`. */
  seq: number | null;
  wait_for_response: boolean;
  save_as: string | null;
  status: 'pending' | 'delivered' | 'failed' | 'cancelled';
  /** When a pending delivery is attempted again. */
  next_at: Date;
  /** The attempt was interrupted, so it does not count. */
  is_void: boolean;
  /** Nothing was sent: what the last attempt has led to stays, and the number of it, too. */
  was_not_sent: boolean;
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
 * attempt is the last one and the delivery is still pending. Its run is woken where the delivery says now that it rests:
 * during the call it may have come to the webhook a second time (`rejoinDeliveries`). Runs are locked before
 * deliveries, as cancelling does, except one that came back: a deadlock is possible, and the caller tries again.
 */
export async function writeResults(tx: Tx, results: readonly AttemptResult[], now: Date): Promise<void> {
  const ended = results.filter(({ status }) => status !== 'pending');
  const events = ended.filter(isOfSubscription);
  // Statements of their own lock first, so that the next one sees what other transactions have changed.
  const [, , counted] = await Promise.all([
    lockResting(
      tx,
      ended.filter(isOfRun).filter(({ wait_for_response }) => wait_for_response),
    ),
    lockDeliveries(tx, results),
    updateDeliveries(tx, results, now),
    releaseNext(tx, events, now),
  ]);
  const wakes: Wake[] = [];
  const unlocked: Wake[] = [];
  for (const result of ended.filter(isOfRun)) {
    const awaiting = counted.get(result.event_id);
    if (awaiting?.wait_for_response !== true || awaiting.seq === null) continue;
    const wake = wakeOf(result, awaiting.seq);
    wakes.push(wake);
    if (!result.wait_for_response || result.seq !== awaiting.seq) unlocked.push(wake);
  }
  await lockResting(tx, unlocked);
  await wakeRuns(tx, wakes, now);
}

type OfRun = AttemptResult & { run_id: string; seq: number };

const isOfRun = (result: AttemptResult): result is OfRun => result.run_id !== null && result.seq !== null;

const isOfSubscription = (result: AttemptResult): result is AttemptResult & { subscription_id: string } =>
  result.subscription_id !== null;

function wakeOf(
  { tenant_id, project_id, run_id, save_as, saved, status, last_error }: OfRun,
  seq: number,
): Wake {
  const kept =
    save_as === null || saved === null ? null : ({ part: 'responses', name: save_as, json: saved } as const);
  return { tenant_id, project_id, run_id, seq, kept, woken_by: wokenByDelivery({ status, last_error }) };
}

/** What a run that waits for a delivery learns of its end. */
export function wokenByDelivery({
  status,
  last_error,
}: Pick<AttemptResult, 'status' | 'last_error'>): WokenBy {
  const outcome = status === 'delivered' ? 'delivered' : 'exhausted';
  return {
    kind: 'delivery',
    outcome,
    error_code: outcome === 'delivered' ? undefined : (last_error ?? undefined),
  };
}

/** Whether a run waits for a delivery, and at which step. */
type Awaiting = Pick<AttemptResult, 'seq' | 'wait_for_response'>;

/**
 * By event id, of the results that count, what the delivery says now. The claim has taken the attempt for one that does
 * not count; now it does, unless it is void.
 */
async function updateDeliveries(
  tx: Tx,
  results: readonly AttemptResult[],
  now: Date,
): Promise<ReadonlyMap<string, Awaiting>> {
  const rows = await tx<(Awaiting & { event_id: string })[]>`
    update webhook_deliveries d set
      status = r.status, next_at = 'epoch'::timestamptz + r.next_ms * interval '1 millisecond',
      attempts = d.attempts - r.unsent, attempts_before = d.attempts_before - 1 + r.voided,
      attempted_at = case when r.unsent = 1 and d.attempts = 1 then null else d.attempted_at end,
      last_status = case when r.unsent = 1 then d.last_status else r.last_status end,
      last_error = case when r.unsent = 1 then coalesce(r.last_error, d.last_error) else r.last_error end,
      last_reason = case when r.unsent = 1 then d.last_reason else r.last_reason end,
      response = case when r.unsent = 1 then d.response else r.response end,
      completed_at = case when r.status <> 'pending' then ${now}::timestamptz end
    from ${rowsOf(tx, 'r', results, {
      tenant_id: 'uuid',
      event_id: 'uuid',
      attempts: 'integer',
      status: 'text',
      next_ms: ['bigint', (r) => r.next_at.getTime()],
      voided: ['integer', (r) => (r.is_void ? 1 : 0)],
      unsent: ['integer', (r) => (r.was_not_sent ? 1 : 0)],
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
    returning d.event_id, d.seq, d.wait_for_response`;
  return new Map(rows.map((row) => [row.event_id, row]));
}

async function lockDeliveries(tx: Tx, results: readonly AttemptResult[]): Promise<void> {
  // In the order in which those that add events of the same players lock them.
  const in_order = results.toSorted((one, other) => (one.event_id < other.event_id ? -1 : 1));
  await tx`
    select from ${rowsOf(tx, 'r', in_order, { tenant_id: 'uuid', event_id: 'uuid' })}
    cross join lateral (
      select from webhook_deliveries o
      where o.tenant_id = r.tenant_id and o.event_id = r.event_id and o.status = 'pending'
      for update) found`;
}
