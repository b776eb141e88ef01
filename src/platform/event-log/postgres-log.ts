import type { Db } from '../postgres/port.ts';
import type { Clock } from '../clock.ts';
import { groupBy } from '../group-by.ts';
import type { Logger } from '../logger.ts';
import { PartitionAppender } from './postgres-appender.ts';
import { startGroupMember, type GroupMember } from './postgres-consumer.ts';
import {
  committedOffset,
  createTopic,
  endOffset,
  firstOffset,
  listTopics,
  readRecords,
  tryLockLog,
} from './postgres-queries.ts';
import { refuseTooLarge } from './record-size.ts';
import { LogUnavailable, type ConsumeOptions, type EventLog, type PartitionState } from './port.ts';

export interface PostgresLogOptions {
  /** A pool that only the log uses: appends must not wait behind the service's queries. */
  sql: Db;
  clock: Clock;
  logger: Logger;
  /** The number of partitions of topics that are created; existing topics keep theirs. Absent: 1. */
  partitions?: number;
}

interface Topic {
  topic_id: number;
  /** No other process can change it while this one has the log. */
  log_id: string;
  partitions: PartitionAppender[];
}

const READ_BATCH = 1_000;

/**
 * Opens the event log kept in `event_log.*` of a migrated Postgres. Only one process may open it, because offsets are
 * assigned in memory and consumers are woken by function calls. A second one is rejected with {@link LogUnavailable}.
 */
export async function openPostgresLog(options: PostgresLogOptions): Promise<EventLog> {
  const { sql, logger } = options;
  // The driver can reserve only a connection that is already open: it loses the request while it opens one.
  await sql`select 1`;
  const lock = await sql.reserve();
  if (!(await tryLockLog(lock))) {
    lock.release();
    throw new LogUnavailable(
      'another process uses this event log: stop it, or give this one a data folder of its own',
    );
  }
  const topics = new Map<string, Topic>();
  const members = new Set<GroupMember>();

  async function openTopic(name: string): Promise<void> {
    const row =
      (await listTopics(sql)).find((topic) => topic.topic === name) ??
      (await createTopic(sql, name, options.partitions ?? 1));
    const partitions = Array.from(
      { length: row.partitions },
      (_, partition) => new PartitionAppender(sql, row.topic_id, partition),
    );
    for (const appender of partitions) await appender.open();
    topics.set(name, { ...row, partitions });
  }

  function topicOf(name: string): Topic {
    const topic = topics.get(name);
    if (topic === undefined) throw new TypeError(`unknown topic ${name}: call ensureTopics first`);
    return topic;
  }

  return {
    async ensureTopics(names) {
      for (const name of names) if (!topics.has(name)) await openTopic(name);
    },
    async append(topicName, records) {
      const { partitions } = topicOf(topicName);
      refuseTooLarge(records);
      const [only] = partitions;
      if (partitions.length === 1 && only !== undefined) return only.append(records);
      const parts = groupBy(records, ({ key }) => partitionOf(key, partitions.length));
      await Promise.all(partitions.map((appender) => appender.append(parts.get(appender.partition) ?? [])));
    },
    async consume(consumer: ConsumeOptions) {
      const { topic_id, partitions } = topicOf(consumer.topic);
      const member = startGroupMember({ ...options, topic_id, partitions, members, consumer });
      return {
        async close(grace_ms) {
          await member.close(grace_ms);
        },
      };
    },
    async describe(topicName, at) {
      const { topic_id, log_id, partitions } = topicOf(topicName);
      const states = await Promise.all(
        partitions.map(async ({ partition, end }): Promise<[number, PartitionState]> => {
          const firstFrom = async (from: bigint) =>
            (await firstOffset(sql, topic_id, partition, from)) ?? end;
          const first = await firstFrom(0n);
          const from = at?.get(partition) ?? end;
          // Records removed before the first one are not a hole: they look the same as records that were handled.
          if (from < first || from >= end) return [partition, { first, end }];
          const to = await firstFrom(from);
          return [partition, { first, end, ...(to > from && { missing: { from, to } }) }];
        }),
      );
      return { id: log_id, partitions: new Map(states) };
    },
    idOf: async (topicName) => topicOf(topicName).log_id,
    partitionOf,
    async endOffsets(topicName) {
      return new Map(topicOf(topicName).partitions.map((appender) => [appender.partition, appender.end]));
    },
    async lag(topicName, group) {
      const { topic_id, partitions } = topicOf(topicName);
      return Promise.all(
        partitions.map(async (appender) => {
          const { partition } = appender;
          const next_offset = await committedOffset(sql, group, topic_id, partition);
          return { partition, next_offset, end_offset: appender.end };
        }),
      );
    },
    async *read(topicName, partition, from, to, max_records = READ_BATCH) {
      const { topic_id } = topicOf(topicName);
      for (let next = from; next < to;) {
        const records = await readRecords(sql, topic_id, partition, next, to, max_records);
        const last = records.at(-1);
        if (last === undefined) return;
        yield { topic: topicName, partition, from: next, records };
        next = last.offset + 1n;
      }
    },
    async ping() {
      await endOffset(sql, 0, 0);
    },
    async close() {
      await Promise.all([...members].map((member) => member.close()));
      for (const topic of topics.values()) for (const appender of topic.partitions) await appender.close();
      lock.release();
      logger.debug('event log closed');
    },
  };
}

/**
 * The partition of a key: 32-bit FNV-1a over its UTF-16 units, modulo `partitions`. All records of a key are in one
 * partition, so they keep their order.
 */
function partitionOf(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) {
    hash ^= key.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return (hash >>> 0) % partitions;
}
