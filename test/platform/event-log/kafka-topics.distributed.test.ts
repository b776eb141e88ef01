import { pino } from 'pino';
import kafkajs, { type Admin } from 'kafkajs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { MAX_MESSAGE_BYTES } from '../../../src/platform/event-log/kafka-appender.ts';
import { createKafka } from '../../../src/platform/event-log/kafka-client.ts';
import { openKafkaLog } from '../../../src/platform/event-log/kafka-log.ts';
import type { TopicSettings } from '../../../src/platform/event-log/kafka-topics.ts';
import { LogMisconfigured } from '../../../src/platform/event-log/port.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { newId } from '../../../src/platform/ids.ts';
import { until } from '../../engines/until.ts';

const logger = createLogger('silent');
const ONE = { partitions: 3, replication_factor: 1, min_insync_replicas: 1 };
const topic_prefix = `${newId()}.`;
const brokers = () => inject('servers').kafka_brokers;
let admin: Admin;
beforeAll(async () => {
  admin = createKafka({ brokers: brokers(), logger }).admin();
  await admin.connect();
});
afterAll(async () => admin?.disconnect());

/** Starts the log with these settings and returns what it logs; rejects when the start fails. */
async function start(topic: string, topics: TopicSettings): Promise<string> {
  const lines: string[] = [];
  const log = openKafkaLog({
    brokers: brokers(),
    clock: systemClock,
    logger: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
    topic_prefix,
    topics,
  });
  try {
    await log.ensureTopics([topic]);
    return lines.join('');
  } finally {
    await log.close();
  }
}

const refusal = async (topic: string, topics: TopicSettings): Promise<string> => {
  const error: unknown = await start(topic, topics).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(LogMisconfigured);
  return (error as Error).message;
};

/** Sets one setting of a topic. AlterConfigs replaces all settings, so those that a start requires are set again. */
async function setTopic(topic: string, name: string, value: string): Promise<void> {
  const kept = { 'retention.ms': '-1', 'max.message.bytes': String(MAX_MESSAGE_BYTES), [name]: value };
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: `${topic_prefix}${topic}`,
        configEntries: Object.entries(kept).map(([key, text]) => ({ name: key, value: text })),
      },
    ],
  });
  // The broker applies it a moment later.
  await until(async (saw) => {
    const { resources } = saw(
      await admin.describeConfigs({
        includeSynonyms: false,
        resources: [
          { type: kafkajs.ConfigResourceTypes.TOPIC, name: `${topic_prefix}${topic}`, configNames: [name] },
        ],
      }),
    );
    return resources[0]?.configEntries[0]?.configValue === value;
  });
}

test('a topic is created as configured, and left as it is from then on', async () => {
  await start('kept', ONE);
  expect(await start('kept', ONE)).toBe('');
  const { topics } = await admin.fetchTopicMetadata({ topics: [`${topic_prefix}kept`] });
  expect(topics[0]?.partitions).toHaveLength(3);
  expect(topics[0]?.partitions.map(({ replicas }) => replicas.length)).toEqual([1, 1, 1]);
});

test('another number of partitions than configured stops the start; KAFKA_PARTITIONS has to follow added partitions', async () => {
  await start('grown', ONE);
  const fewer = await refusal('grown', { ...ONE, partitions: 4 });
  expect(fewer).toContain(`topic ${topic_prefix}grown: it has 3 partitions, KAFKA_PARTITIONS is 4`);
  expect(fewer).toContain('set KAFKA_PARTITIONS=3');
  await admin.createPartitions({ topicPartitions: [{ topic: `${topic_prefix}grown`, count: 5 }] });
  await until(async (saw) => {
    const { topics } = saw(await admin.fetchTopicMetadata({ topics: [`${topic_prefix}grown`] }));
    return topics[0]?.partitions.length === 5;
  });
  expect(await refusal('grown', ONE)).toContain('it has 5 partitions, KAFKA_PARTITIONS is 3');
  expect(await start('grown', { ...ONE, partitions: 5 })).toBe('');
});

test('fewer replicas than configured stop the start; more are logged as a warning', async () => {
  await start('replicas', ONE);
  const durable = { partitions: 3, replication_factor: 3, min_insync_replicas: 2 };
  const message = await refusal('replicas', durable);
  expect(message).toContain('its replication_factor is 1, KAFKA_REPLICATION_FACTOR is 3');
  expect(message).toContain('its min_insync_replicas is 1, KAFKA_MIN_INSYNC_REPLICAS is 2');
  await setTopic('replicas', 'min.insync.replicas', '2');
  expect(await start('replicas', ONE)).toMatch(/"expected":1,"actual":2.*higher min_insync_replicas/);
});

test('a replication factor above the number of brokers stops the start', async () => {
  const message = await refusal('spread', { ...ONE, replication_factor: 3, min_insync_replicas: 2 });
  expect(message).toMatch(/KAFKA_REPLICATION_FACTOR is 3, and Kafka has 1 brokers/);
  expect(await admin.listTopics()).not.toContain(`${topic_prefix}spread`);
});

test.each([
  ['retention.ms', '604800000', '-1'],
  ['retention.bytes', '1000000', '-1'],
  ['cleanup.policy', 'compact', 'delete'],
  ['cleanup.policy', 'compact,delete', 'delete'],
  ['max.message.bytes', '1048588', String(MAX_MESSAGE_BYTES)],
])('an existing topic with %s=%s stops the start', async (setting, actual, wanted) => {
  const topic = `limited-${newId()}`;
  await start(topic, ONE);
  await setTopic(topic, setting, actual);
  const message = await refusal(topic, ONE);
  expect(message).toContain(`topic ${topic_prefix}${topic}: its ${setting} is ${actual}`);
  expect(message).toContain(
    `kafka-configs --alter --entity-type topics --entity-name ${topic_prefix}${topic} --add-config ${setting}=${wanted}`,
  );
});

test('a topic that was created with the defaults of the broker stops the start; larger messages do not', async () => {
  await admin.createTopics({ topics: [{ topic: `${topic_prefix}by-hand`, numPartitions: 3 }] });
  expect(await refusal('by-hand', ONE)).toMatch(/its retention.ms is 604800000.*its max.message.bytes is/);
  await start('roomy', ONE);
  await setTopic('roomy', 'max.message.bytes', String(2 * MAX_MESSAGE_BYTES));
  expect(await start('roomy', ONE)).toBe('');
});
