import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../../platform/postgres/port.ts';

/** How the steps end on which runs stood when they ended. */
export interface LastStep {
  status: 'skipped' | 'failed';
  outcome: string;
  error_code?: string | null;
  now: Date;
}

/**
 * The common table expressions `last_steps` and `unawaited` of a statement that ends runs: they write the step on which
 * each run of `ended` stood, and remove what it waits for. `ended` has the columns of `journey_runs` that name the run,
 * its version and its place.
 */
export function lastStepsSql(
  tx: Tx,
  ended: string,
  { status, outcome, error_code = null, now }: LastStep,
): PendingQuery<Row[]> {
  return tx`
    last_steps as (
      insert into journey_steps (tenant_id, project_id, run_id, seq, node_id, node_type, status, outcome, entered_at,
        completed_at, error_code)
      select e.tenant_id, e.project_id, e.run_id, e.seq, e.node_id, coalesce(n.type, 'end'), ${status}, ${outcome},
        coalesce(e.entered_at, ${now}), ${now}, ${error_code}
      from ${tx(ended)} e
      left join lateral (
        select n ->> 'type' as type from journey_versions v, jsonb_array_elements(v.graph -> 'nodes') n
        where v.tenant_id = e.tenant_id and v.project_id = e.project_id and v.journey_id = e.journey_id
          and v.version = e.version and n ->> 'id' = e.node_id
        limit 1) n on true
    ), unawaited as (
      delete from journey_waits w using ${tx(ended)} e
      where w.run_id = e.run_id and w.tenant_id = e.tenant_id and w.project_id = e.project_id
    )`;
}
