import type { Tx } from '../../platform/postgres/port.ts';

/** Gives up at most `limit` pending deliveries whose time is over; returns how many. Their runs have gone on before. */
export async function giveUpExpired(sql: Tx, now: Date, limit: number): Promise<number> {
  const { count } = await sql`
    with due as materialized (
      select ctid from webhook_deliveries
      where status = 'pending' and expires_at <= ${now} limit ${limit} for update skip locked)
    update webhook_deliveries d
    set status = 'failed', completed_at = ${now}, last_error = coalesce(d.last_error, 'WEBHOOK_EXPIRED')
    from due where d.ctid = due.ctid`;
  return count;
}

/** Removes at most `limit` deliveries that ended before `before`; returns how many. */
export async function removeEnded(sql: Tx, before: Date, limit: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select ctid from webhook_deliveries
      where status <> 'pending' and completed_at < ${before} order by completed_at limit ${limit} for update skip locked)
    delete from webhook_deliveries d using old where d.ctid = old.ctid`;
  return count;
}
