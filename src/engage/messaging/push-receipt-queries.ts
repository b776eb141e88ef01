import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import type { Receipt } from './callbacks/callback.ts';

/** Records reports on pushes. A report that is recorded twice is written twice, which changes nothing. */
export async function insertReceipts(
  sql: Tx,
  receipts: readonly (Receipt & { tenant_id: string })[],
): Promise<void> {
  await sql`
    insert into push_receipts (tenant_id, project_id, player_id, send_id, step, at)
    select tenant_id, project_id, player_id, send_id, step, 'epoch'::timestamptz + at_ms * interval '1 millisecond'
    from ${rowsOf(sql, 'g', receipts, { ...PROJECT_KEY, player_id: 'uuid', send_id: 'uuid', step: 'text', at_ms: 'bigint' })}`;
}

/** Returns a row while a report waits to be written. */
export const receiptWork: WorkQuery = (sql) => sql`select from push_receipts limit 1`;

/** Tenants after `after` with reports that wait. The query hops from one tenant to the next in the primary key. */
export async function selectTenantsWithReceipts(sql: Tx, after: string, limit: number): Promise<string[]> {
  const next = (beyond: ReturnType<typeof sql>) => sql`
    select r.tenant_id from push_receipts r where r.tenant_id > ${beyond} order by r.tenant_id limit 1`;
  const rows = await sql<{ tenant_id: string }[]>`
    with recursive hop as (
      (${next(sql`${after}::uuid`)})
      union all
      select n.* from hop cross join lateral (${next(sql`hop.tenant_id`)}) n
    )
    select tenant_id from hop limit ${limit}`;
  return rows.map(({ tenant_id }) => tenant_id);
}

/** Takes the oldest reports of a tenant out, up to `limit`; those that another process takes are left to it. */
export async function takeReceipts(tx: Tx, tenant_id: string, limit: number): Promise<Receipt[]> {
  return tx<Receipt[]>`
    delete from push_receipts d
    where d.tenant_id = ${tenant_id} and d.ctid = any(array(
      select r.ctid from push_receipts r where r.tenant_id = ${tenant_id}
      order by r.receipt_id limit ${limit} for update skip locked))
    returning d.project_id, d.player_id, d.send_id, d.step, epoch_ms(d.at)::float8 as at_ms`;
}
