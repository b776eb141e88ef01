import { afterEach, beforeEach, inject } from 'vitest';
import { startAnalyticsSink } from '../../processors/analytics-sink/index.ts';
import { readConfig, type Servers } from '../../src/config.ts';
import { encodePlayerEvent, playerKey } from '../../src/ingest/events/envelope.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import type { LogConsumer, NewRecord } from '../../src/platform/event-log/port.ts';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import { newId } from '../../src/platform/ids.ts';
import { openDistributedPlatform } from '../../src/app/wiring/distributed.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { until } from '../engines/until.ts';
import { newInstallation } from '../engines/installation.ts';

/** Partitions of each topic. */
export const PARTITIONS = 48;
const [tenant_id, project_id] = [newId(), newId()];
let servers: Servers;
/** Two processes on the same servers. */
let platforms: Platform[];
let sinks: LogConsumer[];
/** Gives each test of the file two processes on new topics, and closes them after it. */
export function useTwoProcesses(): void {
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
}

const open = () => openDistributedPlatform(readConfig({ LOG_LEVEL: 'silent' }), servers);
/** One of the two processes. */
export const first = (): Platform => platforms[0] as Platform;
/** The other process. */
export const second = (): Platform => platforms[1] as Platform;

/** Starts a sink. `insertLines` replaces the way it writes to ClickHouse. */
export async function startSink(
  platform: Platform,
  insertLines?: ClickHouse['insertLines'],
): Promise<LogConsumer> {
  const clickhouse = { ...platform.clickhouse, ...(insertLines && { insertLines }) };
  const sink = await startAnalyticsSink({ ...platform, clickhouse });
  sinks.push(sink);
  return sink;
}

/** Makes events, each of a player of its own. */
export function newEvents(count: number): NewRecord[] {
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

/** Appends so many events to the log. */
export const append = (count: number) => first().eventLog.append(TOPICS.playerEvents, newEvents(count));

/** Resolves when the sink has read the whole log. */
export async function untilSunk(): Promise<void> {
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
export async function countStored(): Promise<number[]> {
  const rows = await first().clickhouse.query<{ n: string }>(
    `select count() as n from events where project_id = {project_id:UUID}
    union all select count() from events_by_player where project_id = {project_id:UUID}`,
    { project_id },
  );
  return [...rows.map(({ n }) => Number(n)), await countOpenPartitions()];
}

/** The partitions whose last block may not be in ClickHouse yet. */
export async function countOpenPartitions(): Promise<number> {
  const [row] = await first().postgres.service<{ n: bigint }[]>`
    select count(*) as n from sink_positions where block_token is not null`;
  return Number(row?.n);
}
