import { textArray } from '../postgres/arrays.ts';
import { commitLater } from '../postgres/commits.ts';
import type { Db, Tx } from '../postgres/port.ts';
import { MAX_BATCH_BYTES, type LogRecord, type NewRecord } from './port.ts';

const LOCK_KEY = 7_022_002;

/** Takes the log's advisory lock for this session; false when another session holds it. */
export async function tryLockLog(sql: Tx): Promise<boolean> {
  const [row] = await sql<{ locked: boolean }[]>`select pg_try_advisory_lock(${LOCK_KEY}) as locked`;
  return row?.locked === true;
}

interface TopicRow {
  topic_id: number;
  /** The id of the log that the topic's offsets belong to. */
  log_id: string;
  topic: string;
  partitions: number;
}

/** Every topic with its ids and number of partitions. */
export async function listTopics(sql: Tx): Promise<TopicRow[]> {
  return sql<TopicRow[]>`select topic_id, log_id::text as log_id, topic, partitions from event_log.topics`;
}

/** Creates a topic with this number of partitions; rejects when it exists. */
export async function createTopic(sql: Tx, topic: string, partitions: number): Promise<TopicRow> {
  const [row] = await sql<TopicRow[]>`
    insert into event_log.topics (topic, partitions) values (${topic}, ${partitions})
    returning topic_id, log_id::text as log_id, topic, partitions`;
  if (row === undefined) throw new Error(`topic ${topic} was not created`);
  return row;
}

/** The offset the next record of the partition gets. */
export async function endOffset(sql: Tx, topic_id: number, partition: number): Promise<bigint> {
  const [row] = await sql<{ end: bigint | null }[]>`
    select max(log_offset) + 1 as end from event_log.records where topic_id = ${topic_id} and partition = ${partition}`;
  return row?.end ?? 0n;
}

/** The offset of the first record that the partition has at or after `from`; undefined when it has none. */
export async function firstOffset(
  sql: Tx,
  topic_id: number,
  partition: number,
  from: bigint,
): Promise<bigint | undefined> {
  const [row] = await sql<{ first: bigint | null }[]>`
    select min(log_offset) as first from event_log.records
    where topic_id = ${topic_id} and partition = ${partition} and log_offset >= ${from}`;
  return row?.first ?? undefined;
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

/** JSON text has no raw control characters except white space, so this one can separate values without escapes. */
const SEPARATOR = '\u001e';

function valuesOf(sql: Db, records: readonly NewRecord[]) {
  const values = records.map((record) => record.value);
  // string_to_array turns an empty text into an empty array, not into one empty value.
  return values.every((value) => value === '') || values.some((value) => value.includes(SEPARATOR))
    ? sql`${textArray(values)}::text::text[]`
    : sql`string_to_array(${values.join(SEPARATOR)}, ${SEPARATOR})`;
}

/** The most records of one statement. Sizes are known only after reading, so a batch may take several statements. */
const PAGE_RECORDS = 2_000;

/** A page of records: their number, first and last offset, keys and values in one text each, and their bytes. */
interface Page {
  records: number;
  first: bigint | null;
  last: bigint | null;
  keys: string | null;
  values: string | null;
  bytes: number;
}

/**
 * The first records of `[from, to)`, in order: at most `limit` records and {@link MAX_BATCH_BYTES}, but at least one
 * record if there is any.
 */
export async function readRecords(
  sql: Tx,
  topic_id: number,
  partition: number,
  from: bigint,
  to: bigint,
  limit: number,
): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  for (let next = from, bytes = 0; next < to && records.length < limit;) {
    const wanted = Math.min(PAGE_RECORDS, limit - records.length);
    // octet_length does not need to decompress a value. The first record is returned even if it is too large.
    const [page] = await sql<Page[]>`
      with sized as (
        select max(log_offset) as last, max(bytes) as bytes from (
          select log_offset, octet_length(key) + octet_length(value) as own,
            sum(octet_length(key) + octet_length(value)) over (order by log_offset rows unbounded preceding) as bytes
          from event_log.records
          where topic_id = ${topic_id} and partition = ${partition} and log_offset >= ${next} and log_offset < ${to}
          order by log_offset limit ${wanted}) r
        where bytes <= ${MAX_BATCH_BYTES - bytes} or (${records.length === 0} and bytes = own)
      )
      select count(*)::integer as records, min(log_offset) as first, max(log_offset) as last,
        string_agg(key, ${SEPARATOR}) as keys, string_agg(value, ${SEPARATOR}) as values,
        coalesce((select bytes from sized), 0)::integer as bytes
      from (
        select log_offset, key, value from event_log.records
        where topic_id = ${topic_id} and partition = ${partition} and log_offset >= ${next}
          and log_offset <= (select last from sized)
        order by log_offset) r`;
    if (page === undefined || page.first === null || page.last === null) break;
    const { first, last } = page;
    const whole = recordsOf(page) ?? (await readRows(sql, topic_id, partition, first, last));
    for (const record of whole) records.push(record);
    if (page.records < wanted) break;
    next = last + 1n;
    bytes += page.bytes;
  }
  return records;
}

/**
 * The records of a page; undefined when its texts do not tell where each record begins: an offset is missing, or a key or
 * value has the separator. One text for thousands of records costs half of what thousands of rows do.
 */
function recordsOf({ records, first, last, keys, values }: Page): LogRecord[] | undefined {
  if (first === null || last === null || Number(last - first) + 1 !== records) return undefined;
  const [each_key, each_value] = [keys?.split(SEPARATOR) ?? [], values?.split(SEPARATOR) ?? []];
  if (each_key.length !== records || each_value.length !== records) return undefined;
  return each_value.map((value, i) => ({ offset: first + BigInt(i), key: each_key[i] ?? '', value }));
}

/** The records of `[first, last]`, each in a row. */
async function readRows(
  sql: Tx,
  topic_id: number,
  partition: number,
  first: bigint,
  last: bigint,
): Promise<LogRecord[]> {
  const rows = await sql`
    select log_offset, key, value from event_log.records
    where topic_id = ${topic_id} and partition = ${partition} and log_offset between ${first} and ${last}
    order by log_offset`.values();
  return toRecords(rows);
}

function toRecords(rows: unknown): LogRecord[] {
  return (rows as [bigint, string, string][]).map(([offset, key, value]) => ({ offset, key, value }));
}

/**
 * The records of these keys in `[from, to)`, with those at `from` and at `to - 1` even if they have other keys, in order, and at
 * most {@link MAX_BATCH_BYTES}. Values of other keys are not read.
 */
export async function readRecordsOf(
  sql: Tx,
  topic_id: number,
  partition: number,
  from: bigint,
  to: bigint,
  keys: ReadonlySet<string>,
): Promise<LogRecord[]> {
  // Not a join and not `any`: this is a look-up in a hash table for each record.
  const rows = await sql`
    select log_offset, key, value from (
      select log_offset, key, value,
        sum(octet_length(key) + octet_length(value)) over (order by log_offset rows unbounded preceding) as bytes
      from event_log.records
      where topic_id = ${topic_id} and partition = ${partition} and log_offset >= ${from} and log_offset < ${to}
        and (log_offset = ${from} or log_offset = ${to - 1n}
          or (key in (select unnest(${textArray([...keys])}::text::text[]))) is true)
      order by log_offset) page
    where bytes <= ${MAX_BATCH_BYTES}`.values();
  return toRecords(rows);
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

/** Moves a group's position. The commit is not flushed at once: after a loss, records are only delivered again. */
export async function commitOffset(
  sql: Db,
  group: string,
  topic_id: number,
  partition: number,
  next_offset: bigint,
): Promise<void> {
  await sql.begin(async (tx) => {
    commitLater(tx);
    await tx`
      insert into event_log.group_positions (group_name, topic_id, partition, next_offset)
      values (${group}, ${topic_id}, ${partition}, ${next_offset})
      on conflict (group_name, topic_id, partition) do update set next_offset = excluded.next_offset`;
  });
}
