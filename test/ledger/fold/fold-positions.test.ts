import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startPlayerFold } from '../../../processors/player-fold/index.ts';
import { foldBatch } from '../../../src/ledger/fold/fold-batch.ts';
import {
  PositionMoved,
  type ConsumeOptions,
  type EventLog,
  type NewRecord,
} from '../../../src/platform/event-log/port.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import { until } from '../../engines/until.ts';
import { batchOf, deposit, openFoldFixture, totalsOf, type FoldFixture, type Given } from './fold-fixture.ts';

/** The fold applies at most this many records in one transaction. */
const PART = 2_000;

let fixture: FoldFixture;
let project: ProjectRef;
/** Each test has a topic of its own, and so positions of its own. */
let topic: string;
beforeAll(async () => {
  fixture = await openFoldFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  project = await fixture.newTenant();
  topic = `events-${project.project_id}`;
});

const session = (anonymous_id: string): Given => ({ event: 'session_start', anonymous_id });

/** A gate that callers wait at until it is opened. */
function newGate(): { open: () => void; passed: Promise<void> } {
  let open = () => undefined as void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { open, passed };
}

it('applies a record once when the position moves while the part before it is replayed', async () => {
  const batch = batchOf(project, [session('a'), session('a'), session('a')], { topic });
  const fold = fixture.newFold();
  await foldBatch(fold, { ...batch, records: batch.records.slice(0, 2) });
  const gate = newGate();
  // The replay is the only transaction with settings.
  const begin = async (...args: unknown[]) => {
    if (args.length === 2) await gate.passed;
    return (fixture.sql.begin as (...args: unknown[]) => Promise<unknown>)(...args);
  };
  const sql = new Proxy(fixture.sql, {
    get: (target, name) => (name === 'begin' ? begin : (Reflect.get(target, name) as unknown)),
  });
  const straddling = foldBatch({ ...fold, sql }, batch);
  await foldBatch(fold, { ...batch, records: batch.records.slice(2) });
  gate.open();
  expect((await straddling).events).toHaveLength(3);
  expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ session_count: 3n });
});

it('passes over no record when Postgres has lost what was applied', async () => {
  const batch = batchOf(project, [session('a'), session('a'), session('a'), deposit('a', 't', 5)], { topic });
  const fold = fixture.newFold();
  await foldBatch(fold, { ...batch, records: batch.records.slice(0, 3) });
  // As after a failover to a standby without the last commits, while this process goes on.
  await fixture.sql`update fold_positions set next_offset = 1, emitted_offset = 0 where topic = ${topic}`;
  await fixture.sql`update player_totals set session_count = 1 where project_id = ${project.project_id}`;
  const rest = { ...batch, from: 3n, records: batch.records.slice(3) };
  await expect(foldBatch(fold, rest)).rejects.toThrow(PositionMoved);
  await foldBatch(fold, { ...batch, from: 1n, records: batch.records.slice(1) });
  expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ session_count: 3n, total_deposited: 5n });
});

it('gives a batch up only when the fold of its next part has ended, and emits all of it when it comes again', async () => {
  const fold = fixture.newFold();
  const gate = newGate();
  let consumer: ConsumeOptions | undefined;
  let is_down = true;
  const emitted: NewRecord[] = [];
  const eventLog = {
    lag: async () => [],
    describe: async () => ({ id: 'log', partitions: new Map([[0, { first: 0n, end: 0n }]]) }),
    consume: async (options: ConsumeOptions) => {
      consumer = options;
      return { close: async () => undefined };
    },
    async append(_topic: string, records: readonly NewRecord[]) {
      if (is_down) throw new Error('the log does not answer');
      emitted.push(...records);
    },
  } as unknown as EventLog;
  const postgres = { service: fixture.sql };
  const running = await startPlayerFold(
    { ...fold, postgres, eventLog } as unknown as Platform,
    fold.thresholds,
  );
  const events = [...Array.from({ length: PART }, () => session('a')), deposit('a', 't', 5)];
  const batch = batchOf(project, events, { topic });
  await foldBatch(fold, { ...batch, records: batch.records.slice(0, PART) });
  let has_ended = false;
  // The first part is only emitted, which fails, while the second one waits for this lock.
  const locked = newGate();
  const lock = fixture.sql.begin(async (tx) => {
    await tx`select from fold_positions where topic = ${topic} for update`;
    locked.open();
    await gate.passed;
  });
  await locked.passed;
  const handled = consumer?.handle(batch).then(
    () => 'handled',
    (error: Error) => ((has_ended = true), error.message),
  );
  await fixture.someoneWaits();
  // A turn of Postgres later the failed append has been seen.
  await fixture.sql`select 1`;
  expect(has_ended).toBe(false);
  gate.open();
  await lock;
  expect(await handled).toBe('the log does not answer');
  is_down = false;
  await consumer?.handle(batch);
  await until(() => emitted.some(({ value }) => value.includes('deposit_confirmed')));
  expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({
    session_count: BigInt(PART),
    total_deposited: 5n,
  });
  await running.close();
});
