import {
  type LogConsumer,
  PositionMoved,
  type LogBatch,
  type LogRecord,
} from '../../src/platform/event-log/port.ts';
import { consumeWithStoredOffsets } from '../../src/platform/event-log/stored-offsets.ts';
import { OFFSET_STORES } from '../../src/platform/event-log/position-queries.ts';
import type { Platform } from '../../src/platform/platform.ts';
import {
  closeBlock,
  giveUpBlock,
  openBlock,
  readBlock,
  readSinkPositions,
  type SinkPosition,
  type SinkRange,
} from '../../src/analytics/sink-queries.ts';
import { withoutErased } from '../../src/players/erasure/events-queries.ts';
import { headOf } from '../../src/ingest/events/envelope.ts';
import { newId } from '../../src/platform/ids.ts';
import { markDirtyByEvents } from '../../src/segments/dirty-players.ts';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

const LINGER_MS = 50;

/**
 * analytics-sink: `player-events` → ClickHouse `events`; then the players of the events are marked dirty for segments.
 * The records' values are ClickHouse rows already. {@link SinkBlocks} inserts the batches of all partitions together.
 */
export async function startAnalyticsSink(platform: Platform): Promise<LogConsumer> {
  const { eventLog, postgres, logger, metrics } = platform;
  const blocks = new SinkBlocks(platform, OFFSET_STORES.sink.topic);
  return consumeWithStoredOffsets({
    eventLog,
    sql: postgres.service,
    logger,
    refused: metrics.consumersRefused,
    store: OFFSET_STORES.sink,
    consumer: {
      max_records: MAX_BLOCK_RECORDS,
      linger_ms: LINGER_MS,
      handle: (batch) => blocks.add(batch),
    },
  });
}

/** Limits of a block: its records, and the UTF-16 units of their values. A single batch may exceed the latter. */
const MAX_BLOCK_RECORDS = 50_000;
const MAX_BLOCK_CHARS = 16 * 1024 * 1024;
/** The least time between the starts of two blocks, unless the next block is full. */
const BLOCK_INTERVAL_MS = 100;
/** Ranges of a block that are read concurrently; bounded, because each read opens a connection of its own. */
const READS_AT_ONCE = 16;

interface Waiting {
  batch: LogBatch;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Joins the batches of all partitions of a sink into common blocks and inserts these one after the other. So the number
 * of inserts depends on time and rows, not on the number of partitions. Before the insert the block is recorded in
 * Postgres: its ranges and the token of the insert. After a crash, a failure or a rebalance, a sink can get a partition
 * that is in an open block. It first repeats that block with all its ranges under the same token, and ClickHouse drops
 * the rows that it has already. So several sinks may repeat a block, also while another one still inserts it.
 */
class SinkBlocks {
  #platform: Platform;
  #topic: string;
  #waiting: Waiting[] = [];
  #is_running = false;
  #started_ms = Number.NEGATIVE_INFINITY;
  /** Token → the rows of a block that is not finished: a retry in this process need not read the log. */
  #unfinished = new Map<string, string[]>();

  constructor(platform: Platform, topic: string) {
    this.#platform = platform;
    this.#topic = topic;
  }

  /**
   * Resolves when the batch is in ClickHouse and its players are marked dirty. When it rejects, the batch has to be
   * added again.
   */
  add(batch: LogBatch): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, resolve, reject });
      if (this.#is_running) return;
      this.#is_running = true;
      void this.#run();
    });
  }

  /** Never rejects: a failure rejects the promises of the batches in the block. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // The batches that other partitions add in this turn of the event loop join the block.
      await nextTurn();
      const left_ms = this.#started_ms + BLOCK_INTERVAL_MS - performance.now();
      if (left_ms > 0 && !nextBlock(this.#waiting).is_full) await sleep(left_ms);
      this.#started_ms = performance.now();
      const taken = this.#waiting.splice(0, nextBlock(this.#waiting).count);
      try {
        await this.#sink(taken.map(({ batch }) => batch));
        for (const { resolve } of taken) resolve();
      } catch (error) {
        for (const { reject } of taken) reject(error);
      }
    }
    this.#is_running = false;
  }

  async #sink(batches: readonly LogBatch[]): Promise<void> {
    const positions = await this.#finishOpenBlocks(new Set(batches.map(({ partition }) => partition)));
    const fresh = batches
      .map((batch) => {
        const { partition, records } = batch;
        const next_offset = positions.get(partition)?.next_offset ?? 0n;
        if (next_offset < batch.from) throw new PositionMoved(batch, next_offset);
        return {
          partition,
          from: next_offset,
          records: records.filter(({ offset }) => offset >= next_offset),
        };
      })
      .filter(({ records }) => records.length > 0)
      .sort((a, b) => a.partition - b.partition);
    if (fresh.length === 0) return;
    const ranges = fresh.map(({ partition, from, records }) => ({
      partition,
      from,
      to: (records.at(-1)?.offset ?? 0n) + 1n,
    }));
    const token = `${this.#topic}:${newId()}`;
    const lines = fresh.flatMap(({ partition, records }) => this.#readable(partition, records));
    this.#unfinished.set(token, lines);
    if (!(await openBlock(this.#platform.postgres.service, this.#topic, token, ranges))) {
      throw new Error(`another sink works on partitions of ${this.#topic}; this one starts over`);
    }
    await this.#insert(token, lines);
  }

  /**
   * Repeats the open blocks that contain some of the partitions; returns the positions of all partitions after that.
   */
  async #finishOpenBlocks(partitions: ReadonlySet<number>): Promise<Map<number, SinkPosition>> {
    const positions = await this.#readPositions();
    const [open, tokens] = [new Set<string>(), new Set<string>()];
    for (const { partition, block_token } of positions.values()) {
      if (block_token === null) continue;
      open.add(block_token);
      if (partitions.has(partition)) tokens.add(block_token);
    }
    // Blocks that were never opened, or that another sink has finished.
    for (const token of this.#unfinished.keys()) if (!open.has(token)) this.#unfinished.delete(token);
    if (tokens.size === 0) return positions;
    for (const token of tokens) {
      const lines = this.#unfinished.get(token) ?? (await this.#readLines(token));
      if (lines !== undefined) await this.#insert(token, lines);
    }
    return this.#readPositions();
  }

  async #readPositions(): Promise<Map<number, SinkPosition>> {
    const rows = await readSinkPositions(this.#platform.postgres.service, this.#topic);
    return new Map(rows.map((row) => [row.partition, row]));
  }

  /**
   * The rows of an open block in the order of its first insert; undefined when the block was closed in the meantime, or
   * when the log has lost some of its records. Then it is given up: the records that there are become other blocks, and
   * the consumer is refused where they end. ClickHouse merges rows that it has already.
   */
  async #readLines(token: string): Promise<string[] | undefined> {
    const { postgres, logger } = this.#platform;
    const ranges = await readBlock(postgres.service, this.#topic, token);
    if (ranges.length === 0) return undefined;
    const parts: string[][] = [];
    for (let at = 0; at < ranges.length; at += READS_AT_ONCE) {
      const some = ranges.slice(at, at + READS_AT_ONCE);
      for (const lines of await Promise.all(some.map((range) => this.#readRange(range)))) {
        if (lines === undefined) {
          logger.error({ topic: this.#topic, token }, 'records of an open block are missing; it is given up');
          await giveUpBlock(postgres.service, this.#topic, token);
          return undefined;
        }
        parts.push(lines);
      }
    }
    return parts.flat();
  }

  /** The rows of a range; undefined when the log has lost some of its records. */
  async #readRange({ partition, from, to }: SinkRange): Promise<string[] | undefined> {
    const { eventLog } = this.#platform;
    const lines: string[] = [];
    let next = from;
    // Offsets without a record prove nothing on Kafka, so the log is asked.
    const isLost = async (offset: bigint) => {
      const { partitions } = await eventLog.describe(this.#topic, new Map([[partition, offset]]));
      return partitions.get(partition)?.missing !== undefined;
    };
    for await (const { records } of eventLog.read(this.#topic, partition, from, to)) {
      for (const { offset } of records) {
        if (offset !== next && (await isLost(next))) return undefined;
        next = offset + 1n;
      }
      lines.push(...this.#readable(partition, records));
    }
    return next < to && (await isLost(next)) ? undefined : lines;
  }

  /**
   * The values that are lines of events. One other value, written by a tool, would make ClickHouse refuse the block, and
   * so stop all partitions. The choice depends on the value alone: a repeated block has the same rows under its token.
   */
  #readable(partition: number, records: readonly LogRecord[]): string[] {
    const { logger, metrics } = this.#platform;
    return records.flatMap(({ offset, value }) => {
      if (headOf(value) !== undefined) return [value];
      metrics.rowsUnreadable.inc();
      // Not the value: it may contain personal data.
      logger.error(
        { topic: this.#topic, partition, offset: String(offset) },
        'a record is not a valid event; it is omitted',
      );
      return [];
    });
  }

  async #insert(token: string, lines: string[]): Promise<void> {
    const { postgres, clickhouse, clock, metrics } = this.#platform;
    const allowed = await withoutErased(postgres.service, lines);
    if (allowed.length > 0) await clickhouse.insertLines('events', allowed, token);
    // Before the block is closed: after a crash the repeated block marks the players again.
    await markDirtyByEvents(postgres.service, allowed, new Date(clock.now_ms()));
    await closeBlock(postgres.service, this.#topic, token);
    this.#unfinished.delete(token);
    metrics.sinkBlockRows.observe(lines.length);
    metrics.rowsSunk.inc(lines.length);
  }
}

/**
 * How many batches, from the first on, go into the next block: at least one, and at most one of each partition. The
 * block is full when another batch would not fit.
 */
function nextBlock(waiting: readonly Waiting[]): { count: number; is_full: boolean } {
  const partitions = new Set<number>();
  let [records, chars] = [0, 0];
  for (const [i, { batch }] of waiting.entries()) {
    records += batch.records.length;
    chars += batch.records.reduce((sum, { value }) => sum + value.length, 0);
    const is_over = records > MAX_BLOCK_RECORDS || chars > MAX_BLOCK_CHARS || partitions.has(batch.partition);
    if (is_over && i > 0) return { count: i, is_full: true };
    partitions.add(batch.partition);
  }
  return { count: waiting.length, is_full: records >= MAX_BLOCK_RECORDS || chars >= MAX_BLOCK_CHARS };
}
