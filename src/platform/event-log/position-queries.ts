import { plainArray } from '../postgres/arrays.ts';
import type { Db, Tx } from '../postgres/port.ts';
import { rowsOf } from '../postgres/rows.ts';
import type { TopicState } from './port.ts';
import { GROUPS, TOPICS } from './topics.ts';

/** A consumer that keeps its positions in Postgres, in the transactions of its work. */
export interface OffsetStore {
  group: string;
  topic: string;
  table: 'fold_positions' | 'sink_positions';
}

/** The consumers that keep their positions in Postgres. */
export const OFFSET_STORES = {
  fold: { group: GROUPS.fold, topic: TOPICS.events, table: 'fold_positions' },
  sink: { group: GROUPS.sink, topic: TOPICS.playerEvents, table: 'sink_positions' },
} as const satisfies Record<string, OffsetStore>;

/** What Postgres knows of a consumer's positions. */
export interface StoredPositions {
  /** The id of the log that they point into; undefined until the consumer has first used one. */
  log_id: string | undefined;
  /** Since when they do; it changes whenever an operator decides anew. */
  since: string | undefined;
  /** Partition → the next offset to handle. */
  next_offsets: Map<number, bigint>;
  /** Partition → the offset up to which everything was emitted, at most `next_offsets`. For the sink they are equal. */
  emitted_offsets: Map<number, bigint>;
  /**
   * Partition → the offset up to which records may have been handled: `next_offsets`, and for the sink the end of the open
   * block.
   */
  max_touched_offsets: Map<number, bigint>;
  /** The id of each log that they did not fit → partition → what was found when that was first seen. */
  refusals: Map<string, Map<number, RefusedPartition>>;
}

/**
 * A partition of a log that was refused. It did not have all records that were handled when `max_touched_offset` is beyond
 * `end`.
 */
export interface RefusedPartition {
  end: bigint;
  /** What {@link StoredPositions} had for the partition before the log was asked for its ends. */
  max_touched_offset: bigint;
}

/** Reads a consumer's positions and the log that they point into, as they are at one moment. */
export async function readPositions(sql: Tx, { group, topic, table }: OffsetStore): Promise<StoredPositions> {
  const is_fold = table === 'fold_positions';
  const emitted = is_fold ? sql`coalesce(emitted_offset, 0)` : sql`next_offset`;
  const max_touched = is_fold ? sql`next_offset` : sql`greatest(next_offset, block_end)`;
  // One statement: what an operator decides between two would make positions of one log pass for those of another.
  const rows = await sql<(LogRow | PositionRow | RefusalRow)[]>`
    select 'log' as kind, log_id, since::text as since, null::integer as partition, null::bigint as at,
      null::bigint as emitted_offset, null::bigint as max_touched_offset
    from consumed_logs where group_name = ${group} and topic = ${topic}
    union all
    select 'position', null, null, partition, next_offset, ${emitted}, ${max_touched} from ${sql(table)} where topic = ${topic}
    union all
    select 'refusal', log_id, null, partition, end_offset, null, handled_offset
    from position_refusals where group_name = ${group} and topic = ${topic}`;
  const stored: StoredPositions = {
    log_id: undefined,
    since: undefined,
    next_offsets: new Map(),
    emitted_offsets: new Map(),
    max_touched_offsets: new Map(),
    refusals: new Map(),
  };
  const refused: RefusalRow[] = [];
  for (const row of rows) {
    if (row.kind === 'log') {
      stored.log_id = row.log_id;
      stored.since = row.since;
    } else if (row.kind === 'position') {
      stored.next_offsets.set(row.partition, row.at);
      stored.emitted_offsets.set(row.partition, row.emitted_offset);
      stored.max_touched_offsets.set(row.partition, row.max_touched_offset);
    } else refused.push(row);
  }
  for (const { log_id, partition, at: end, max_touched_offset } of refused) {
    const partitions = stored.refusals.get(log_id) ?? new Map<number, RefusedPartition>();
    stored.refusals.set(log_id, partitions.set(partition, { end, max_touched_offset }));
  }
  return stored;
}

interface LogRow {
  kind: 'log';
  log_id: string;
  since: string;
}

interface PositionRow {
  kind: 'position';
  partition: number;
  at: bigint;
  emitted_offset: bigint;
  max_touched_offset: bigint;
}

interface RefusalRow {
  kind: 'refusal';
  log_id: string;
  partition: number;
  at: bigint;
  max_touched_offset: bigint;
}

/**
 * Records that the positions do not fit this log, with its ends and with the positions, which were read before the log was
 * described: partitions in which nothing is missing are consumed until the consumer is stopped. The first record stays. It
 * does nothing when an operator has decided since the positions were read.
 */
export async function recordRefusal(
  sql: Tx,
  { group, topic }: OffsetStore,
  log: TopicState,
  { since, max_touched_offsets }: StoredPositions,
): Promise<void> {
  await sql`
    with known as materialized (
      select since::text as since from consumed_logs where group_name = ${group} and topic = ${topic} for share
    )
    insert into position_refusals (group_name, topic, log_id, partition, end_offset, handled_offset)
    select ${group}, ${topic}, ${log.id}, r.partition, r.end_offset, r.handled_offset
    from ${rowsOf(sql, 'r', [...log.partitions], {
      partition: ['integer', ([partition]) => partition],
      end_offset: ['bigint', ([, { end }]) => end],
      handled_offset: ['bigint', ([partition]) => max_touched_offsets.get(partition) ?? 0n],
    })}
    where (select since from known) is not distinct from ${since ?? null}::text
      and not exists (select from position_refusals
        where group_name = ${group} and topic = ${topic} and log_id = ${log.id})
    on conflict do nothing`;
}

async function forgetRefusals(tx: Tx, { group, topic }: OffsetStore): Promise<void> {
  await tx`delete from position_refusals where group_name = ${group} and topic = ${topic}`;
}

/**
 * Records which log a consumer's positions point into, when that is not known yet. With positions of none of its
 * partitions (`is_new`) those whose first records were removed get one; all of it or nothing.
 */
export async function takeLog(
  sql: Db,
  store: OffsetStore,
  log: TopicState,
  { is_new }: { is_new: boolean },
): Promise<void> {
  const { group, topic } = store;
  await sql.begin(async (tx) => {
    if (is_new) await insertStarts(tx, store, log);
    await tx`
      insert into consumed_logs (group_name, topic, log_id) values (${group}, ${topic}, ${log.id})
      on conflict do nothing`;
  });
}

/** Gives the partitions that have no position one at their first record. */
async function insertStarts(
  tx: Tx,
  { topic, table }: OffsetStore,
  { partitions }: TopicState,
): Promise<void> {
  await tx`
    insert into ${tx(table)} (topic, partition, next_offset)
    select ${topic}, s.partition, s.first
    from ${rowsOf(tx, 's', [...partitions], {
      partition: ['integer', ([partition]) => partition],
      first: ['bigint', ([, { first }]) => first],
    })}
    on conflict do nothing`;
}

async function setLog(tx: Tx, { group, topic }: OffsetStore, log_id: string): Promise<void> {
  await tx`
    insert into consumed_logs (group_name, topic, log_id) values (${group}, ${topic}, ${log_id})
    on conflict (group_name, topic) do update set log_id = excluded.log_id, since = now()`;
}

/** Records that the positions, and the places of events that wait for the sink, are those of this log. */
async function moveToLog(tx: Tx, store: OffsetStore, log_id: string): Promise<void> {
  const { log_id: earlier } = await readPositions(tx, store);
  await setLog(tx, store, log_id);
  if (store.table !== 'sink_positions') return;
  await tx`
    update trigger_events set log_id = ${log_id}
    where decided_at is null and (log_id is null or log_id = ${earlier ?? null}::text) and log_id is distinct from ${log_id}`;
}

/**
 * Lets events that wait until the sink has passed their place (`src/engage/triggers`) wait no more when this log does not
 * have that place: they were read in another log, in a partition that is missing, or beyond the end of a partition that had
 * lost records when the log was refused.
 */
async function freeTriggerEvents(
  tx: Tx,
  { id, partitions }: TopicState,
  lost: ReadonlyMap<number, bigint>,
): Promise<void> {
  const present = [...partitions.keys()];
  const { group, topic } = OFFSET_STORES.sink;
  await tx`
    update trigger_events e set log_offset = -1, log_id = null,
      partition = case when e.partition = any(${plainArray(present)}::text::integer[])
        then e.partition else ${Math.min(...present)} end
    where e.decided_at is null and (
      e.log_id is distinct from ${id} or e.partition <> all(${plainArray(present)}::text::integer[])
      or exists (select from position_refusals r
        where r.group_name = ${group} and r.topic = ${topic} and r.log_id = ${id} and r.partition = e.partition
          and r.partition = any(${plainArray([...lost.keys()])}::text::integer[])
          and r.end_offset <= e.log_offset and r.refused_at > e.recorded_at))`;
}

/**
 * Keeps the positions for the log as it is now; `stored` are the positions as they were before it was described. Positions
 * outside of a partition move to its first record or to its end, and to the end that it had when it was first refused: the
 * records after it are others than those that were handled. Where the log lacks records they move behind these, and so
 * does what counts as emitted; a later hole is refused again. Partitions that had every handled record keep theirs, however
 * far they have come since. An open block of the sink ends where its position moves.
 */
export async function adoptLog(
  sql: Db,
  store: OffsetStore,
  log: TopicState,
  stored: StoredPositions,
): Promise<void> {
  const { topic, table } = store;
  await sql.begin(async (tx) => {
    await moveToLog(tx, store, log.id);
    const { since } = await readPositions(tx, store);
    await recordRefusal(tx, store, log, { ...stored, since });
    const { refusals } = await readPositions(tx, store);
    const lost = endsOfLost(log, stored, refusals.get(log.id));
    if (table === 'sink_positions') await freeTriggerEvents(tx, log, lost);
    for (const [partition, { first, missing }] of log.partitions) {
      const end = lost.get(partition) ?? null;
      const from = missing?.to ?? first;
      const next = tx`greatest(${from}::bigint, least(next_offset, ${end}::bigint))`;
      const others =
        table === 'fold_positions'
          ? tx`emitted_offset = greatest(least(emitted_offset, ${next}), ${missing?.to ?? null}::bigint)`
          : tx`block_end = null, block_token = null`;
      await tx`
        update ${tx(table)} set next_offset = ${next}, ${others}
        where topic = ${topic} and partition = ${partition}
          and (next_offset < ${first} or next_offset > ${end}::bigint or ${missing !== undefined}
          ${table === 'sink_positions' ? tx`or block_end > ${end}::bigint` : tx``})`;
    }
    await tx`
      delete from ${tx(table)}
      where topic = ${topic} and partition <> all(${plainArray([...log.partitions.keys()])}::text::integer[])`;
    await insertStarts(tx, store, log);
    await forgetRefusals(tx, store);
  });
}

/** The partitions that did not have all records that were handled → the lowest end that they were seen with. */
function endsOfLost(
  { partitions }: TopicState,
  { max_touched_offsets }: StoredPositions,
  refused: ReadonlyMap<number, RefusedPartition> = new Map(),
): Map<number, bigint> {
  const lost = new Map<number, bigint>();
  for (const [partition, { end }] of partitions) {
    const then = refused.get(partition);
    const is_lost =
      (then !== undefined && then.max_touched_offset > then.end) ||
      (max_touched_offsets.get(partition) ?? 0n) > end;
    if (is_lost) lost.set(partition, then !== undefined && then.end < end ? then.end : end);
  }
  return lost;
}

/** Keeps the positions as they are for the log as it is now: it was refused, and has all of its records again. */
export async function resumeLog(sql: Db, store: OffsetStore, log: TopicState): Promise<void> {
  await sql.begin(async (tx) => {
    await moveToLog(tx, store, log.id);
    await forgetRefusals(tx, store);
  });
}

/** Forgets the positions: the consumer starts at the first records of the log as it is now. */
export async function restartLog(sql: Db, store: OffsetStore, log: TopicState): Promise<void> {
  await sql.begin(async (tx) => {
    await setLog(tx, store, log.id);
    if (store.table === 'sink_positions') await freeTriggerEvents(tx, log, new Map());
    await forgetRefusals(tx, store);
    await tx`delete from ${tx(store.table)} where topic = ${store.topic}`;
    await insertStarts(tx, store, log);
  });
}
