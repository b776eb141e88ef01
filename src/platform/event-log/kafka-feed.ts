import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaMessage } from 'kafkajs';
import type { Logger } from '../logger.ts';
import { retryPauseMs } from '../retry-pause.ts';
import { MAX_BATCH_BYTES, PositionMoved, type ConsumeOptions, type LogBatch } from './port.ts';
import type { LogRecord } from './port.ts';
import { countWithin } from './record-size.ts';

const PAUSES = { first_ms: 100, longest_ms: 5_000 };

interface FeedOptions {
  partition: number;
  consumer: ConsumeOptions;
  logger: Logger;
  /** Resolves when an earlier feed of this partition has finished its last batch. */
  previous: Promise<void>;
  /** Commits the position; rejects when the position could not be stored. */
  commit(next_offset: bigint): Promise<void>;
  /** Pauses or resumes fetching of this partition. */
  setPaused(paused: boolean): void;
  /** Replaces this feed by one at the position that the handler keeps. */
  startOver(): void;
}

/**
 * Delivers the fetched records of one partition to the handler, one batch at a time. It runs outside kafkajs's own
 * loop, because that loop fetches nothing from a broker while any of that broker's batches is being handled: one stuck
 * partition would stop all others.
 */
export class KafkaFeed {
  /** Resolves when the last batch has been handled and committed, or was abandoned because the feed was stopped. */
  readonly done: Promise<void>;
  /** The offset at which the next fetch must start; undefined until the position has been read. */
  fetch_offset: bigint | undefined;
  /** The offset at which the next batch begins. */
  #next = 0n;
  #options: FeedOptions;
  #buffer: KafkaMessage[] = [];
  #buffer_bytes = 0;
  #taken_ms = performance.now();
  #paused = false;
  #stop = new AbortController();
  #wake: () => void = () => undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.done = this.#run().catch((error: unknown) => {
      options.logger.error({ err: error, partition: options.partition }, 'consumer loop failed');
    });
  }

  /** Sets where the first fetch must start; a second call does nothing. */
  startAt(offset: bigint): void {
    if (this.fetch_offset !== undefined) return;
    this.fetch_offset = offset;
    this.#next = offset;
  }

  /** Adds consecutive records to the buffer; pauses the partition when a full batch waits. */
  push(messages: readonly KafkaMessage[]): void {
    for (const message of messages) {
      this.#buffer.push(message);
      this.#buffer_bytes += messageBytes(message);
    }
    if (this.#isFull()) this.#setPaused(true);
    this.#wake();
  }

  /** Starts no further batch; the running one may finish and commit. */
  stop(): void {
    this.#stop.abort();
    this.#wake();
  }

  /** Whether a full batch waits; then fetching of the partition is paused. */
  #isFull(): boolean {
    return this.#buffer.length >= this.#options.consumer.max_records || this.#buffer_bytes >= MAX_BATCH_BYTES;
  }

  #setPaused(paused: boolean): void {
    if (paused === this.#paused) return;
    this.#paused = paused;
    this.#options.setPaused(paused);
  }

  async #run(): Promise<void> {
    const { consumer, partition, previous } = this.#options;
    await previous;
    while (!this.#stop.signal.aborted) {
      await this.#waitForRecords();
      if (this.#stop.signal.aborted) return;
      const from = this.#next;
      const taken = this.#take();
      const last = taken.at(-1);
      if (last === undefined) continue;
      const next = BigInt(last.offset) + 1n;
      this.#next = next;
      const handled = await this.#insist('batch failed; retrying', async () =>
        consumer.handle({ topic: consumer.topic, partition, from, ...(await recordsFor(consumer, taken)) }),
      );
      if (!handled) return;
      await this.#insist('position not committed; retrying', () => this.#options.commit(next));
    }
  }

  /** Repeats `work` until it succeeds, with growing pauses; returns false when stopped before that. */
  async #insist(failure: string, work: () => Promise<void>): Promise<boolean> {
    const { partition, logger, consumer } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const pause_ms = retryPauseMs(PAUSES, { attempt });
      try {
        await work();
        return true;
      } catch (error) {
        logger.warn({ err: error, group: consumer.group, partition, pause_ms }, failure);
        if (error instanceof PositionMoved) {
          if (!this.#stop.signal.aborted) this.#options.startOver();
          return false;
        }
      }
      if (this.#stop.signal.aborted) return false;
      await sleep(pause_ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      if (this.#stop.signal.aborted) return false;
    }
  }

  /**
   * Waits for a record, and then until a full batch is there or `linger_ms` has passed; resolves early when stopped.
   * For records that arrived while the previous batch was handled, `linger_ms` counts from when that batch was taken.
   */
  async #waitForRecords(): Promise<void> {
    const { linger_ms } = this.#options.consumer;
    const waited_ms = this.#buffer.length === 0 ? 0 : performance.now() - this.#taken_ms;
    while (this.#buffer.length === 0 && !this.#stop.signal.aborted) await this.#woken();
    if (waited_ms >= linger_ms) return;
    const linger = new AbortController();
    const timer = setTimeout(() => {
      linger.abort();
      this.#wake();
    }, linger_ms - waited_ms);
    while (!linger.signal.aborted && !this.#stop.signal.aborted && !this.#isFull()) await this.#woken();
    clearTimeout(timer);
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #take(): KafkaMessage[] {
    const { max_records } = this.#options.consumer;
    this.#taken_ms = performance.now();
    const sizes = this.#buffer.slice(0, max_records).map(messageBytes);
    const taken = this.#buffer.splice(0, countWithin(sizes, MAX_BATCH_BYTES));
    for (const message of taken) this.#buffer_bytes -= messageBytes(message);
    if (!this.#isFull()) this.#setPaused(false);
    return taken;
  }
}

/** The records of the keys that the consumer needs, with the first and the last one: others are not decoded. */
async function recordsFor(
  consumer: ConsumeOptions,
  messages: readonly KafkaMessage[],
): Promise<Pick<LogBatch, 'records' | 'keys'>> {
  const keys = await consumer.keys?.(messages.length);
  const isEdge = (i: number) => i === 0 || i === messages.length - 1;
  const needed =
    keys === undefined
      ? messages
      : messages.filter(({ key }, i) => isEdge(i) || keys.has(key?.toString('utf8') ?? ''));
  return { records: needed.map(toRecord), keys };
}

/** The bytes of a message that count for the limits of the log. */
export function messageBytes({ key, value }: KafkaMessage): number {
  return (key?.length ?? 0) + (value?.length ?? 0);
}

/** Converts a message. A missing key or value becomes an empty text; only other tools write such messages. */
export function toRecord(message: KafkaMessage): LogRecord {
  return {
    offset: BigInt(message.offset),
    key: message.key?.toString('utf8') ?? '',
    value: message.value?.toString('utf8') ?? '',
  };
}
