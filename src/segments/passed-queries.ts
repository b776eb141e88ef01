import { plainArray } from '../platform/postgres/arrays.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';

/** Segments that refer to each other are followed so far: a chain of them has no end only if it is a circle. */
const LONGEST_CHAIN = 20;

/**
 * How many evaluations follow each other until what a player did shows in these segments: one, and one more for each
 * realtime segment in the longest chain that they refer to. 0: none of them is evaluated in real time.
 */
export async function selectChainLength(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  segment_ids: readonly string[],
): Promise<number> {
  const [row] = await sql<{ depth: number }[]>`
    with recursive live as (
      select segment_id, reads from segments
      where tenant_id = ${tenant_id} and project_id = ${project_id} and refresh_strategy = 'realtime' and deleted_at is null
    ), chain as (
      select segment_id, reads, 1 as depth from live
      where segment_id = any(${plainArray(segment_ids)}::text::uuid[])
      union
      select l.segment_id, l.reads, c.depth + 1 from chain c
      join live l on 'segment:' || l.segment_id = any(c.reads)
      where c.depth < ${LONGEST_CHAIN}
    )
    select coalesce(max(depth), 0)::integer as depth from chain`;
  return row?.depth ?? 0;
}

/** The entries of a project's queue of dirty players that wait for no certain segment; undefined: there is none. */
export async function selectQueueEnds(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
): Promise<{ oldest: bigint | undefined; newest: bigint | undefined }> {
  const entry = (order: 'asc' | 'desc') => sql`(
    select entry_id from dirty_players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id is null
    order by entry_id ${sql.unsafe(order)} limit 1)`;
  const [row] = await sql<{ oldest: bigint | null; newest: bigint | null }[]>`
    select ${entry('asc')} as oldest, ${entry('desc')} as newest`;
  return { oldest: row?.oldest ?? undefined, newest: row?.newest ?? undefined };
}

/**
 * Of these pairs those of which the player waits in the queue for that segment, because it was being refreshed. A segment
 * that is quarantined is omitted: it has the members that it had.
 */
export async function selectDeferredPlayers(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  pairs: readonly { segment_id: string; player_id: string }[],
): Promise<{ segment_id: string; player_id: string }[]> {
  return sql<{ segment_id: string; player_id: string }[]>`
    select r.segment_id, r.player_id
    from ${rowsOf(sql, 'r', pairs, { segment_id: 'uuid', player_id: 'uuid' })}
    cross join lateral (
      select from segments s
      where s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and s.segment_id = r.segment_id
        and s.evaluation_failures = 0 offset 0) s
    where exists (
      select from dirty_players d
      where d.tenant_id = ${tenant_id} and d.project_id = ${project_id} and d.segment_id = r.segment_id
        and r.player_id = any(d.player_ids))`;
}
