import type { Backlog } from '../platform/backlog-gauge.ts';
import type { Tx } from '../platform/postgres/port.ts';

const NONE: Backlog = { items: 0, oldest_ms: null };

/** Changes of memberships in the outbox, each of up to 1,000 players. */
export async function readChangesToPublish(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(changed_at))::float8 as oldest_ms
    from (select changed_at from segment_changes order by change_id limit ${most}) as waiting`;
  return row ?? NONE;
}

/** Entries of dirty players, each of up to 1,000 players, that wait for an evaluation. */
export async function readEntriesToEvaluate(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(marked_at))::float8 as oldest_ms
    from (select marked_at from dirty_players order by entry_id limit ${most}) as waiting`;
  return row ?? NONE;
}
