import type { PendingQuery } from 'postgres';
import type { Tx } from '../platform/postgres/port.ts';
import type { SegmentRef } from './queries.ts';

/** How many members a segment had at a moment. */
export interface SegmentSize {
  counted_at: Date;
  size: bigint;
}

/**
 * The sizes of a segment since a moment, the oldest first, and the last one before it. Between two of them the size stayed
 * as it was.
 */
export function selectSizes(
  tx: Tx,
  ref: SegmentRef,
  since: Date,
  limit: number,
): PendingQuery<SegmentSize[]> {
  const own = tx`segment_id = ${ref.segment_id} and tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id}`;
  return tx<SegmentSize[]>`
    select counted_at, size from (
      (select counted_at, size from segment_sizes where ${own} and counted_at < ${since}
        order by counted_at desc limit 1)
      union all
      (select counted_at, size from segment_sizes where ${own} and counted_at >= ${since}
        order by counted_at desc limit ${limit})
    ) found order by counted_at`;
}

/**
 * Writes the sizes of up to `limit` segments behind `after` in the order of the key, at midnight of all, at other hours of
 * those whose size has changed. Idempotent. Returns the last of these segments; undefined when there are no more.
 */
export async function writeSizes(
  sql: Tx,
  counted_at: Date,
  { is_midnight, after }: { is_midnight: boolean; after: SegmentRef | undefined },
  limit: number,
): Promise<SegmentRef | undefined> {
  const beyond =
    after === undefined
      ? sql``
      : sql`and (s.tenant_id, s.project_id, s.segment_id) >
          (${after.tenant_id}::uuid, ${after.project_id}::uuid, ${after.segment_id}::uuid)`;
  const [last] = await sql<SegmentRef[]>`
    with part as materialized (
      select s.tenant_id, s.project_id, s.segment_id, s.estimated_size from segments s
      where s.deleted_at is null ${beyond}
      order by s.tenant_id, s.project_id, s.segment_id limit ${limit}
    ), written as (
      insert into segment_sizes (tenant_id, project_id, segment_id, counted_at, size)
      select p.tenant_id, p.project_id, p.segment_id, ${counted_at}, p.estimated_size from part p
      where ${is_midnight} or p.estimated_size is distinct from (
        select z.size from segment_sizes z
        where z.segment_id = p.segment_id and z.tenant_id = p.tenant_id and z.project_id = p.project_id
        order by z.counted_at desc limit 1)
      on conflict do nothing
    )
    select tenant_id, project_id, segment_id from part
    order by tenant_id desc, project_id desc, segment_id desc limit 1`;
  return last;
}

/**
 * Removes up to `limit` rows: those between `hours` that are not of midnight, and all from before `all`. Older rows of
 * hours, which were missed, wait for the latter: the midnights of a year are not read each time.
 */
export async function removeSizes(
  sql: Tx,
  { hours, all }: { hours: { from: Date; until: Date }; all: Date },
  limit: number,
): Promise<number> {
  const { count } = await sql`
    delete from segment_sizes where ctid = any (array(
      select ctid from segment_sizes
      where counted_at < ${all} or (counted_at >= ${hours.from} and counted_at < ${hours.until}
        and counted_at <> date_trunc('day', counted_at, 'UTC'))
      limit ${limit}))`;
  return count;
}
