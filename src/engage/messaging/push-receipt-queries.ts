import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { Receipt } from './callbacks/callback-queries.ts';

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

/** Takes the oldest reports of a tenant out, up to `limit`; those that another process takes are left to it. */
export async function takeReceipts(tx: Tx, tenant_id: string, limit: number): Promise<Receipt[]> {
  return tx<Receipt[]>`
    delete from push_receipts d
    where d.tenant_id = ${tenant_id} and d.ctid = any(array(
      select r.ctid from push_receipts r where r.tenant_id = ${tenant_id}
      order by r.receipt_id limit ${limit} for update skip locked))
    returning d.project_id, d.player_id, d.send_id, d.step, epoch_ms(d.at)::float8 as at_ms`;
}
