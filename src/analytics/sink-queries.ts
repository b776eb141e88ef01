import type { Tx } from '../platform/postgres/port.ts';

/** Where the sink stands in one partition; `block_end` is set while a block is being inserted. */
export interface SinkPosition {
  partition: number;
  next_offset: bigint;
  block_end: bigint | null;
}

export async function readSinkPositions(sql: Tx, topic: string): Promise<SinkPosition[]> {
  return sql<
    SinkPosition[]
  >`select partition, next_offset, block_end from sink_positions where topic = ${topic}`;
}

/** Records the block `[from, to)` before it is inserted. False when another sink has moved on already. */
export async function openBlock(
  sql: Tx,
  topic: string,
  partition: number,
  from: bigint,
  to: bigint,
): Promise<boolean> {
  const written = await sql`
    insert into sink_positions as s (topic, partition, next_offset, block_end)
    values (${topic}, ${partition}, ${from}, ${to})
    on conflict (topic, partition) do update set next_offset = excluded.next_offset, block_end = excluded.block_end
      where s.block_end is null and s.next_offset <= excluded.next_offset`;
  return written.count === 1;
}

/** Records that everything below `to` is in ClickHouse. */
export async function closeBlock(sql: Tx, topic: string, partition: number, to: bigint): Promise<void> {
  await sql`
    update sink_positions set next_offset = ${to}, block_end = null
    where topic = ${topic} and partition = ${partition} and block_end = ${to}`;
}
