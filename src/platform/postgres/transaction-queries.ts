import type { Tx } from './port.ts';

/** Assigns an id to the transaction, above all ids assigned before. A single statement outside of one is a transaction. */
export async function takeTransactionId(tx: Tx): Promise<string> {
  const [row] = await tx<{ xid: string }[]>`select pg_current_xact_id()::text as xid`;
  if (row === undefined) throw new Error('Postgres gave no transaction id');
  return row.xid;
}

/** Whether every transaction below `until_xid` has ended. */
export async function isPast(sql: Tx, until_xid: string): Promise<boolean> {
  const [row] = await sql<{ past: boolean }[]>`
    select pg_snapshot_xmin(pg_current_snapshot()) >= ${until_xid}::text::xid8 as past`;
  return row?.past ?? false;
}
