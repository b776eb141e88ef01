import type { PartitionMetadata, Producer } from 'kafkajs';
import type { Clock } from '../clock.ts';
import {
  createKafka,
  REQUEST_TIMEOUT_MS,
  RETRY,
  withDeadline,
  type KafkaConnection,
} from './kafka-client.ts';
import { groupBy } from '../group-by.ts';
import { kafkaPartitionOf } from './kafka-partitioner.ts';
import { misconfigurationOf } from './kafka-refusal.ts';
import { LogUnavailable, MAX_RECORD_BYTES, type NewRecord } from './port.ts';
import { recordBytes, refuseTooLarge } from './record-size.ts';

/** kafkajs copies a partition's list of messages for each message it adds, so a larger send costs more per message. */
const MAX_SEND_RECORDS = 1_000;
const MAX_SEND_BYTES = 4 * 1024 * 1024;
/** The message size that a topic must accept: the larger of a send and a single record, plus the framing of records. */
export const MAX_MESSAGE_BYTES = Math.max(MAX_SEND_BYTES, MAX_RECORD_BYTES) + 2 * 1024 * 1024;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const APPEND_TIMEOUT_MS = 10_000;
/** With less time left than this, a send is not started: it would time out and discard a healthy producer. */
const SHORTEST_SEND_MS = 1_000;

interface AppenderOptions extends KafkaConnection {
  /** The topic's name in Kafka. */
  topic: string;
  clock: Clock;
  /** The partitions and their leaders; rejects with LogUnavailable. */
  describe(): Promise<PartitionMetadata[]>;
}

interface Append {
  records: readonly NewRecord[];
  /** Index of the first record not yet in a send. */
  next: number;
  bytes: number;
  deadline_ms: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

interface Message extends NewRecord {
  partition: number;
}

interface OpenProducer {
  producer: Producer;
  partitions: number;
  leaderOf: (partition: number) => number;
}

/**
 * Appends to one topic with a producer of its own. One send per leader runs at a time; appends that arrive meanwhile go
 * into the next one. kafkajs does not guarantee this order: it reuses the sequence numbers of a failed request for the
 * next send, which the broker would then acknowledge as a duplicate without writing it. For the same reason a producer
 * is discarded after any failure: its sequence numbers are uncertain.
 */
export class KafkaAppender {
  #options: AppenderOptions;
  #open: Promise<OpenProducer> | undefined;
  #waiting: Append[] = [];
  #waiting_bytes = 0;
  #running: Promise<void> | undefined;
  #closing = new Set<Promise<unknown>>();
  #closed = false;

  constructor(options: AppenderOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the records are durable. Rejects with LogUnavailable when too many records wait, the log is closed,
   * or Kafka does not confirm in time. Rejects with RecordTooLarge when a record exceeds the limit.
   */
  async append(records: readonly NewRecord[]): Promise<void> {
    if (records.length === 0) return;
    if (this.#closed) throw new LogUnavailable('the event log is closed');
    refuseTooLarge(records);
    const bytes = records.reduce((sum, record) => sum + recordBytes(record), 0);
    // An append of any size is accepted when no other waits: its caller would retry with the same records.
    if (this.#waiting_bytes > 0 && this.#waiting_bytes + bytes > MAX_WAITING_BYTES) {
      throw new LogUnavailable('too many records wait for Kafka');
    }
    this.#waiting_bytes += bytes;
    try {
      await new Promise<void>((resolve, reject) => {
        const deadline_ms = this.#options.clock.now_ms() + APPEND_TIMEOUT_MS;
        this.#waiting.push({ records, next: 0, bytes, deadline_ms, resolve, reject });
        this.#running ??= this.#run();
      });
    } finally {
      this.#waiting_bytes -= bytes;
    }
  }

  /** Rejects further appends and waits for the pending ones. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    if (this.#open !== undefined) this.#discard(this.#open);
    await withDeadline(Promise.all(this.#closing), REQUEST_TIMEOUT_MS, 'disconnect').catch(() => undefined);
  }

  async #run(): Promise<void> {
    // Appends that are issued in the same turn of the event loop join the first send.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const { messages, appends, finished } = this.#take();
      const first = appends[0];
      if (first === undefined) continue;
      const open = (this.#open ??= this.#connect());
      const sending = open.then((producer) => sendAll(this.#options.topic, producer, messages));
      try {
        const left_ms = first.deadline_ms - this.#options.clock.now_ms();
        await withDeadline(sending, left_ms, 'confirm an append');
        for (const append of finished) append.resolve();
      } catch (cause) {
        this.#open = undefined;
        this.#discard(open, sending);
        const error =
          misconfigurationOf(cause) ?? new LogUnavailable('Kafka did not confirm the append', { cause });
        // Waiting appends are rejected too, so that their callers can retry before a dead broker's time-out.
        for (const append of new Set([...appends, ...this.#waiting.splice(0)])) append.reject(error);
      }
    }
    this.#running = undefined;
  }

  /** Takes the next records for one send, in order of arrival; rejects appends whose deadline is too close. */
  #take(): { messages: NewRecord[]; appends: Append[]; finished: Append[] } {
    const messages: NewRecord[] = [];
    const appends: Append[] = [];
    const finished: Append[] = [];
    const latest_ms = this.#options.clock.now_ms() + SHORTEST_SEND_MS;
    let bytes = 0;
    for (let append = this.#waiting[0]; append !== undefined; append = this.#waiting[0]) {
      if (append.next === 0 && append.deadline_ms < latest_ms) {
        append.reject(new LogUnavailable('Kafka is too slow for the records that wait for it'));
        this.#waiting.shift();
        continue;
      }
      appends.push(append);
      for (; append.next < append.records.length; append.next++) {
        const record = append.records[append.next] as NewRecord;
        const record_bytes = recordBytes(record);
        const full = messages.length >= MAX_SEND_RECORDS || bytes + record_bytes > MAX_SEND_BYTES;
        if (full && messages.length > 0) return { messages, appends, finished };
        messages.push(record);
        bytes += record_bytes;
      }
      finished.push(append);
      this.#waiting.shift();
    }
    return { messages, appends, finished };
  }

  async #connect(): Promise<OpenProducer> {
    let metadata = await this.#options.describe();
    const partitions = metadata.length;
    const producer = createKafka(this.#options).producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      retry: RETRY,
      createPartitioner: () => (args) => {
        metadata = args.partitionMetadata;
        return (args.message as Message).partition;
      },
    });
    try {
      await producer.connect();
    } catch (error) {
      // When only the second step of connecting (getting the producer id) fails, kafkajs leaves its sockets open.
      await producer.disconnect();
      throw error;
    }
    const leaderOf = (partition: number) => metadata.find((p) => p.partitionId === partition)?.leader ?? -1;
    return { producer, partitions, leaderOf };
  }

  /** Disconnects after the running send has ended; before that, kafkajs would connect again to finish the send. */
  #discard(open: Promise<OpenProducer>, sending: Promise<void> = Promise.resolve()): void {
    const gone = Promise.allSettled([sending])
      .then(() => open)
      .then(({ producer }) => producer.disconnect())
      .catch(() => undefined)
      .finally(() => this.#closing.delete(gone));
    this.#closing.add(gone);
  }
}

/**
 * Sends one request per leader. In a send to several brokers, when one broker fails, kafkajs would repeat messages that
 * another broker may already have written.
 */
async function sendAll(topic: string, open: OpenProducer, records: readonly NewRecord[]): Promise<void> {
  const { partitions, leaderOf } = open;
  const messages = records.map(({ key, value }): Message => {
    return { key, value, partition: kafkaPartitionOf(key, partitions) };
  });
  const groups = groupBy(messages, ({ partition }) => leaderOf(partition));
  const results = await Promise.allSettled(
    [...groups.values()].map((group) => sendGroup(topic, open.producer, group)),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/**
 * Sends messages until Kafka has acknowledged each of their partitions: when a leader moves, kafkajs may resolve
 * without having sent all of them.
 */
async function sendGroup(topic: string, producer: Producer, messages: Message[]): Promise<void> {
  let pending = messages;
  while (pending.length > 0) {
    const answers = await producer.send({ topic, messages: pending, acks: -1, timeout: REQUEST_TIMEOUT_MS });
    const written = new Set(answers.map((answer) => answer.partition));
    const rest = pending.filter((message) => !written.has(message.partition));
    if (rest.length === pending.length) throw new LogUnavailable('Kafka acknowledged none of the partitions');
    pending = rest;
  }
}
