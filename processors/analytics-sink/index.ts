import type { LogBatch, LogConsumer, LogRecord } from '../../src/platform/event-log/port.ts';
import { GROUPS, TOPICS } from '../../src/platform/event-log/topics.ts';
import {
  closeBlock,
  openBlock,
  readSinkPositions,
  type SinkPosition,
} from '../../src/analytics/sink-queries.ts';
import { markDirtyByEvents } from '../../src/segments/dirty-players.ts';
import type { Platform } from '../../src/wiring/platform.ts';

/** A block is a batch, which the log bounds in bytes as well. */
const MAX_BLOCK = 50_000;
const LINGER_MS = 150;

/**
 * analytics-sink: `player-events` → ClickHouse `events`; then the players of the events are queued for their segments. The values are ClickHouse rows already. A block's
 * range is recorded before it is inserted; dying in between makes the next sink insert the same block under
 * the same token, which ClickHouse drops if it has it.
 */
export async function startAnalyticsSink(platform: Platform): Promise<LogConsumer> {
  const { eventLog, postgres } = platform;
  const topic = TOPICS.playerEvents;
  return eventLog.consume({
    topic,
    group: GROUPS.sink,
    max_records: MAX_BLOCK,
    linger_ms: LINGER_MS,
    async handle(batch) {
      const positions = await readSinkPositions(postgres.service, topic);
      const position = positions.find(({ partition }) => partition === batch.partition);
      const done = await finishOpenBlock(platform, topic, position);
      const fresh = batch.records.filter((record) => record.offset >= done);
      if (fresh.length > 0) await sinkBlock(platform, batch, fresh);
    },
  });
}

/** Repeats a block that a dead sink may or may not have inserted; returns the first offset not yet sunk. */
async function finishOpenBlock(
  platform: Platform,
  topic: string,
  position: SinkPosition | undefined,
): Promise<bigint> {
  if (position === undefined) return 0n;
  const { partition, next_offset, block_end } = position;
  if (block_end === null) return next_offset;
  const records: LogRecord[] = [];
  for await (const part of platform.eventLog.read(topic, partition, next_offset, block_end))
    records.push(...part.records);
  await insertBlock(platform, topic, partition, next_offset, block_end, records);
  await closeBlock(platform.postgres.service, topic, partition, block_end);
  return block_end;
}

async function sinkBlock(platform: Platform, batch: LogBatch, records: readonly LogRecord[]): Promise<void> {
  const { service } = platform.postgres;
  const { topic, partition } = batch;
  const from = records[0]?.offset ?? 0n;
  const to = (records.at(-1)?.offset ?? 0n) + 1n;
  if (!(await openBlock(service, topic, partition, from, to))) {
    throw new Error(`another sink works on ${topic}/${partition}; this one starts over`);
  }
  await insertBlock(platform, topic, partition, from, to, records);
  await closeBlock(service, topic, partition, to);
}

async function insertBlock(
  platform: Platform,
  topic: string,
  partition: number,
  from: bigint,
  to: bigint,
  records: readonly LogRecord[],
): Promise<void> {
  const lines = records.map((record) => record.value);
  await platform.clickhouse.insertLines('events', lines, `${topic}:${partition}:${from}-${to}`);
  // Before the block counts as done: a crash repeats it, and the marks with it.
  await markDirtyByEvents(platform.postgres.service, lines, new Date(platform.clock.now_ms()));
  platform.metrics.rowsSunk.inc(lines.length);
}
