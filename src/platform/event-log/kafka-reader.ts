import { setTimeout as sleep } from 'node:timers/promises';
import type Cluster from 'kafkajs/src/cluster/index.js';
import Batch from 'kafkajs/src/consumer/batch.js';
import { withDeadline, type KafkaConnection } from './kafka-client.ts';
import { closeCluster, createCluster } from './kafka-cluster.ts';
import { messageBytes, toRecord } from './kafka-feed.ts';
import { misconfigurationOf } from './kafka-refusal.ts';
import { LogUnavailable, MAX_BATCH_BYTES, type LogBatch } from './port.ts';
import { countWithin } from './record-size.ts';

/** How long a read waits for the next records before it fails. */
const SILENCE_MS = 30_000;
const RESTART_PAUSE_MS = 200;
/** How long Kafka waits for records; they are there, unless the partition has just got another leader. */
const FETCH_WAIT_MS = 100;
/** The most bytes of a fetch; a larger record comes alone. */
const FETCH_BYTES = 1024 * 1024;

interface ReadOptions extends KafkaConnection {
  /** The topic's name in Kafka, with the installation's prefix. */
  kafka_topic: string;
  /** The topic's name in this service. */
  topic: string;
  partition: number;
  /** Must not be before the first record of the partition. */
  from: bigint;
  /** Must not be beyond the end of the partition. */
  to: bigint;
  max_records: number;
}

/**
 * Reads `[from, to)` of one partition, on a connection of its own and without a consumer group. A read that Kafka ends for a
 * passing reason (a broker has restarted, another one leads the partition) begins again where it stopped; without a record
 * for {@link SILENCE_MS} it fails. Rejects with LogUnavailable, and with its subclass LogMisconfigured.
 */
export async function* readRange(options: ReadOptions): AsyncIterable<LogBatch> {
  const { topic, partition, to, max_records } = options;
  let cluster = createCluster(options);
  let deadline_ms = performance.now() + SILENCE_MS;
  try {
    for (let next = options.from, from = next; next < to;) {
      let fetched: Batch;
      try {
        const left_ms = deadline_ms - performance.now();
        fetched = await withDeadline(fetchAt(cluster, options, next), left_ms, 'go on with a read');
      } catch (cause) {
        const refusal = misconfigurationOf(cause);
        if (refusal !== undefined) throw refusal;
        if (!isPassing(cause)) throw new LogUnavailable('Kafka ended a read', { cause });
        await closeCluster(cluster);
        cluster = createCluster(options);
        await sleep(RESTART_PAUSE_MS);
        continue;
      }
      const wanted = fetched.messages.filter(({ offset }) => BigInt(offset) < to);
      for (let at = 0; at < wanted.length;) {
        const part = wanted.slice(at, at + max_records);
        const records = part.slice(0, countWithin(part.map(messageBytes), MAX_BATCH_BYTES)).map(toRecord);
        at += records.length;
        yield { topic, partition, from, records };
        from = (records.at(-1)?.offset ?? from) + 1n;
      }
      if (fetched.rawMessages.length === 0) continue;
      next = BigInt(fetched.lastOffset()) + 1n;
      deadline_ms = performance.now() + SILENCE_MS;
    }
  } finally {
    await closeCluster(cluster);
  }
}

/** Fetches the records at an offset; only the first fetch of a connection connects and asks for the leader. */
async function fetchAt(
  cluster: Cluster,
  { kafka_topic: topic, partition }: ReadOptions,
  offset: bigint,
): Promise<Batch> {
  await cluster.connect();
  await cluster.addTargetTopic(topic);
  const [nodeId = 'unknown'] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
  const broker = await cluster.findBroker({ nodeId });
  const fetchOffset = String(offset);
  const { responses } = await broker.fetch({
    maxWaitTime: FETCH_WAIT_MS,
    topics: [{ topic, partitions: [{ partition, fetchOffset, maxBytes: FETCH_BYTES }] }],
  });
  const found = responses[0]?.partitions[0];
  if (found === undefined) throw new Error(`Kafka returned nothing for partition ${partition} of ${topic}`);
  return new Batch(topic, fetchOffset, found);
}

/** kafkajs's own rule for restarting a consumer. */
function isPassing(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { name, retriable } = cause as Error & { retriable?: boolean };
    if (name === 'KafkaJSNumberOfRetriesExceeded' || retriable === true) return true;
  }
  return false;
}
