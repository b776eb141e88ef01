import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import {
  closeBlock,
  openBlock,
  readBlock,
  readSinkPositions,
  type SinkPosition,
  type SinkRange,
} from '../../src/analytics/sink-queries.ts';
import type { LogBatch } from '../../src/platform/event-log/port.ts';
import { newId } from '../../src/platform/ids.ts';
import { markDirtyByEvents } from '../../src/segments/dirty-players.ts';
import type { Platform } from '../../src/wiring/platform.ts';

/** The records of a block, and the characters of their values; a single batch may have more characters. */
export const MAX_BLOCK_RECORDS = 50_000;
const MAX_BLOCK_CHARS = 16 * 1024 * 1024;
/** From the start of one block to the start of the next, unless a full one waits. */
const BLOCK_INTERVAL_MS = 100;
/** Each read of a range joins a consumer group of its own. */
const READS_AT_ONCE = 16;

interface Waiting {
  batch: LogBatch;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Puts the batches of all partitions that a sink holds into common blocks, one after the other: how many inserts there
 * are depends on the time and the rows, not on the partitions. A block is recorded in Postgres before it is inserted,
 * as the set of its ranges with the token of the insert. Whoever is given a partition that is in an open block (after a
 * crash, a failure or a rebalance) first repeats that block, all of its ranges, under the same token: ClickHouse drops
 * what it has. So it does not matter who comes first, nor whether another one is still inserting it.
 */
export class SinkBlocks {
  #platform: Platform;
  #topic: string;
  #waiting: Waiting[] = [];
  #is_running = false;
  #started_ms = Number.NEGATIVE_INFINITY;
  /** The rows of blocks that are not finished, by their tokens: to try one again, the log need not be read. */
  #unfinished = new Map<string, string[]>();

  constructor(platform: Platform, topic: string) {
    this.#platform = platform;
    this.#topic = topic;
  }

  /** Resolves when the batch is in ClickHouse and its players are marked as dirty; when it rejects, the batch has to come again. */
  add(batch: LogBatch): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, resolve, reject });
      if (this.#is_running) return;
      this.#is_running = true;
      void this.#run();
    });
  }

  /** Never rejects: a failure is that of the batches in the block. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Lets every partition that is handed over in this moment join.
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
      .map(({ partition, records }) => {
        const next_offset = positions.get(partition)?.next_offset ?? 0n;
        return { partition, records: records.filter(({ offset }) => offset >= next_offset) };
      })
      .filter(({ records }) => records.length > 0)
      .sort((a, b) => a.partition - b.partition);
    if (fresh.length === 0) return;
    const ranges = fresh.map(({ partition, records }) => ({
      partition,
      from: records[0]?.offset ?? 0n,
      to: (records.at(-1)?.offset ?? 0n) + 1n,
    }));
    const token = `${this.#topic}:${newId()}`;
    const lines = fresh.flatMap(({ records }) => records.map(({ value }) => value));
    this.#unfinished.set(token, lines);
    if (!(await openBlock(this.#platform.postgres.service, this.#topic, token, ranges))) {
      throw new Error(`another sink works on partitions of ${this.#topic}; this one starts over`);
    }
    await this.#insert(token, lines);
  }

  /** Repeats the blocks that some of the partitions are in, and tells where every partition stands then. */
  async #finishOpenBlocks(partitions: ReadonlySet<number>): Promise<Map<number, SinkPosition>> {
    const positions = await this.#readPositions();
    const [open, tokens] = [new Set<string>(), new Set<string>()];
    for (const { partition, block_token } of positions.values()) {
      if (block_token === null) continue;
      open.add(block_token);
      if (partitions.has(partition)) tokens.add(block_token);
    }
    // Never opened, or finished by another sink.
    for (const token of this.#unfinished.keys()) if (!open.has(token)) this.#unfinished.delete(token);
    if (tokens.size === 0) return positions;
    for (const token of tokens) {
      const lines = this.#unfinished.get(token) ?? (await this.#readLines(token));
      if (lines.length > 0) await this.#insert(token, lines);
    }
    return this.#readPositions();
  }

  async #readPositions(): Promise<Map<number, SinkPosition>> {
    const rows = await readSinkPositions(this.#platform.postgres.service, this.#topic);
    return new Map(rows.map((row) => [row.partition, row]));
  }

  /** The rows of an open block in the order in which they were inserted first; none when it has been closed meanwhile. */
  async #readLines(token: string): Promise<string[]> {
    const { postgres, eventLog } = this.#platform;
    const ranges = await readBlock(postgres.service, this.#topic, token);
    const readRange = async ({ partition, from, to }: SinkRange) => {
      const lines: string[] = [];
      for await (const { records } of eventLog.read(this.#topic, partition, from, to)) {
        for (const { value } of records) lines.push(value);
      }
      return lines;
    };
    const parts: string[][] = [];
    for (let at = 0; at < ranges.length; at += READS_AT_ONCE) {
      parts.push(...(await Promise.all(ranges.slice(at, at + READS_AT_ONCE).map(readRange))));
    }
    return parts.flat();
  }

  async #insert(token: string, lines: string[]): Promise<void> {
    const { postgres, clickhouse, clock, metrics } = this.#platform;
    await clickhouse.insertLines('events', lines, token);
    // Before the block counts as done: a crash repeats it, and the marks with it.
    await markDirtyByEvents(postgres.service, lines, new Date(clock.now_ms()));
    await closeBlock(postgres.service, this.#topic, token);
    this.#unfinished.delete(token);
    metrics.sinkBlockRows.observe(lines.length);
    metrics.rowsSunk.inc(lines.length);
  }
}

/**
 * How many of the batches go into the next block, from the first on: at least one, and one of each partition. It is full
 * when no further batch would have room.
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
