import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { startAnalyticsSink } from '../../processors/analytics-sink/index.ts';
import { readConfig, type Servers } from '../../src/config.ts';
import { encodePlayerEvent, playerKey } from '../../src/ingest/events/envelope.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import type { LogConsumer, NewRecord } from '../../src/platform/event-log/port.ts';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import { newId } from '../../src/platform/ids.ts';
import { openDistributedPlatform } from '../../src/wiring/distributed.ts';
import type { Platform } from '../../src/wiring/platform.ts';
import { until } from '../engines/until.ts';
import { newInstallation } from '../engines/installation.ts';

const PARTITIONS = 48;
const [tenant_id, project_id] = [newId(), newId()];
let servers: Servers;
/** Two processes on the same servers. */
let platforms: Platform[];
let sinks: LogConsumer[];
beforeEach(async () => {
  servers = await newInstallation(inject('servers'), PARTITIONS);
  platforms = [await open(), await open()];
  sinks = [];
  // A merge removes duplicate rows; without merges a row that was inserted twice counts twice.
  await first().clickhouse.command('system stop merges events');
  await first().clickhouse.command('system stop merges events_by_player');
});
afterEach(async () => {
  for (const sink of sinks) await sink.close(100);
  for (const platform of platforms) await platform.close();
});

const open = () => openDistributedPlatform(readConfig({ LOG_LEVEL: 'silent' }), servers);
const first = (): Platform => platforms[0] as Platform;
const second = (): Platform => platforms[1] as Platform;

/** Starts a sink. `insert` replaces the way it writes to ClickHouse. */
async function startSink(platform: Platform, insertLines?: ClickHouse['insertLines']): Promise<LogConsumer> {
  const clickhouse = { ...platform.clickhouse, ...(insertLines && { insertLines }) };
  const sink = await startAnalyticsSink({ ...platform, clickhouse });
  sinks.push(sink);
  return sink;
}

/** Makes events, each of a player of its own. */
function newEvents(count: number): NewRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const player_id = newId();
    const row = {
      tenant_id,
      project_id,
      event: 'page_view',
      player_id,
      occurred_at: 1_770_000_000_000 + i,
      received_at: 1_770_000_000_100 + i,
      ingestion_id: newId(),
      event_index: 0,
      base_amount: null,
      base_payout: null,
      properties: {},
    };
    return { key: playerKey(project_id, player_id), value: encodePlayerEvent(row) };
  });
}

const append = (count: number) => first().eventLog.append(TOPICS.playerEvents, newEvents(count));

async function untilSunk(): Promise<void> {
  await until(
    'the sink reaches the end of the log',
    async (saw) => {
      const lag = saw(await first().eventLog.lag(TOPICS.playerEvents, 'analytics-sink'));
      return lag.every(({ next_offset, end_offset }) => next_offset >= end_offset);
    },
    60_000,
  );
}

/** Counts the rows of both tables, duplicates included, and the partitions that have an open block. */
async function stored(): Promise<number[]> {
  const rows = await first().clickhouse.query<{ n: string }>(
    `select count() as n from events where project_id = {project_id:UUID}
    union all select count() from events_by_player where project_id = {project_id:UUID}`,
    { project_id },
  );
  return [...rows.map(({ n }) => Number(n)), await openPartitions()];
}

async function openPartitions(): Promise<number> {
  const [row] = await first().postgres.service<{ n: bigint }[]>`
    select count(*) as n from sink_positions where block_token is not null`;
  return Number(row?.n);
}

test('48 partitions cause at most ten inserts a second, and every row is stored once', async () => {
  await startSink(first());
  let sent = 0;
  const started_ms = performance.now();
  while (performance.now() < started_ms + 4_000) {
    await append(100);
    sent += 100;
    await sleep(10);
  }
  await untilSunk();
  const seconds = (performance.now() - started_ms) / 1_000;
  const ends = await first().eventLog.endOffsets(TOPICS.playerEvents);
  expect([...ends.values()].filter((end) => end > 0n)).toHaveLength(PARTITIONS);
  const { values } = await first().metrics.sinkBlockRows.get();
  const inserts = values.find(({ metricName }) => metricName === 'sink_block_rows_count')?.value ?? 0;
  expect(inserts).toBeGreaterThan(3);
  expect(inserts).toBeLessThanOrEqual(10 * seconds + 1);
  expect(await stored()).toEqual([sent, sent, 0]);
});

test.each([
  ['before its rows are in ClickHouse', false],
  ['after its rows are in ClickHouse', true],
])('a block of many partitions is stored once when its sink dies %s', async (_, is_inserted) => {
  await append(500);
  const tokens: string[] = [];
  const dying = await startSink(first(), async (table, lines, token) => {
    if (is_inserted) await first().clickhouse.insertLines(table, lines, token);
    tokens.push(token);
    throw new Error('dead');
  });
  await until('a block is tried', async (saw) => saw(tokens.length) > 0);
  await dying.close(100);
  expect(await openPartitions()).toBeGreaterThan(1);
  await append(500);
  await startSink(second());
  await untilSunk();
  expect(await stored()).toEqual([1_000, 1_000, 0]);
});

test('a failed insert is retried with the same rows and the same token', async () => {
  const tries = new Map<string, (readonly string[])[]>();
  let failures = 0;
  await startSink(first(), async (table, lines, token) => {
    tries.set(token, [...(tries.get(token) ?? []), lines]);
    if (failures < 4) throw new Error(`ClickHouse is away ${++failures}`);
    await first().clickhouse.insertLines(table, lines, token);
  });
  await append(500);
  await untilSunk();
  expect(Math.max(...[...tries.values()].map((blocks) => blocks.length))).toBeGreaterThan(1);
  for (const blocks of tries.values()) for (const lines of blocks) expect(lines).toEqual(blocks[0]);
  expect(await stored()).toEqual([500, 500, 0]);
});

test('a block is stored once when another sink takes over its partitions during the insert', async () => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const held: string[] = [];
  // Before the sink starts, so that its block has rows of many partitions: the other sink gets some of them.
  await append(500);
  await startSink(first(), async (table, lines, token) => {
    held.push(token);
    await gate;
    await first().clickhouse.insertLines(table, lines, token);
  });
  await until('a block is held', async (saw) => saw(held.length) > 0);
  expect(await openPartitions()).toBeGreaterThan(1);
  const by_second: string[] = [];
  await startSink(second(), async (table, lines, token) => {
    by_second.push(token);
    await second().clickhouse.insertLines(table, lines, token);
  });
  await append(500);
  await until('the other sink repeats it', async () => by_second.includes(held[0] ?? ''), 60_000);
  release();
  await untilSunk();
  expect(by_second.length).toBeGreaterThan(1);
  expect(await stored()).toEqual([1_000, 1_000, 0]);
});

test('a value that is no event stops neither its block nor the repeat of the block', async () => {
  const [event] = newEvents(1);
  const broken = ['', 'x', '{}', '[1]', '{"tenant_id":"'].map((value, i) => ({ key: `key-${i}`, value }));
  await first().eventLog.append(TOPICS.playerEvents, [...newEvents(100), ...broken, event as NewRecord]);
  const tries = new Map<string, (readonly string[])[]>();
  const note = (lines: readonly string[], token: string) =>
    tries.set(token, [...(tries.get(token) ?? []), lines]);
  const dying = await startSink(first(), async (table, lines, token) => {
    await first().clickhouse.insertLines(table, lines, token);
    note(lines, token);
    throw new Error('dead');
  });
  await until('a block is tried', async (saw) => saw(tries.size) > 0);
  await dying.close(100);
  await startSink(second(), async (table, lines, token) => {
    note(lines, token);
    await second().clickhouse.insertLines(table, lines, token);
  });
  await untilSunk();
  for (const blocks of tries.values()) for (const lines of blocks) expect(lines).toEqual(blocks[0]);
  expect(await stored()).toEqual([101, 101, 0]);
  const { values } = await second().metrics.rowsUnreadable.get();
  expect(values[0]?.value).toBeGreaterThanOrEqual(broken.length);
});

test('a block of nothing but values that are no events is closed', async () => {
  await first().eventLog.append(TOPICS.playerEvents, [{ key: 'key', value: 'x' }]);
  await startSink(first());
  await untilSunk();
  expect(await stored()).toEqual([0, 0, 0]);
});
