import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { ClaimedEventId, HeldEventId, SnapshotRequest } from './snapshot.ts';

/** The claims of these `dedupe_id`s that there are, by their keys. Those of a merged player name the survivor. */
export async function readEventIds(
  tx: Tx,
  wanted: SnapshotRequest['event_ids'],
): Promise<Map<string, HeldEventId>> {
  if (wanted.length === 0) return new Map();
  const rows = (await tx`
    select i.event_key, coalesce(m.into_player_id, i.player_id), i.log_partition, i.log_offset
    from ${rowsOf(tx, 'r', wanted, { ...PROJECT_KEY, event_key: 'uuid' })}
    cross join lateral (
      select * from event_ids i where i.event_key = r.event_key and i.tenant_id = r.tenant_id
        and i.project_id = r.project_id offset 0) i
    left join lateral (
      select m.into_player_id from player_merges m where m.tenant_id = i.tenant_id and m.project_id = i.project_id
        and m.player_id = i.player_id offset 0) m on true`.values()) as unknown as [
    string,
    string,
    number,
    bigint,
  ][];
  return new Map(
    rows.map(([event_key, player_id, log_partition, log_offset]) => [
      event_key,
      { player_id, log_partition, log_offset },
    ]),
  );
}

/**
 * Writes the claims of a batch. The primary key is the claim, as in the ledger: the second writer violates it and starts
 * again. Sorted, so that two writers of the same ids wait for each other in the same order.
 */
export function insertEventIds(
  tx: Tx,
  claimed: readonly ClaimedEventId[],
  now_ms: number,
): () => Promise<void> {
  if (claimed.length === 0) return async () => undefined;
  const sorted = claimed.toSorted((a, b) => (a.event_key < b.event_key ? -1 : 1));
  const insertion = tx`
    insert into event_ids (event_key, tenant_id, project_id, player_id, log_partition, log_offset, claimed_at)
    select r.event_key, r.tenant_id, r.project_id, r.player_id, r.log_partition, r.log_offset, ${new Date(now_ms)}
    from ${rowsOf(tx, 'r', sorted, {
      ...PROJECT_KEY,
      event_key: 'uuid',
      player_id: 'uuid',
      log_partition: 'smallint',
      log_offset: 'bigint',
    })}`;
  return async () => void (await insertion);
}

/** Removes at most `limit` claims that were made before `before`, the oldest first; returns how many. */
export async function removeOldEventIds(sql: Tx, before: Date, limit: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select ctid from event_ids where claimed_at < ${before} order by claimed_at
      limit ${limit} for update skip locked)
    delete from event_ids i using old where i.ctid = old.ctid`;
  return count;
}
