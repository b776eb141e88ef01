import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin, type PartitionMetadata } from 'kafkajs';
import type { Logger } from '../logger.ts';
import { MAX_MESSAGE_BYTES } from './kafka-appender.ts';
import { LogMisconfigured } from './port.ts';

const LEADER_CHECK_MS = 100;
const MIN_INSYNC = 'min.insync.replicas';

/** The settings with which topics are created, and which every existing topic must have. */
export interface TopicSettings {
  partitions: number;
  replication_factor: number;
  min_insync_replicas: number;
}

/**
 * Creates the missing topics, and compares every topic with the settings. Rejects with LogMisconfigured, which names
 * topic, setting, expected and actual value. This happens when a topic has another number of partitions than configured
 * (a key's records would be in two partitions, out of order), or a lower replication factor or min.insync.replicas. For
 * higher values of these two it only logs a warning.
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
    { name: 'retention.ms', value: '-1' },
    { name: 'retention.bytes', value: '-1' },
    { name: 'cleanup.policy', value: 'delete' },
    { name: MIN_INSYNC, value: String(min_insync_replicas) },
    { name: 'max.message.bytes', value: String(MAX_MESSAGE_BYTES) },
  ];
  for (const topic of topics) {
    const replicationFactor = replication_factor;
    const wanted = { topic, numPartitions: partitions, replicationFactor, configEntries };
    // Resolves with false when another process has created the topic.
    await admin.createTopics({ topics: [wanted], waitForLeaders: false });
  }
}

/** Waits until every partition has a leader, for at most 100 attempts; the caller has a deadline, too. */
async function leadersOf(admin: Admin, topic: string): Promise<void> {
  for (let attempt = 1; attempt <= 100; attempt++) {
    try {
      await describeTopic(admin, topic);
      return;
    } catch {
      await sleep(LEADER_CHECK_MS);
    }
  }
}

async function actualSettings(admin: Admin, topic: string): Promise<TopicSettings> {
  const partitions = await describeTopic(admin, topic);
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: [MIN_INSYNC] }],
  });
  const entry = resources[0]?.configEntries.find(({ configName }) => configName === MIN_INSYNC);
  if (entry === undefined) throw new Error(`Kafka does not return ${MIN_INSYNC} of ${topic}`);
  return {
    partitions: partitions.length,
    replication_factor: Math.min(...partitions.map(({ replicas }) => replicas.length)),
    min_insync_replicas: Number(entry.configValue),
  };
}

function compare(topic: string, expected: TopicSettings, actual: TopicSettings, logger: Logger): void {
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
  if (problems.length > 0) throw new LogMisconfigured(`Kafka topic ${topic}: ${problems.join('; ')}`);
}
