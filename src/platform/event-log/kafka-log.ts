import type { Admin } from 'kafkajs';
import type { Clock } from '../clock.ts';
import { KafkaAppender } from './kafka-appender.ts';
import { KafkaAdmin, type KafkaConnection } from './kafka-client.ts';
import { KafkaMember } from './kafka-consumer.ts';
import { KafkaIdentity } from './kafka-identity.ts';
import { kafkaPartitionOf } from './kafka-partitioner.ts';
import { readRange } from './kafka-reader.ts';
import { describeTopic, prepareTopics, type TopicSettings } from './kafka-topics.ts';
import type { EventLog } from './port.ts';

export interface KafkaLogOptions extends KafkaConnection {
  clock: Clock;
  /** Prefix of every topic and group name, so that several installations can share a cluster. */
  topic_prefix?: string;
  /** The settings of all topics. Absent: one partition on one broker. */
  topics?: TopicSettings;
  /** A consumer that sends no heartbeat for this long loses its partitions. */
  session_timeout_ms?: number;
}

const SESSION_TIMEOUT_MS = 15_000;
const READ_BATCH = 1_000;
const ONE_OF_EACH: TopicSettings = { partitions: 1, replication_factor: 1, min_insync_replicas: 1 };

/** Opens the event log on a Kafka cluster. Connects on first use, and again after any failure. */
export function openKafkaLog(options: KafkaLogOptions): EventLog {
  const { topic_prefix = '', topics = ONE_OF_EACH, session_timeout_ms = SESSION_TIMEOUT_MS } = options;
  const admin = new KafkaAdmin(options);
  const identity = new KafkaIdentity(options);
  const admins = new Map<string, KafkaAdmin>();
  const appenders = new Map<string, KafkaAppender>();
  const members = new Set<KafkaMember>();
  const nameOf = (name: string) => topic_prefix + name;

  function known(name: string): KafkaAppender {
    const appender = appenders.get(name);
    if (appender === undefined) throw new TypeError(`unknown topic ${name}: call ensureTopics first`);
    return appender;
  }

  /**
   * An admin connection that is used for one topic only. kafkajs keeps only the topics of the last metadata answer: of
   * two concurrent calls for different topics, each may find only the other's topic, and then report no partitions.
   */
  function adminOf(name: string): KafkaAdmin {
    let own = admins.get(name);
    if (own === undefined) admins.set(name, (own = new KafkaAdmin(options)));
    return own;
  }

  function limits(name: string) {
    return adminOf(name).run('return its end offsets', (a) => a.fetchTopicOffsets(nameOf(name)));
  }

  async function endOffsets(name: string): Promise<Map<number, bigint>> {
    return new Map((await limits(name)).map((row) => [row.partition, BigInt(row.high)]));
  }

  function committed(name: string, group: string): Promise<Map<number, bigint>> {
    return adminOf(name).run('return the committed offsets', (a) =>
      committedOffsets(a, nameOf(name), nameOf(group)),
    );
  }

  return {
    async ensureTopics(names) {
      await admin.run('make its topics', async (a) =>
        prepareTopics(a, names.map(nameOf), topics, options.logger),
      );
      for (const name of names) {
        if (appenders.has(name)) continue;
        const topic = nameOf(name);
        const describe = () => admin.run('describe a topic', (a) => describeTopic(a, topic));
        appenders.set(name, new KafkaAppender({ ...options, topic, describe }));
      }
    },
    append: async (name, records) => known(name).append(records),
    async consume(consumer) {
      const topic = nameOf(consumer.topic);
      const member = new KafkaMember({
        ...options,
        topic,
        session_timeout_ms,
        consumer: { ...consumer, group: nameOf(consumer.group) },
        committed: () => committed(consumer.topic, consumer.group),
      });
      await member.open();
      members.add(member);
      return {
        async close(grace_ms) {
          members.delete(member);
          await member.close(grace_ms);
        },
      };
    },
    async describe(name) {
      const [id, rows] = await Promise.all([identity.askIdOf(nameOf(name)), limits(name)]);
      const states = rows.map(({ partition, low, high }) => {
        return [partition, { first: BigInt(low), end: BigInt(high) }] as const;
      });
      return { id, partitions: new Map(states) };
    },
    idOf: (name) => identity.idOf(nameOf(name)),
    partitionOf: kafkaPartitionOf,
    endOffsets,
    async lag(name, group) {
      const next = await committed(name, group);
      const ends = await endOffsets(name);
      return [...ends].map(([partition, end_offset]) => ({
        partition,
        next_offset: next.get(partition) ?? 0n,
        end_offset,
      }));
    },
    async *read(name, partition, from, to, max_records = READ_BATCH) {
      const here = (await limits(name)).find((row) => row.partition === partition);
      const [first, end] = [BigInt(here?.low ?? 0), BigInt(here?.high ?? 0)];
      yield* readRange({
        ...options,
        kafka_topic: nameOf(name),
        topic: name,
        partition,
        from: from < first ? first : from,
        to: to < end ? to : end,
        max_records,
      });
    },
    async ping() {
      await admin.run('answer', async (a) => {
        for (const name of appenders.keys()) await describeTopic(a, nameOf(name));
      });
    },
    async close() {
      await Promise.all([...members].map((member) => member.close()));
      await Promise.all([...appenders.values()].map((appender) => appender.close()));
      await Promise.all([admin, ...admins.values()].map((open) => open.close()));
    },
  };
}

async function committedOffsets(admin: Admin, topic: string, groupId: string): Promise<Map<number, bigint>> {
  const [rows] = await admin.fetchOffsets({ groupId, topics: [topic] });
  const known = new Map((rows?.partitions ?? []).map((row) => [row.partition, BigInt(row.offset)]));
  // An empty answer must not be read as "nothing committed": the group would read everything again.
  if (known.size === 0) throw new Error(`no partition of ${topic} is known`);
  if ([...known.values()].every((offset) => offset >= 0n)) return known;
  // A negative offset means that none is committed: the group then starts at the first offset of the partition.
  const limits = await admin.fetchTopicOffsets(topic);
  return new Map(
    limits.map(({ partition, low }) => {
      const offset = known.get(partition) ?? -1n;
      return [partition, offset >= 0n ? offset : BigInt(low)];
    }),
  );
}
