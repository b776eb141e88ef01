import { Gauge } from 'prom-client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startAnalyticsSink } from '../../../processors/analytics-sink/index.ts';
import { encodePlayerEvent } from '../../../src/ingest/events/envelope.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import {
  comparePositions,
  consumeWithStoredOffsets,
} from '../../../src/platform/event-log/stored-offsets.ts';
import {
  adoptLog,
  OFFSET_STORES,
  resumeLog,
  type OffsetStore,
} from '../../../src/platform/event-log/position-queries.ts';
import type { EventLog, LogBatch, LogConsumer, NewRecord } from '../../../src/platform/event-log/port.ts';
import { openPostgresLog } from '../../../src/platform/event-log/postgres-log.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import type { Db } from '../../../src/platform/postgres/port.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import type { TestPostgres } from '../../engines/shared-postgres.ts';
import { until } from '../../engines/until.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

const { topic, group } = OFFSET_STORES.fold;

let server: TestPostgres;
let sql: Db;
let eventLog: EventLog;
const logger = createLogger('silent');
const logged = vi.spyOn(logger, 'error');
const open: LogConsumer[] = [];
beforeEach(async () => {
  server = await openTestPostgres({ prepared: true });
  sql = connectPool(server.url);
  eventLog = await openPostgresLog({ sql, logger, clock: systemClock });
  await eventLog.ensureTopics([topic]);
  await append(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((consumer) => consumer.close()));
  await eventLog?.close();
  await sql?.end({ timeout: 5 });
  await server?.close();
  logged.mockClear();
});

const append = (...values: number[]) =>
  eventLog.append(
    topic,
    values.map((value) => ({ key: 'k', value: String(value) })),
  );

const remove = (from: number, to: number, of: string = topic) => sql`
  delete from event_log.records where log_offset between ${from} and ${to}
    and topic_id = (select topic_id from event_log.topics where topic = ${of})`;

/** A consumer as the fold is, with what was delivered to it. */
async function startFold(max_records = 100) {
  const refused = new Gauge({
    name: 'refused',
    help: 'refused',
    labelNames: ['group'] as const,
    registers: [],
  });
  const batches: LogBatch[] = [];
  const consumer = await consumeWithStoredOffsets({
    eventLog,
    sql,
    logger,
    refused,
    store: OFFSET_STORES.fold,
    consumer: {
      max_records,
      linger_ms: 0,
      async handle(batch) {
        batches.push(batch);
        const next = (batch.records.at(-1)?.offset ?? -1n) + 1n;
        await sql`
          insert into fold_positions as p (topic, partition, next_offset, emitted_offset)
          values (${topic}, 0, ${next}, ${batch.from})
          on conflict (topic, partition) do update set next_offset = greatest(p.next_offset, excluded.next_offset)`;
      },
    },
  });
  open.push(consumer);
  const seen = () => batches.flatMap(({ records }) => records.map(({ offset }) => Number(offset)));
  return { batches, seen, isRefused: async () => (await refused.get()).values[0]?.value === 1 };
}

/** What `npm run positions -- adopt` does; the consumer is stopped before. */
async function adopt(store: OffsetStore = OFFSET_STORES.fold): Promise<void> {
  await open.pop()?.close();
  const { stored, log, refusal } = await comparePositions({ eventLog, sql }, store);
  expect(refusal).toContain(`npm run positions -- adopt ${store.group}`);
  await adoptLog(sql, store, log, stored);
}

it('refuses the consumer before a hole, until an operator decides to go on behind it', async () => {
  await remove(3, 4);
  await remove(7, 7);
  const fold = await startFold(5);
  await until(async (saw) => saw(await fold.isRefused()));
  expect(fold.seen()).toEqual([0, 1, 2]);
  const says = logged.mock.calls.map(([, message]) => message);
  expect(says).toEqual([expect.stringMatching(/partition 0 lacks the records 3 to 4\b.*positions -- adopt/)]);

  await adopt();
  const second = await startFold();
  await until(async (saw) => saw(await second.isRefused()));
  expect(second.seen()).toEqual([5, 6]);
  await adopt();
  const third = await startFold();
  await until((saw) => saw(third.seen()).includes(9));
  expect(third.seen()).toEqual([8, 9]);
  // Each batch begins where the position is: nothing is passed over unseen.
  const batches = [...fold.batches, ...second.batches, ...third.batches];
  expect(batches.map(({ from, records }) => records[0]?.offset === from)).not.toContain(false);
});

it('stays refused when the records are back, until an operator says that they are', async () => {
  await remove(3, 4);
  const fold = await startFold();
  await until(async (saw) => saw(await fold.isRefused()));
  await sql`
    insert into event_log.records (topic_id, partition, log_offset, key, value)
    select topic_id, 0, r, 'k', r::text from event_log.topics, unnest('{3, 4}'::bigint[]) as r where topic = ${topic}`;
  const { log, refusal } = await comparePositions({ eventLog, sql }, OFFSET_STORES.fold);
  expect(refusal).toContain(`npm run positions -- resume ${group}`);
  await open.pop()?.close();
  await resumeLog(sql, OFFSET_STORES.fold, log);
  const resumed = await startFold();
  await until((saw) => saw(resumed.seen()).includes(9));
  expect([...fold.seen(), ...resumed.seen()]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

it('refuses the consumer where the last records were removed while the log was open', async () => {
  await remove(8, 9);
  const fold = await startFold();
  await until(async (saw) => saw(await fold.isRefused()));
  await adopt();
  await append(10);
  const next = await startFold();
  await until((saw) => saw(next.seen()).includes(10));
  expect([...fold.seen(), ...next.seen()]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 10]);
});

it('refuses a fold that cannot emit again what it applied, and goes on behind the hole', async () => {
  await sql`insert into fold_positions (topic, partition, next_offset, emitted_offset) values (${topic}, 0, 8, 2)`;
  await remove(4, 5);
  const fold = await startFold();
  await until(async (saw) => saw(await fold.isRefused()));
  expect(fold.seen()).toEqual([2, 3]);
  await adopt();
  expect(await sql`select next_offset, emitted_offset from fold_positions`).toEqual([
    { next_offset: 8n, emitted_offset: 6n },
  ]);
  const next = await startFold();
  await until((saw) => saw(next.seen()).includes(9));
  expect(next.seen()).toEqual([6, 7, 8, 9]);
});

it('takes records that were handled and then removed for no hole', async () => {
  await sql`insert into fold_positions (topic, partition, next_offset, emitted_offset) values (${topic}, 0, 6, 6)`;
  await remove(0, 5);
  const fold = await startFold();
  await until((saw) => saw(fold.seen()).includes(9));
  expect(fold.seen()).toEqual([6, 7, 8, 9]);
  expect(await fold.isRefused()).toBe(false);
});

it('says as an error what a consumer without a position of its own passes over', async () => {
  await remove(3, 4);
  await remove(9, 9);
  const seen: number[] = [];
  const handle = async ({ records }: LogBatch) =>
    void seen.push(...records.map(({ offset }) => Number(offset)));
  open.push(await eventLog.consume({ topic, group: 'other', max_records: 100, linger_ms: 0, handle }));
  await append(10);
  await until((saw) => saw(seen).includes(10));
  expect(seen).toEqual([0, 1, 2, 5, 6, 7, 8, 10]);
  const passed = logged.mock.calls.map(([fields]) => fields);
  expect(passed).toEqual([
    { group: 'other', topic, partition: 0, from: '3', to: '5' },
    { group: 'other', topic, partition: 0, from: '9', to: '10' },
  ]);
});

const project = { tenant_id: newId(), project_id: newId() };
/** An event on `player-events`, with a number to know it by. */
const playerEvent = (event_index: number): NewRecord => ({
  key: 'k',
  value: encodePlayerEvent({
    ...project,
    event: 'page_view',
    player_id: newId(),
    occurred_at: 1_770_000_000_000,
    received_at: 1_770_000_000_000,
    ingestion_id: newId(),
    event_index,
    base_amount: null,
    base_payout: null,
    properties: {},
  }),
});

it('takes no block of the sink for whole that has lost records', async () => {
  const { topic: events } = OFFSET_STORES.sink;
  await eventLog.ensureTopics([events]);
  await eventLog.append(events, [0, 1, 2, 3, 4, 5, 6, 7].map(playerEvent));
  const metrics = createMetrics();
  const start = async (insertLines: (lines: readonly string[]) => void) => {
    const clickhouse = { insertLines: async (_: string, lines: readonly string[]) => insertLines(lines) };
    const parts = { eventLog, postgres: { service: sql }, clickhouse, clock: systemClock, logger, metrics };
    open.push(await startAnalyticsSink(parts as unknown as Platform));
  };
  // The process dies while its block is open: the block has all records.
  let tries = 0;
  await start(() => {
    tries++;
    throw new Error('dead');
  });
  await until((saw) => saw(tries) > 0);
  await open.pop()?.close(0);
  await remove(4, 5, events);
  const stored = new Set<number>();
  const store = (lines: readonly string[]) => {
    for (const line of lines) stored.add((JSON.parse(line) as { event_index: number }).event_index);
  };
  await start(store);
  await until(async (saw) => saw((await metrics.consumersRefused.get()).values[0]?.value) === 1);
  expect([...stored]).toEqual([0, 1, 2, 3]);
  await adopt(OFFSET_STORES.sink);
  await start(store);
  await until((saw) => saw([...stored]).includes(7));
  expect([...stored]).toEqual([0, 1, 2, 3, 6, 7]);
});

it('leaves out no offset, whatever becomes of appends', async () => {
  const killer = connectPool(server.url, { max: 1 });
  let refused = 0;
  for (let round = 0; round < 20; round++) {
    const sizes = Array.from({ length: 5 }, (_, i) => round * 10 + i);
    const appends = sizes.map((size) =>
      append(...Array.from({ length: size }, () => size)).catch(() => refused++),
    );
    await killer`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query like '%insert into event_log%'`;
    await Promise.all(appends);
  }
  await until(async () =>
    append(-1).then(
      () => true,
      () => false,
    ),
  );
  const [row] = await killer<{ records: bigint; end: bigint }[]>`
    select count(*) as records, max(log_offset) + 1 as end from event_log.records`;
  await killer.end();
  expect(refused).toBeGreaterThan(0);
  expect(row?.records).toBe(row?.end);
});

it('does not wait for a log that gives no answer', async () => {
  const silent = vi.fn(() => new Promise<never>(() => undefined));
  const described = { ...eventLog, lag: () => Promise.resolve([]), describe: silent };
  for (const of_silence of [{ ...eventLog, lag: silent }, described]) {
    silent.mockClear();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const compared = comparePositions({ eventLog: of_silence, sql }, OFFSET_STORES.fold).catch(String);
      // The driver of Postgres answers by real events in between.
      while (silent.mock.calls.length === 0) await new Promise(setImmediate);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await compared).toContain('no answer in 10000 ms');
    } finally {
      vi.useRealTimers();
    }
  }
});
