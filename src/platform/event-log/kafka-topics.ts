import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin, type PartitionMetadata } from 'kafkajs';
import type { Logger } from '../logger.ts';
import { MAX_MESSAGE_BYTES } from './kafka-appender.ts';
import { misconfigurationOf } from './kafka-refusal.ts';
import { LogMisconfigured } from './port.ts';

const LEADER_CHECK_MS = 100;
const MIN_INSYNC = 'min.insync.replicas';

/** The settings of every topic in addition to {@link TopicSettings}: `wanted` when it is created, `isEnough` at every start. */
const FIXED: Record<string, { wanted: string; isEnough: (actual: string) => boolean; reason: string }> = {
  'retention.ms': {
    wanted: '-1',
    isEnough: (actual) => actual === '-1',
    reason: 'Kafka would delete records that a consumer has not read yet, or that a repair needs',
  },
  'retention.bytes': {
    wanted: '-1',
    isEnough: (actual) => actual === '-1',
    reason: 'Kafka would delete records that a consumer has not read yet, or that a repair needs',
  },
  'cleanup.policy': {
    wanted: 'delete',
    isEnough: (actual) => !actual.includes('compact'),
    reason: 'Kafka would delete all but the last record of each player',
  },
  'max.message.bytes': {
    wanted: String(MAX_MESSAGE_BYTES),
    isEnough: (actual) => Number(actual) >= MAX_MESSAGE_BYTES,
    reason: 'Kafka would refuse large records',
  },
};

/** The settings with which topics are created, and which every existing topic must have. */
export interface TopicSettings {
  partitions: number;
  replication_factor: number;
  min_insync_replicas: number;
}

/**
 * Creates the missing topics, and compares every topic with the settings. Rejects with LogMisconfigured, which names
 * topic, setting, expected and actual value. This happens when a topic has another number of partitions than configured
 * (a key's records would be in two partitions, out of order), a lower replication factor or min.insync.replicas, or when
 * it does not keep its records for ever or does not take the largest ones. For a higher replication factor or
 * min.insync.replicas it only logs a warning.
 */
export async function prepareTopics(
  admin: Admin,
  topics: readonly string[],
  settings: TopicSettings,
  logger: Logger,
): Promise<void> {
  const existing = new Set(await admin.listTopics());
  const missing = topics.filter((topic) => !existing.has(topic));
  if (missing.length > 0) await createTopics(admin, missing, settings);
  for (const topic of topics) await leadersOf(admin, topic);
  for (const topic of topics) compare(topic, settings, await actualSettings(admin, topic), logger);
}

/** The partitions of a topic; throws while one of them has no leader. */
export async function describeTopic(admin: Admin, topic: string): Promise<PartitionMetadata[]> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const partitions = topics[0]?.partitions ?? [];
  if (partitions.length === 0 || partitions.some(({ leader }) => leader < 0)) {
    throw new Error(`topic ${topic} has a partition without a leader`);
  }
  return partitions;
}

/** Creates the topics. Their records are kept forever, because ClickHouse can be rebuilt from the log. */
async function createTopics(admin: Admin, topics: readonly string[], settings: TopicSettings): Promise<void> {
  const { partitions, replication_factor, min_insync_replicas } = settings;
  const { brokers } = await admin.describeCluster();
  if (brokers.length < replication_factor) {
    throw new LogMisconfigured(
      `topic ${topics[0]} cannot be made: KAFKA_REPLICATION_FACTOR is ${replication_factor}, and Kafka has ` +
        `${brokers.length} brokers: start more of them, or lower the setting`,
    );
  }
  const configEntries = [
    { name: MIN_INSYNC, value: String(min_insync_replicas) },
    ...Object.entries(FIXED).map(([name, { wanted }]) => ({ name, value: wanted })),
  ];
  for (const topic of topics) {
    const replicationFactor = replication_factor;
    const wanted = { topic, numPartitions: partitions, replicationFactor, configEntries };
    // Resolves with false when another process has created the topic.
    await admin.createTopics({ topics: [wanted], waitForLeaders: false });
  }
}

/**
 * Waits until every partition has a leader, for at most 100 attempts; the caller has a deadline, too. Rejects with
 * LogMisconfigured at once when the settings are why the topic cannot be described.
 */
async function leadersOf(admin: Admin, topic: string): Promise<void> {
  for (let attempt = 1; attempt <= 100; attempt++) {
    try {
      await describeTopic(admin, topic);
      return;
    } catch (error) {
      const misconfigured = misconfigurationOf(error);
      if (misconfigured !== undefined) throw misconfigured;
      await sleep(LEADER_CHECK_MS);
    }
  }
}

interface ActualSettings extends TopicSettings {
  /** The values of the settings in {@link FIXED}, by name. */
  fixed: ReadonlyMap<string, string>;
}

async function actualSettings(admin: Admin, topic: string): Promise<ActualSettings> {
  const partitions = await describeTopic(admin, topic);
  const names = [MIN_INSYNC, ...Object.keys(FIXED)];
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: names }],
  });
  const entries = resources[0]?.configEntries ?? [];
  const values = new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
  for (const name of names) {
    if (!values.has(name)) throw new Error(`Kafka does not return ${name} of ${topic}`);
  }
  return {
    partitions: partitions.length,
    replication_factor: Math.min(...partitions.map(({ replicas }) => replicas.length)),
    min_insync_replicas: Number(values.get(MIN_INSYNC)),
    fixed: values,
  };
}

function compare(topic: string, expected: TopicSettings, actual: ActualSettings, logger: Logger): void {
  const problems: string[] = [];
  if (actual.partitions !== expected.partitions) {
    problems.push(
      `it has ${actual.partitions} partitions, KAFKA_PARTITIONS is ${expected.partitions}: set ` +
        `KAFKA_PARTITIONS=${actual.partitions} in every process; to have more partitions, stop them all first, as ` +
        'docs/kafka.md says',
    );
  }
  for (const [field, variable, remedy] of [
    ['replication_factor', 'KAFKA_REPLICATION_FACTOR', 'kafka-reassign-partitions'],
    ['min_insync_replicas', 'KAFKA_MIN_INSYNC_REPLICAS', `kafka-configs --add-config ${MIN_INSYNC}=…`],
  ] as const) {
    if (actual[field] < expected[field]) {
      problems.push(
        `its ${field} is ${actual[field]}, ${variable} is ${expected[field]}: raise it with ${remedy}, or set ` +
          `${variable}=${actual[field]}`,
      );
    } else if (actual[field] > expected[field]) {
      const fields = { topic, expected: expected[field], actual: actual[field] };
      logger.warn(
        fields,
        `a topic has a higher ${field} than ${variable}: set the variable to the actual value`,
      );
    }
  }
  problems.push(...wrongFixed(topic, actual.fixed));
  if (problems.length > 0) throw new LogMisconfigured(`Kafka topic ${topic}: ${problems.join('; ')}`);
}

function wrongFixed(topic: string, actual: ReadonlyMap<string, string>): string[] {
  return Object.entries(FIXED).flatMap(([name, { wanted, isEnough, reason }]) => {
    const value = actual.get(name) ?? '';
    if (isEnough(value)) return [];
    const command = `kafka-configs --alter --entity-type topics --entity-name ${topic} --add-config ${name}=${wanted}`;
    return [`its ${name} is ${value}, and must be ${wanted} (${reason}): change it with ${command}`];
  });
}
