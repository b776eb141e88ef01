import type { Tx } from '../../platform/postgres/port.ts';

/** Up to where the records of a partition are counted. */
export interface CountedTo {
  topic: string;
  partition: number;
  log_id: string;
  next_offset: bigint;
}

/** The positions of a topic in this log, by partition. */
export async function selectPositions(sql: Tx, topic: string, log_id: string): Promise<Map<number, bigint>> {
  const rows = await sql<{ partition: number; next_offset: bigint }[]>`
    select partition, next_offset from wagering_positions where topic = ${topic} and log_id = ${log_id}`;
  return new Map(rows.map(({ partition, next_offset }) => [partition, next_offset]));
}

/** Stores a position. An earlier one is right, too: records that are counted again change nothing. */
export async function savePosition(
  sql: Tx,
  { topic, partition, log_id, next_offset }: CountedTo,
): Promise<void> {
  await sql`
    insert into wagering_positions (topic, partition, log_id, next_offset)
    values (${topic}, ${partition}, ${log_id}, ${String(next_offset)}::text::bigint)
    on conflict (topic, partition) do update set log_id = excluded.log_id, next_offset = excluded.next_offset`;
}
