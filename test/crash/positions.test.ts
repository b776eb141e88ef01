import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { waitUntilFolded } from '../../src/analytics/caught-up.ts';
import { Fence } from '../../src/protection/fence.ts';
import { consumeWithStoredOffsets, refusalOf } from '../../src/platform/event-log/stored-offsets.ts';
import {
  adoptLog,
  OFFSET_STORES,
  readPositions,
  restartLog,
  resumeLog,
  type OffsetStore,
} from '../../src/platform/event-log/position-queries.ts';
import type { TopicState } from '../../src/platform/event-log/port.ts';
import { call } from '../engines/http-client.ts';
import { folded, startTestService, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';

// The command `npm run positions` needs a stopped service where the log is embedded; here its statements are called.

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ log_level: 'fatal' });
});
afterAll(() => service.close());

async function deposit(transaction_id: string): Promise<void> {
  const properties = { amount: 1, currency: 'EUR', transaction_id, payment_method: 'card' };
  const response = await call(`${service.ingest_url}/v1/events`, service.api_key, {
    body: { event: 'deposit_confirmed', anonymous_id: 'a', properties },
  });
  expect(response.status).toBe(202);
}

const becomesRefused = (wanted: boolean) =>
  until(`the fold is ${wanted ? 'refused' : 'started'}`, async (saw) => {
    const { values } = saw(await service.platform.metrics.consumersRefused.get());
    const is_refused = values.some(({ labels, value }) => labels.group === 'player-fold' && value === 1);
    return is_refused === wanted;
  });

async function adopt(): Promise<void> {
  const { postgres, eventLog } = service.platform;
  const stored = await readPositions(postgres.service, OFFSET_STORES.fold);
  await adoptLog(
    postgres.service,
    OFFSET_STORES.fold,
    await eventLog.describe(OFFSET_STORES.fold.topic),
    stored,
  );
  await becomesRefused(false);
}

/** Resolves after the consumer has compared its positions with the log again. */
async function staysRefused(): Promise<void> {
  const { eventLog } = service.platform;
  const looks = vi.spyOn(eventLog, 'describe');
  await until((saw) => saw(looks.mock.calls.length) >= 2);
  looks.mockRestore();
  await becomesRefused(true);
}

async function total(): Promise<bigint | undefined> {
  const [row] = await service.platform.postgres.service<{ total_deposited: bigint }[]>`
    select total_deposited from player_totals`;
  return row?.total_deposited;
}

const totalBecomes = (wanted: bigint) =>
  until(`the total is ${wanted}`, async (saw) => saw(await total()) === wanted);

it('stops the fold at positions that the log does not have, and goes on once they are adopted', async () => {
  const { service: sql } = service.platform.postgres;
  for (const id of ['1', '2', '3']) await deposit(id);
  await folded(service.platform);
  await totalBecomes(3n);

  // Beyond the end: the log has lost its last records.
  await sql`update fold_positions set next_offset = 4`;
  await becomesRefused(true);
  // What is accepted meanwhile counts, also when the log has grown beyond the positions again.
  await deposit('4');
  await deposit('5');
  await staysRefused();
  expect(await total()).toBe(3n);
  await expect(waitUntilFolded(service.platform, 0)).rejects.toThrow(/did not fit its log/);
  const fence = new Fence(service.platform);
  expect(await fence.wait(await fence.note(), new Set([0]), 0)).toEqual(new Set([0]));
  await adopt();
  await totalBecomes(5n);
  await waitUntilFolded(service.platform, 10_000);
  expect(await fence.wait(await fence.note(), new Set([0]), 0)).toEqual(new Set());
  expect(await sql`select next_offset from fold_positions`).toEqual([{ next_offset: 5n }]);

  // Before the first record: records were removed that are not applied.
  await sql`update fold_positions set next_offset = -1, emitted_offset = null`;
  await becomesRefused(true);
  await adopt();
  // It reads the log from its first record, and what was applied counts once.
  await deposit('6');
  await totalBecomes(6n);
  await folded(service.platform);
  expect(await total()).toBe(6n);
});

it('goes on in a log without its first records, and in one with fewer partitions', async () => {
  const { postgres, eventLog } = service.platform;
  const { service: sql } = postgres;
  const store = OFFSET_STORES.fold;
  for (const id of ['7', '8', '9']) await deposit(id);
  await waitUntilFolded(service.platform, 10_000);
  const before = (await total()) ?? 0n;
  const whole = await eventLog.describe(store.topic);
  const end = whole.partitions.get(0)?.end ?? 0n;
  // Kafka removes records by time or size; the embedded log never does.
  const log = { ...whole, partitions: new Map([[0, { first: 2n, end }]]) };
  const refusal = async () => refusalOf(store, await readPositions(sql, store), log);
  const { next_offsets } = await readPositions(sql, store);

  await sql`update consumed_logs set log_id = 'another' where group_name = ${store.group}`;
  expect(await refusal()).toMatch(/belong to the log another/);
  await restartLog(sql, store, log);
  expect(await refusal()).toBeUndefined();

  // As it was left by a command of an earlier version.
  await sql`delete from fold_positions`;
  expect(await refusal()).toMatch(/begins at 2, after the position 0/);
  await adoptLog(sql, store, log, await readPositions(sql, store));
  expect(await refusal()).toBeUndefined();

  await sql`insert into fold_positions (topic, partition, next_offset) values (${store.topic}, 1, 5)`;
  expect(await refusal()).toMatch(/partition 1 is missing/);
  await adoptLog(sql, store, log, await readPositions(sql, store));
  expect(await refusal()).toBeUndefined();

  // The log is complete again.
  await becomesRefused(false);
  await sql`update fold_positions set next_offset = 100`;
  await becomesRefused(true);
  await sql`update fold_positions set next_offset = ${next_offsets.get(0) ?? 0n}`;
  expect(await refusal()).toContain('npm run positions -- resume player-fold');
  await resumeLog(sql, store, log);
  await becomesRefused(false);
  // As when a partition's start was refused, and an operator has decided before the consumer compares again.
  service.platform.metrics.consumersRefused.set({ group: store.group }, 1);
  await becomesRefused(false);
  await deposit('10');
  await totalBecomes(before + 1n);
});

it.each(['fold_positions', 'sink_positions'] as const)(
  'adopting a log that lost records in one partition does not move the position of another (%s)',
  async (table) => {
    const { postgres, eventLog, metrics, logger } = service.platform;
    const { service: sql } = postgres;
    const store: OffsetStore = {
      group: `two-partitions-${table}`,
      topic: `two-partitions-${table}`,
      table,
    };
    const { topic } = store;
    const move = (partition: number, next: number) =>
      sql`update ${sql(table)} set next_offset = ${next} where topic = ${topic} and partition = ${partition}`;
    let log: TopicState = logOf(500n, 1_000n);
    let is_running = false;
    let afterLook = () => Promise.resolve();
    const consumer = await consumeWithStoredOffsets({
      eventLog: {
        ...eventLog,
        lag: async () => [],
        async describe() {
          const state = log;
          await afterLook();
          return state;
        },
        async consume() {
          is_running = true;
          return {
            async close() {
              is_running = false;
            },
          };
        },
      },
      sql,
      logger,
      refused: metrics.consumersRefused,
      store,
      consumer: { max_records: 1, linger_ms: 0, handle: () => Promise.resolve() },
    });
    try {
      await move(0, 500);
      await move(1, 1_000);
      // Partition 0 loses its tail. Partition 1 does not, and is consumed until the consumer is stopped.
      log = logOf(400n, 1_000n);
      afterLook = async () => {
        await move(1, 1_100);
        if (table === 'sink_positions')
          await sql`update sink_positions set block_end = 1150, block_token = 'token' where topic = ${topic} and partition = 1`;
      };
      await until(() => !is_running);
      log = logOf(600n, 1_200n);
      const stored = await readPositions(sql, store);
      expect(refusalOf(store, stored, log)).toContain('(partition 0 ended at 400, before the position 500)');
      await adoptLog(sql, store, log, stored);
      expect((await readPositions(sql, store)).next_offsets).toEqual(
        new Map([
          [0, 400n],
          [1, 1_100n],
        ]),
      );
      if (table === 'sink_positions')
        expect(await sql`select partition from sink_positions where block_token is not null`).toEqual([
          { partition: 1 },
        ]);
      // The look at the log is older than the position, as when the command is given while the consumer runs.
      await sql`update consumed_logs set log_id = 'another' where topic = ${topic}`;
      const before = await readPositions(sql, store);
      await move(1, 1_300);
      await adoptLog(sql, store, log, before);
      expect((await readPositions(sql, store)).next_offsets.get(1)).toBe(1_300n);
    } finally {
      await consumer.close();
    }
  },
);

/** A log with two partitions that end so. */
const logOf = (...ends: bigint[]): TopicState => ({
  id: 'a log with two partitions',
  partitions: new Map(ends.map((end, partition) => [partition, { first: 0n, end }])),
});
