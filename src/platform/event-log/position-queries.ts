import type { Db, Tx } from '../postgres/port.ts';
import type { TopicState } from './port.ts';
import { GROUPS, TOPICS } from './topics.ts';

/** A consumer that keeps its positions in Postgres, in the transactions of its work. */
export interface PositionOwner {
  group: string;
  topic: string;
  table: 'fold_positions' | 'sink_positions';
}

/** The consumers that keep their positions in Postgres. */
export const OWNERS = {
  fold: { group: GROUPS.fold, topic: TOPICS.events, table: 'fold_positions' },
  sink: { group: GROUPS.sink, topic: TOPICS.playerEvents, table: 'sink_positions' },
} as const satisfies Record<string, PositionOwner>;

/** What Postgres knows of a consumer's positions. */
export interface StoredPositions {
  /** The id of the log that they point into; undefined until the consumer has first used one. */
  log_id: string | undefined;
  /** Partition → the next offset to handle. */
  next: Map<number, bigint>;
  /** Partition → the offset up to which everything was emitted, at most `next`. Only the fold has others than `next`. */
  done: Map<number, bigint>;
}

/** Reads a consumer's positions and the log that they point into. */
export async function readPositions(
  sql: Tx,
  { group, topic, table }: PositionOwner,
): Promise<StoredPositions> {
  const done = table === 'fold_positions' ? sql`coalesce(emitted_offset, 0)` : sql`next_offset`;
  const [[log], rows] = await Promise.all([
    sql<{ log_id: string }[]>`
      select log_id from consumed_logs where group_name = ${group} and topic = ${topic}`,
    sql<{ partition: number; next_offset: bigint; done: bigint }[]>`
      select partition, next_offset, ${done} as done from ${sql(table)} where topic = ${topic}`,
  ]);
  return {
    log_id: log?.log_id,
    next: new Map(rows.map((row) => [row.partition, row.next_offset])),
    done: new Map(rows.map((row) => [row.partition, row.done])),
  };
}

/** Records which log a consumer's positions point into, when that is not known yet. */
export async function takeLog(sql: Tx, { group, topic }: PositionOwner, log_id: string): Promise<void> {
  await sql`
    insert into consumed_logs (group_name, topic, log_id) values (${group}, ${topic}, ${log_id})
    on conflict do nothing`;
}

/** Records that the partition starts at this offset, when it has no position: its first records were removed. */
export async function takeStart(
  sql: Tx,
  { topic, table }: PositionOwner,
  partition: number,
  first: bigint,
): Promise<void> {
  await sql`
    insert into ${sql(table)} (topic, partition, next_offset) values (${topic}, ${partition}, ${first})
    on conflict do nothing`;
}

async function setLog(tx: Tx, { group, topic }: PositionOwner, log_id: string): Promise<void> {
  await tx`
    insert into consumed_logs (group_name, topic, log_id) values (${group}, ${topic}, ${log_id})
    on conflict (group_name, topic) do update set log_id = excluded.log_id, since = now()`;
}

/**
 * Keeps the positions for the log as it is now: positions outside of a partition move to its first record or to its end.
 * An open block of the sink ends where its position moves.
 */
export async function adoptLog(sql: Db, owner: PositionOwner, log: TopicState): Promise<void> {
  const { topic, table } = owner;
  await sql.begin(async (tx) => {
    await setLog(tx, owner, log.id);
    for (const [partition, { first, end }] of log.partitions) {
      const others =
        table === 'fold_positions'
          ? tx`emitted_offset = least(emitted_offset, greatest(${first}::bigint, least(next_offset, ${end}::bigint)))`
          : tx`block_end = null, block_token = null`;
      await tx`
        update ${tx(table)} set next_offset = greatest(${first}::bigint, least(next_offset, ${end}::bigint)), ${others}
        where topic = ${topic} and partition = ${partition} and (next_offset < ${first} or next_offset > ${end}
          ${table === 'sink_positions' ? tx`or block_end > ${end}` : tx``})`;
    }
  });
}

/**
 * Forgets the positions: the consumer starts at the first records of the log as it is now. Events that wait until the sink
 * has passed their place in the other log (`src/engage/triggers`) do not wait for it any more.
 */
export async function restartLog(sql: Db, owner: PositionOwner, log: TopicState): Promise<void> {
  await sql.begin(async (tx) => {
    await setLog(tx, owner, log.id);
    await tx`delete from ${tx(owner.table)} where topic = ${owner.topic}`;
    if (owner.table === 'sink_positions')
      await tx`update trigger_events set log_offset = -1 where decided_at is null`;
  });
}
