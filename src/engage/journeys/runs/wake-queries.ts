import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../../tenants/project-ref.ts';
import { TIMERS_CHANNEL } from './claim-queries.ts';
import { MAX_CONTEXT_BYTES, type RunRef } from './run-row.ts';
import type { WokenBy } from './shapes.ts';

/** Where a run rests: at a step. A change of version may give the step another node. */
export interface RestingRun extends RunRef {
  seq: number;
}

/** What ends the rest of a run. */
export interface Wake extends RestingRun {
  woken_by: WokenBy;
  /** JSON that the run's context keeps under a name, as far as it fits. */
  kept: { part: 'events' | 'responses'; name: string; json: string } | null;
}

/** The condition that a run `r` still rests where `g`, a row of {@link RestingRun}, says, and nothing has ended its rest. */
function restsThere(tx: Tx) {
  return tx`r.run_id = g.run_id and r.tenant_id = g.tenant_id and r.project_id = g.project_id
    and r.seq = g.seq and r.status = 'running' and r.woken_by is null`;
}

/** Locks the runs that still rest there, in the order of their ids. */
export async function lockResting(tx: Tx, runs: readonly RestingRun[]): Promise<void> {
  if (runs.length === 0) return;
  await tx`
    select from (
      select * from ${rowsOf(tx, 'g', runs, { ...PROJECT_KEY, run_id: 'uuid', seq: 'integer' })} order by run_id) g
    cross join lateral (select from journey_runs r where ${restsThere(tx)} for update) r`;
}

/**
 * Ends the rests of runs that still rest there: what is to be kept becomes part of the context, and a timer is due now. The
 * timer of the time-out falls away when it is claimed. The transaction has locked the runs. Returns how many.
 */
export async function wakeRuns(tx: Tx, wakes: readonly Wake[], now: Date): Promise<number> {
  if (wakes.length === 0) return 0;
  const given = rowsOf(tx, 'g', wakes, {
    ...PROJECT_KEY,
    run_id: 'uuid',
    seq: 'integer',
    woken_by: ['text', ({ woken_by }) => JSON.stringify(woken_by)],
    part: ['text', ({ kept }) => kept?.part ?? null],
    name: ['text', ({ kept }) => kept?.name ?? null],
    kept: ['text', ({ kept }) => kept?.json ?? null],
  });
  const [row] = await tx<{ woken: number }[]>`
    with resting as materialized (
      select r.ctid, r.tenant_id, r.project_id, r.run_id, r.seq, g.woken_by::jsonb as woken_by,
        case when g.kept is null then r.context else jsonb_set(
          r.context || jsonb_build_object(g.part, coalesce(r.context -> g.part, '{}')),
          array[g.part, g.name], g.kept::jsonb) end as context
      from ${given}
      cross join lateral (select r.ctid, r.* from journey_runs r where ${restsThere(tx)} offset 0) r
    ), woken as (
      update journey_runs r set woken_by = l.woken_by, due_at = ${now},
        context = case when octet_length(l.context::text) <= ${MAX_CONTEXT_BYTES}::integer then l.context else r.context end
      from resting l where r.ctid = l.ctid
      returning r.tenant_id, r.project_id, r.run_id, r.seq
    ), unawaited as (
      delete from journey_waits w using woken l
      where w.run_id = l.run_id and w.tenant_id = l.tenant_id and w.project_id = l.project_id
        and w.seq > 0
    ), timers as (
      insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
      select tenant_id, project_id, ${now}, run_id, seq from woken
      on conflict (tenant_id, project_id, due_at, run_id) do update set seq = excluded.seq
    )
    select count(*)::integer as woken, case when count(*) > 0 then pg_notify(${TIMERS_CHANNEL}, '') end from woken`;
  return row?.woken ?? 0;
}
