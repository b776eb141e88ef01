import type { Db, Tx } from '../../platform/postgres/port.ts';
import { releaseNext } from './turn-queries.ts';

/** Gives up at most `limit` pending deliveries whose time is over; returns how many. Their runs have gone on before. */
export async function giveUpExpired(sql: Db, now: Date, limit: number): Promise<number> {
  return sql.begin(async (tx) => {
    const ended = await tx<{ tenant_id: string; subscription_id: string | null; player_id: string }[]>`
      with due as materialized (
        select ctid from webhook_deliveries
        where status = 'pending' and expires_at <= ${now} limit ${limit} for update skip locked)
      update webhook_deliveries d
      set status = 'failed', completed_at = ${now}, last_error = coalesce(d.last_error, 'WEBHOOK_EXPIRED')
      from due where d.ctid = due.ctid
      returning d.tenant_id, d.subscription_id, d.player_id`;
    const turns = ended.flatMap(({ subscription_id, ...one }) =>
      subscription_id === null ? [] : [{ ...one, subscription_id }],
    );
    await releaseNext(tx, turns, now);
    return ended.length;
  });
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
