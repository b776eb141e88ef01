import type { PartitionMetadata, Producer } from 'kafkajs';
import type { Clock } from '../clock.ts';
import {
  createKafka,
  REQUEST_TIMEOUT_MS,
  RETRY,
  withDeadline,
  type KafkaConnection,
} from './kafka-client.ts';
import { kafkaPartitionOf } from './kafka-partitioner.ts';
import { LogUnavailable, MAX_RECORD_BYTES, type NewRecord } from './port.ts';
import { recordBytes, refuseTooLarge } from './record-size.ts';

/** kafkajs copies a partition's list once per message it adds to it, so larger sends cost more per message. */
const MAX_SEND_RECORDS = 1_000;
const MAX_SEND_BYTES = 4 * 1024 * 1024;
/** What a topic must take: a send, or a single record that is larger than one, with the framing of its records. */
export const MAX_MESSAGE_BYTES = Math.max(MAX_SEND_BYTES, MAX_RECORD_BYTES) + 2 * 1024 * 1024;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const APPEND_TIMEOUT_MS = 10_000;
/** A send with less time than this left would only give up a healthy producer. */
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
 * Appends to one topic with a producer of its own. One send per leader is under way at a time, and what arrives
 * meanwhile goes into the next one. That order is ours to keep: kafkajs takes the sequence numbers of a failed
 * request back and gives them to whichever send comes next, which the broker would then acknowledge as a repeat
 * without writing it. For the same reason a producer is given up after any failure: its numbers are in doubt.
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
   * Resolves when the records are durable; rejects with LogUnavailable when full, closed or out of reach, and with
   * RecordTooLarge.
   */
  async append(records: readonly NewRecord[]): Promise<void> {
    if (records.length === 0) return;
    if (this.#closed) throw new LogUnavailable('the event log is closed');
    refuseTooLarge(records);
    const bytes = records.reduce((sum, record) => sum + recordBytes(record), 0);
    // Alone, any append must get through: its caller would try again with the same one.
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

  /** Refuses further appends and waits for those under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    if (this.#open !== undefined) this.#giveUp(this.#open);
    await withDeadline(Promise.all(this.#closing), REQUEST_TIMEOUT_MS, 'disconnect').catch(() => undefined);
  }

  async #run(): Promise<void> {
    // Lets every caller of this turn of the event loop join the first send.
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
        this.#giveUp(open, sending);
        const error = new LogUnavailable('Kafka did not confirm the append', { cause });
        // Those that still wait fail as well: a caller may try again sooner than a dead broker answers.
        for (const append of new Set([...appends, ...this.#waiting.splice(0)])) append.reject(error);
      }
    }
    this.#running = undefined;
  }

  /** The next records in order of arrival, up to one send; appends out of time are refused here. */
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
      // kafkajs leaves its sockets open when only the second step, the producer id, failed.
      await producer.disconnect();
      throw error;
    }
    const leaderOf = (partition: number) => metadata.find((p) => p.partitionId === partition)?.leader ?? -1;
    return { producer, partitions, leaderOf };
  }

  /** Disconnects once nothing is under way any more; kafkajs would connect again to finish a send. */
  #giveUp(open: Promise<OpenProducer>, sending: Promise<void> = Promise.resolve()): void {
    const gone = Promise.allSettled([sending])
      .then(() => open)
      .then(({ producer }) => producer.disconnect())
      .catch(() => undefined)
      .finally(() => this.#closing.delete(gone));
    this.#closing.add(gone);
  }
}

/**
 * Sends one request per leader: within a send to several brokers kafkajs repeats what one of them may already
 * have taken when another one fails.
 */
async function sendAll(topic: string, open: OpenProducer, records: readonly NewRecord[]): Promise<void> {
  const { partitions, leaderOf } = open;
  const groups = new Map<number, Message[]>();
  for (const { key, value } of records) {
    const partition = kafkaPartitionOf(key, partitions);
    const leader = leaderOf(partition);
    const group = groups.get(leader);
    if (group === undefined) groups.set(leader, [{ key, value, partition }]);
    else group.push({ key, value, partition });
  }
  const results = await Promise.allSettled(
    [...groups.values()].map((group) => sendGroup(topic, open.producer, group)),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Asks for an answer per partition: when a leader moves, kafkajs may resolve without having sent all of them. */
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
