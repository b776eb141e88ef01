import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { startPolling } from '../../../src/platform/poll-loop.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import type { Db } from '../../../src/platform/postgres/port.ts';
import { dueWork } from '../../../src/platform/call-queue/lane-queries.ts';
import { openWorkWatch } from '../../../src/platform/postgres/work-watch.ts';
import type { TestPostgres } from '../../engines/shared-postgres.ts';
import { until } from '../../engines/until.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

const NEVER_MS = 600_000;
const logger = createLogger('silent');
const pauses = { name: 'loop', logger, idle_pause_ms: 1, longest_pause_ms: 1, longest_wait_ms: NEVER_MS };

let engine: TestPostgres;
let sql: Db;

beforeAll(async () => {
  engine = await openTestPostgres();
  sql = connectPool(engine.url);
  await sql`create table queue (item integer primary key, next_at timestamptz not null default '-infinity')`;
});
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await engine.close();
});

const openWatch = () => openWorkWatch({ sql, logger });

it('a loop has a turn only when its query finds work, and again until the work is done', async () => {
  const watch = openWatch();
  const [turns, others] = [{ empty: 0, worked: 0 }, { count: 0 }];
  let asked = 0;
  const work = watch.watch((tx) => (asked++, tx`select from queue order by item limit 1`), systemClock);
  const loop = startPolling({ ...pauses, work }, async () => {
    const done = await sql`delete from queue where item = (select min(item) from queue)`;
    turns[done.count === 0 ? 'empty' : 'worked'] += 1;
    return false;
  });
  const other = startPolling(
    { ...pauses, work: watch.watch((tx) => tx`select where false`, systemClock) },
    () => (others.count++, Promise.resolve(false)),
  );
  await until(() => asked >= 2);
  await sql`insert into queue (item) values (1), (2), (3)`;
  await until(() => turns.worked === 3);
  // Its last turn found work, and the query finds none any more, however often it is asked.
  const before = asked;
  await until(() => asked >= before + 5);
  expect({ turns, others }).toEqual({ turns: { empty: 0, worked: 3 }, others: { count: 0 } });
  await Promise.all([loop.close(), other.close()]);
});

it('all loops look for themselves while the statement fails, and after their longest wait', async () => {
  const watch = openWatch();
  let is_broken = true;
  watch.watch((tx) => (is_broken ? tx`select from no_such_table` : tx`select where false`), systemClock);
  const work = watch.watch((tx) => tx`select where false`, systemClock);
  let turns = 0;
  const loop = startPolling({ ...pauses, work }, () => Promise.resolve(++turns < 0));
  await until(() => turns >= 3);
  is_broken = false;
  const late = startPolling({ ...pauses, work, longest_wait_ms: 1 }, () => Promise.resolve(++turns < 0));
  const before = turns;
  await until(() => turns >= before + 3);
  await Promise.all([loop.close(), late.close()]);
});

it('waking and closing end the wait', async () => {
  const watch = openWatch();
  let asked = 0;
  const work = watch.watch((tx) => (asked++, tx`select where false`), systemClock);
  let turns = 0;
  const loop = startPolling({ ...pauses, work }, () => Promise.resolve(++turns < 0));
  await until(() => asked > 0);
  loop.wake();
  await until(() => turns === 1);
  await loop.close();
  expect(turns).toBe(1);
});

it('a wake ends the pause of a quiet service', async () => {
  const asked = { woken: 0, other: 0 };
  const [woken, other] = [openWatch(), openWatch()];
  const over = new AbortController();
  const waiting = [
    woken.watch((tx) => (asked.woken++, tx`select where false`), systemClock),
    other.watch((tx) => (asked.other++, tx`select where false`), systemClock),
  ].map((work) => work.untilFound(over.signal, NEVER_MS));
  await until(() => asked.woken >= 2 && asked.other >= 2);
  // From now on nothing has happened for years.
  vi.spyOn(performance, 'now').mockReturnValue(1e12);
  onTestFinished(() => void vi.restoreAllMocks());
  // The pauses that had begun before end.
  const before = { ...asked };
  await until(() => asked.woken > before.woken && asked.other > before.other);
  const quiet = { ...asked };
  woken.wake();
  await until(() => asked.woken >= quiet.woken + 5);
  expect(asked.other).toBeLessThanOrEqual(quiet.other + 1);
  over.abort();
  await Promise.all(waiting);
});

it('nothing is asked while nobody waits', async () => {
  const watch = openWatch();
  let asked = 0;
  const nothing = watch.watch((tx) => (asked++, tx`select where false`), systemClock);
  const over = new AbortController();
  const waiting = nothing.untilFound(over.signal, NEVER_MS);
  await until(() => asked >= 2);
  over.abort();
  await waiting;
  const before = asked;
  // Another watch is asked three times meanwhile, at the same pauses.
  let others = 0;
  const other = openWatch().watch((tx) => (others++, tx`select where false`), systemClock);
  const end = new AbortController();
  const waited = other.untilFound(end.signal, NEVER_MS);
  await until(() => others >= 3);
  end.abort();
  await waited;
  // One statement may have been on its way when the last one stopped waiting.
  expect(asked).toBeLessThanOrEqual(before + 1);
});

it('the time of a query is that of the clock', async () => {
  const now_ms = Date.parse('2031-01-01T00:00:00Z');
  const times: Date[] = [];
  const watch = openWatch();
  const clock = { now_ms: () => now_ms };
  const work = watch.watch(
    (tx, now) => (times.push(now), tx`select where ${now} > '2030-12-31'::timestamptz`),
    clock,
  );
  await work.untilFound(new AbortController().signal, NEVER_MS);
  expect(times).toEqual([new Date(now_ms)]);
});

it('a queue of calls has work when one is due, however many wait for later', async () => {
  const now = new Date('2031-01-01T00:00:00Z');
  const queue = { table: 'queue', due: 'next_at', waits: () => sql`true` };
  const isDue = async () => (await dueWork(sql, queue, now)).length > 0;
  await sql`delete from queue`;
  expect(await isDue()).toBe(false);
  await sql`insert into queue select n, '2031-01-01T00:00:00.001Z' from generate_series(1, 1000) n`;
  expect(await isDue()).toBe(false);
  await sql`insert into queue values (1001, '2031-01-01T00:00:00Z')`;
  expect(await isDue()).toBe(true);
});
