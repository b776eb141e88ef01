import type { Db, Tx } from '../postgres/port.ts';
import { textArray } from '../postgres/arrays.ts';
import type { LogRecord, NewRecord } from './port.ts';

const LOCK_KEY = 7_022_002;

/** Takes the log for this session; false when another session has it. */
export async function tryLockLog(sql: Tx): Promise<boolean> {
  const [row] = await sql<{ locked: boolean }[]>`select pg_try_advisory_lock(${LOCK_KEY}) as locked`;
  return row?.locked === true;
}

interface TopicRow {
  topic_id: number;
  topic: string;
  partitions: number;
}

export async function listTopics(sql: Tx): Promise<TopicRow[]> {
  return sql<TopicRow[]>`select topic_id, topic, partitions from event_log.topics`;
}

export async function createTopic(sql: Tx, topic: string, partitions: number): Promise<TopicRow> {
  const [row] = await sql<TopicRow[]>`
    insert into event_log.topics (topic, partitions) values (${topic}, ${partitions})
    returning topic_id, topic, partitions`;
  if (row === undefined) throw new Error(`topic ${topic} was not created`);
  return row;
}

/** The offset the next record of the partition gets. */
export async function endOffset(sql: Tx, topic_id: number, partition: number): Promise<bigint> {
  const [row] = await sql<{ end: bigint | null }[]>`
    select max(log_offset) + 1 as end from event_log.records where topic_id = ${topic_id} and partition = ${partition}`;
  return row?.end ?? 0n;
}

/** Inserts consecutive records from `first` on, in one statement. */
export async function insertRecords(
  sql: Db,
  topic_id: number,
  partition: number,
  first: bigint,
  records: readonly NewRecord[],
): Promise<void> {
  const keys = textArray(records.map((record) => record.key));
  await sql`
    insert into event_log.records (topic_id, partition, log_offset, key, value)
    select ${topic_id}, ${partition}, ${first}::bigint + ordinality - 1, key, value
    from unnest(${keys}::text::text[], ${valuesOf(sql, records)}) with ordinality as r (key, value, ordinality)`;
}

/** JSON text has no raw control characters but white space, so this one separates values without escapes. */
const SEPARATOR = '\u001e';

function valuesOf(sql: Db, records: readonly NewRecord[]) {
  const values = records.map((record) => record.value);
  return values.some((value) => value.includes(SEPARATOR))
    ? sql`${textArray(values)}::text::text[]`
    : sql`string_to_array(${values.join(SEPARATOR)}, ${SEPARATOR})`;
}

/** Up to `limit` records of `[from, to)`, in order. */
export async function readRecords(
  sql: Tx,
  topic_id: number,
  partition: number,
  from: bigint,
  to: bigint,
  limit: number,
): Promise<LogRecord[]> {
  const rows = await sql`
    select log_offset, key, value from event_log.records
    where topic_id = ${topic_id} and partition = ${partition} and log_offset >= ${from} and log_offset < ${to}
    order by log_offset limit ${limit}`.values();
  return (rows as unknown as [bigint, string, string][]).map(([offset, key, value]) => ({
    offset,
    key,
    value,
  }));
}

/** The next offset a group reads; 0 for a new group. */
export async function committedOffset(
  sql: Tx,
  group: string,
  topic_id: number,
  partition: number,
): Promise<bigint> {
  const [row] = await sql<{ next_offset: bigint }[]>`
    select next_offset from event_log.group_positions
    where group_name = ${group} and topic_id = ${topic_id} and partition = ${partition}`;
  return row?.next_offset ?? 0n;
}

/** Moves a group's position. Not flushed to disk at once: losing it only means that records come again. */
export async function commitOffset(
  sql: Db,
  group: string,
  topic_id: number,
  partition: number,
  next_offset: bigint,
): Promise<void> {
  await sql.begin(async (tx) => {
    void tx`set local synchronous_commit = off`.execute();
    await tx`
      insert into event_log.group_positions (group_name, topic_id, partition, next_offset)
      values (${group}, ${topic_id}, ${partition}, ${next_offset})
      on conflict (group_name, topic_id, partition) do update set next_offset = excluded.next_offset`;
  });
}
