import type { Db, Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';

/** The sink's position in one partition; `block_token` is set while a block with a range of it is open. */
export interface SinkPosition {
  partition: number;
  next_offset: bigint;
  block_token: string | null;
}

/** A part of a block: the records `[from, to)` of one partition. */
export interface SinkRange {
  partition: number;
  from: bigint;
  to: bigint;
}

export async function readSinkPositions(sql: Tx, topic: string): Promise<SinkPosition[]> {
  return sql<
    SinkPosition[]
  >`select partition, next_offset, block_token from sink_positions where topic = ${topic}`;
}

/** The ranges of an open block in the order of their partitions; none when the block was closed. */
export async function readBlock(sql: Tx, topic: string, token: string): Promise<SinkRange[]> {
  return sql<SinkRange[]>`
    select partition, next_offset as "from", block_end as "to" from sink_positions
    where topic = ${topic} and block_token = ${token}
    order by partition`;
}

/**
 * Records a block before it is inserted: all of its ranges or none. False when a partition is in another open block, or
 * its position is not the start of its range.
 */
export async function openBlock(
  sql: Db,
  topic: string,
  token: string,
  ranges: readonly SinkRange[],
): Promise<boolean> {
  return sql
    .begin(async (tx) => {
      // In the order of the partitions, so that two sinks that open blocks with the same partitions do not deadlock.
      const written = await tx`
        insert into sink_positions as s (topic, partition, next_offset, block_end, block_token)
        select ${topic}, r.partition, r.from_offset, r.to_offset, ${token}
        from ${rowsOf(tx, 'r', ranges, {
          partition: 'integer',
          from_offset: ['bigint', (r) => r.from],
          to_offset: ['bigint', (r) => r.to],
        })}
        order by r.partition
        on conflict (topic, partition) do update set next_offset = excluded.next_offset,
          block_end = excluded.block_end, block_token = excluded.block_token
          where s.block_token is null and s.next_offset = excluded.next_offset`;
      if (written.count !== ranges.length) throw new BlockTaken();
      return true;
    })
    .catch((error: unknown) => {
      if (error instanceof BlockTaken) return false;
      throw error;
    });
}

/** Rolls back a block that could be recorded only in part. */
class BlockTaken extends Error {}

/** Gives up a block whose records the log lacks in part: its positions stay where it began. Idempotent. */
export async function giveUpBlock(sql: Tx, topic: string, token: string): Promise<void> {
  await sql`
    update sink_positions set block_end = null, block_token = null where topic = ${topic} and block_token = ${token}`;
}

/** Records that the block is in ClickHouse. Idempotent. */
export async function closeBlock(sql: Tx, topic: string, token: string): Promise<void> {
  await sql`
    update sink_positions set next_offset = block_end, block_end = null, block_token = null
    where topic = ${topic} and block_token = ${token}`;
}
