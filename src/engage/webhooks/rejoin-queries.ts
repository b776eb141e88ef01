import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { NewDelivery } from './delivery-queries.ts';

/**
 * Lets runs that came a second time to a webhook which they called before, because they were moved back, take its
 * outcome: at once if there is one, otherwise when there is. The transaction has locked the runs and moved them there.
 */
export async function rejoinDeliveries(tx: Tx, rows: readonly NewDelivery[], now: Date): Promise<void> {
  const waiting = rows.filter(({ node }) => node.wait_for_response);
  if (waiting.length === 0) return;
  // A statement of its own locks first, so that the next one sees an outcome that is being written.
  const found = await tx<{ event_id: string }[]>`
    select d.event_id from (
      select * from ${rowsOf(tx, 'r', waiting, { tenant_id: 'uuid', event_id: 'uuid', seq: 'integer' })} order by event_id) r
    cross join lateral (
      select o.event_id from webhook_deliveries o
      where o.tenant_id = r.tenant_id and o.event_id = r.event_id and o.seq < r.seq for update) d`;
  if (found.length === 0) return;
  const event_ids = new Set(found.map(({ event_id }) => event_id));
  const again = waiting.filter(({ event_id }) => event_ids.has(event_id));
  await tx`
    with rejoined as (
      update webhook_deliveries d set seq = r.seq, wait_for_response = true
      from ${rowsOf(tx, 'r', again, { tenant_id: 'uuid', event_id: 'uuid', seq: 'integer' })}
      where d.tenant_id = r.tenant_id and d.event_id = r.event_id
      returning d.tenant_id, d.project_id, d.run_id, d.seq, d.status, d.last_error
    ), woken as (
      update journey_runs r set due_at = ${now}, woken_by = case when d.status = 'delivered'
        then '{"kind": "delivery", "outcome": "delivered"}'::jsonb
        else jsonb_build_object('kind', 'delivery', 'outcome', 'exhausted', 'error_code', d.last_error) end
      from rejoined d
      where d.status <> 'pending' and r.run_id = d.run_id and r.tenant_id = d.tenant_id and r.project_id = d.project_id
        and r.seq = d.seq and r.status = 'running'
      returning r.tenant_id, r.project_id, r.run_id, r.seq
    )
    insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
    select tenant_id, project_id, ${now}, run_id, seq from woken
    on conflict (tenant_id, project_id, due_at, run_id) do update set seq = excluded.seq`;
}
