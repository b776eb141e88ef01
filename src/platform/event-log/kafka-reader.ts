import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AssignerProtocol,
  type Consumer,
  type EachBatchPayload,
  type KafkaMessage,
  type PartitionAssigner,
} from 'kafkajs';
import {
  createKafka,
  REQUEST_TIMEOUT_MS,
  RETRY,
  withDeadline,
  type KafkaConnection,
} from './kafka-client.ts';
import { messageBytes, toRecord } from './kafka-feed.ts';
import { misconfigurationOf } from './kafka-refusal.ts';
import { LogMisconfigured, LogUnavailable, MAX_BATCH_BYTES, type LogBatch } from './port.ts';
import { countWithin } from './record-size.ts';

/** How long a read waits for the next records before it fails. */
const SILENCE_MS = 30_000;
const HEARTBEAT_MS = 1_000;
const RESTART_PAUSE_MS = 200;

interface ReadOptions extends KafkaConnection {
  /** The topic's name in Kafka, with the installation's prefix. */
  kafka_topic: string;
  /** The topic's name in this service. */
  topic: string;
  partition: number;
  from: bigint;
  /** Must not be beyond the end of the partition. */
  to: bigint;
  max_records: number;
  /** Removes the temporary group. */
  deleteGroup(group: string): Promise<void>;
}

/**
 * Reads `[from, to)` of one partition. A read that Kafka ends for a passing reason (a broker has restarted and loads its
 * groups, a coordinator has moved) begins again where it stopped; without a record for {@link SILENCE_MS} it fails.
 */
export async function* readRange(options: ReadOptions): AsyncIterable<LogBatch> {
  let next = options.from;
  let deadline_ms = performance.now() + SILENCE_MS;
  for (;;) {
    try {
      for await (const batch of readAsMember({ ...options, from: next })) {
        next = (batch.records.at(-1)?.offset ?? next - 1n) + 1n;
        yield batch;
        deadline_ms = performance.now() + SILENCE_MS;
      }
      return;
    } catch (error) {
      if (!isPassing(error) || performance.now() > deadline_ms) throw error;
      await sleep(RESTART_PAUSE_MS);
    }
  }
}

/** kafkajs's own rule for restarting a consumer, which this reader's consumers do not use. */
function isPassing(error: unknown): boolean {
  if (error instanceof LogMisconfigured) return false;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { name, retriable } = cause as Error & { retriable?: boolean };
    if (name === 'KafkaJSNumberOfRetriesExceeded' || retriable === true) return true;
  }
  return false;
}

/**
 * Reads once. kafkajs can read only as a member of a group. So the read uses a group of one member, which is assigned
 * only this partition, commits nothing, and is deleted afterwards.
 */
async function* readAsMember(options: ReadOptions): AsyncIterable<LogBatch> {
  const { topic, partition, from, to, max_records } = options;
  if (from >= to) return;
  const group = `read-${randomUUID()}`;
  const fetched = new Handoff();
  const consumer = createKafka(options).consumer({
    groupId: group,
    allowAutoTopicCreation: false,
    heartbeatInterval: HEARTBEAT_MS,
    maxWaitTimeInMs: 100,
    partitionAssigners: [onlyPartition(options.kafka_topic, partition)],
    // More attempts than other calls: a broker that has just started loads its groups for some seconds.
    retry: { ...RETRY, retries: 10, restartOnFailure: () => Promise.resolve(false) },
  });
  try {
    await withDeadline(start(consumer, options, fetched), SILENCE_MS, 'start a read');
    let begin = from;
    for (let next = from; next < to;) {
      const messages = await withDeadline(fetched.take(), SILENCE_MS, 'go on with a read');
      const wanted = messages.filter(({ offset }) => BigInt(offset) >= next && BigInt(offset) < to);
      for (let at = 0; at < wanted.length;) {
        const part = wanted.slice(at, at + max_records);
        const records = part.slice(0, countWithin(part.map(messageBytes), MAX_BATCH_BYTES)).map(toRecord);
        at += records.length;
        yield { topic, partition, from: begin, records };
        begin = (records.at(-1)?.offset ?? begin) + 1n;
      }
      next = BigInt(messages.at(-1)?.offset ?? next) + 1n;
      fetched.taken();
    }
  } finally {
    fetched.abandon();
    await withDeadline(consumer.disconnect(), REQUEST_TIMEOUT_MS, 'disconnect').catch(() => undefined);
    await options.deleteGroup(group).catch((error: unknown) => {
      options.logger.warn({ err: error, group }, 'temporary group not deleted');
    });
  }
}

async function start(consumer: Consumer, options: ReadOptions, fetched: Handoff): Promise<void> {
  const { kafka_topic, partition, from } = options;
  consumer.on(consumer.events.GROUP_JOIN, () => {
    fetched.next_offset ??= from;
    // This handler runs before the first fetch of the generation.
    consumer.seek({ topic: kafka_topic, partition, offset: String(fetched.next_offset) });
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => fetched.fail(payload.error));
  await consumer.connect();
  await consumer.subscribe({ topic: kafka_topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    eachBatch: (payload) => fetched.offer(payload),
  });
}

/** Assigns one partition to the first member of the group. */
function onlyPartition(topic: string, partition: number): PartitionAssigner {
  return () => ({
    name: 'one-partition',
    version: 1,
    protocol: ({ topics }) => ({
      name: 'one-partition',
      metadata: AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.alloc(0) }),
    }),
    assign: async ({ members }) =>
      members.slice(0, 1).map(({ memberId }) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: 1,
          assignment: { [topic]: [partition] },
          userData: Buffer.alloc(0),
        }),
      })),
  });
}

/** Passes one fetch at a time from kafkajs's loop to the reader; the loop waits meanwhile and sends heartbeats. */
class Handoff {
  /** The offset after the last fetch that the reader has consumed. */
  next_offset: bigint | undefined;
  #fetch: KafkaMessage[] | undefined;
  #abandoned = false;
  #error: Error | undefined;
  #offered: () => void = () => undefined;
  #consumed: () => void = () => undefined;

  /** Called by kafkajs's loop: resolves when the reader has consumed the batch. */
  async offer(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const last = batch.messages.at(-1);
    if (this.#abandoned || last === undefined) return;
    const consumed = new Promise<void>((resolve) => {
      this.#consumed = resolve;
    });
    this.#fetch = batch.messages;
    this.#offered();
    const timer = setInterval(() => void payload.heartbeat().catch(() => undefined), HEARTBEAT_MS);
    await consumed;
    clearInterval(timer);
    if (this.#abandoned) return;
    this.next_offset = BigInt(last.offset) + 1n;
    payload.resolveOffset(batch.lastOffset());
  }

  /** Called by the reader: waits for the next fetch. Rejects with LogUnavailable after {@link fail}. */
  async take(): Promise<KafkaMessage[]> {
    while (this.#fetch === undefined) {
      if (this.#error !== undefined) {
        const cause = this.#error;
        throw misconfigurationOf(cause) ?? new LogUnavailable('Kafka ended a read', { cause });
      }
      await new Promise<void>((resolve) => {
        this.#offered = resolve;
      });
    }
    return this.#fetch;
  }

  /** Called by the reader when it has consumed the fetch: the loop fetches the next one. */
  taken(): void {
    this.#fetch = undefined;
    this.#consumed();
  }

  fail(error: Error): void {
    this.#error = error;
    this.#offered();
  }

  /** Called when the read ends: a waiting loop continues, and later fetches are ignored. */
  abandon(): void {
    this.#abandoned = true;
    this.#consumed();
  }
}
