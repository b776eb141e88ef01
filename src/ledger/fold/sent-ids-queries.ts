import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { sentKey } from './fold-event.ts';
import type { ClaimedSentId, LogPlace, SnapshotRequest } from './snapshot.ts';

/** How long the name of an event is kept, in whole days at least (docs/segment-dialect.md, Repetitions). */
export const SENT_ID_DAYS = { short: 2, long: 90 } as const;

/** The claims of these names that there are, by their keys. */
export async function readSentIds(
  tx: Tx,
  wanted: SnapshotRequest['sent_ids'],
): Promise<Map<string, LogPlace>> {
  if (wanted.length === 0) return new Map();
  const rows = (await tx`
    select r.tenant_id, r.sent_id, i.log_partition, i.log_offset
    from ${rowsOf(tx, 'r', wanted, { tenant_id: 'uuid', sent_id: 'uuid' })}
    cross join lateral (
      select * from sent_ids i where i.sent_id = r.sent_id and i.tenant_id = r.tenant_id offset 0) i`.values()) as unknown as [
    string,
    string,
    number,
    bigint,
  ][];
  return new Map(
    rows.map(([tenant_id, sent_id, log_partition, log_offset]) => [
      sentKey(tenant_id, sent_id),
      { log_partition, log_offset },
    ]),
  );
}

/**
 * Writes the claims of a batch. The primary key is the claim: the second writer violates it and starts again. Sorted, so that
 * two writers of the same names wait for each other in the same order.
 */
export function insertSentIds(
  tx: Tx,
  claimed: readonly ClaimedSentId[],
  now_ms: number,
): () => Promise<void> {
  if (claimed.length === 0) return async () => undefined;
  const sorted = claimed.toSorted((a, b) => (a.sent_id < b.sent_id ? -1 : 1));
  const insertion = tx`
    insert into sent_ids (sent_id, tenant_id, log_offset, kept_until, log_partition)
    select r.sent_id, r.tenant_id, r.log_offset, ${new Date(now_ms)}::date + 1 + r.days, r.log_partition
    from ${rowsOf(tx, 'r', sorted, {
      sent_id: 'uuid',
      tenant_id: 'uuid',
      log_offset: 'bigint',
      days: ['integer', (one) => SENT_ID_DAYS[one.keep]],
      log_partition: 'smallint',
    })}`;
  return async () => void (await insertion);
}

/** Removes at most `limit` claims that are not kept any more, the oldest first; returns how many. */
export async function removeOldSentIds(sql: Tx, now: Date, limit: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select ctid from sent_ids where kept_until < ${now}::date order by kept_until
      limit ${limit} for update skip locked)
    delete from sent_ids i using old where i.ctid = old.ctid`;
  return count;
}
