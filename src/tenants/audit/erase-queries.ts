import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';

/** Rows about erasures and exports stay: they show that the law was kept, and hold ids only. */
const KEPT_ACTIONS = `'erase', 'export'`;

/**
 * Replaces what rows of the audit log say of the resources with these ids by the id of the erasure. Who did what and when
 * stays. `ids`: a statement that selects the column `resource_id`. Returns how many rows were changed, `limit` at most.
 */
export async function eraseAuditRowsOf(
  tx: Tx,
  { tenant_id, erasure_id }: { tenant_id: string; erasure_id: string },
  ids: PendingQuery<Row[]>,
  limit: number,
): Promise<number> {
  const found = tx`
    select a.audit_id from (select distinct resource_id from (${ids}) i) i
    cross join lateral (
      select a.audit_id from audit_log a
      where a.tenant_id = ${tenant_id} and a.resource_id = i.resource_id and ${isOpen(tx)} offset 0) a
    limit ${limit}`;
  return erase(tx, { tenant_id, erasure_id }, found);
}

/** The same for the rows about suppressions of these addresses, as they are written in them; `limit` at most. */
export async function eraseAuditRowsOfAddresses(
  tx: Tx,
  { tenant_id, erasure_id }: { tenant_id: string; erasure_id: string },
  isTheirs: (address: PendingQuery<Row[]>) => PendingQuery<Row[]>,
  limit: number,
): Promise<number> {
  const found = tx`
    select a.audit_id from audit_log a
    where a.tenant_id = ${tenant_id} and a.resource_type = 'suppression' and ${isOpen(tx)}
      and ((${isTheirs(tx`a.before ->> 'address'`)}) or (${isTheirs(tx`a.after ->> 'address'`)}))
    limit ${limit}`;
  return erase(tx, { tenant_id, erasure_id }, found);
}

/** Whether the row `a` says something that is not erased yet. */
function isOpen(tx: Tx): PendingQuery<Row[]> {
  return tx`a.action not in (${tx.unsafe(KEPT_ACTIONS)})
    and (a.before is not null and not a.before ? 'erased' or a.after is not null and not a.after ? 'erased')`;
}

async function erase(
  tx: Tx,
  { tenant_id, erasure_id }: { tenant_id: string; erasure_id: string },
  found: PendingQuery<Row[]>,
): Promise<number> {
  const mark = tx`jsonb_build_object('erased', ${erasure_id}::text)`;
  const { count } = await tx`
    with found as materialized (${found})
    update audit_log a set
      before = case when a.before is null then null else ${mark} end,
      after = case when a.after is null then null else ${mark} end
    from found f where a.tenant_id = ${tenant_id} and a.audit_id = f.audit_id`;
  return count;
}
