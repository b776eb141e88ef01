import { hash } from 'node:crypto';
import type { Tx } from '../platform/postgres/port.ts';

/** Expired rows that are deleted when one is added, so that the table does not grow. */
const DELETED_AT_ONCE = 100;

/**
 * Notes that something was used, until it expires anyway. Resolves with false when it was used before, in any
 * process. `name` has a prefix of its kind, so that a name of one kind is not a name of another.
 */
export async function useOnce(
  sql: Tx,
  name: string,
  { now, expires_at }: { now: Date; expires_at: Date },
): Promise<boolean> {
  const id_hash = Buffer.from(hash('sha256', name, 'hex'), 'hex');
  const rows = await sql`
    with expired as materialized (
      select id_hash from console_used_once where expires_at <= ${now}
      limit ${DELETED_AT_ONCE} for update skip locked
    ), deleted as (
      delete from console_used_once c using expired e where c.id_hash = e.id_hash
    )
    insert into console_used_once (id_hash, expires_at) values (${id_hash}, ${expires_at})
    on conflict do nothing returning 1 as used`;
  return rows.length === 1;
}
