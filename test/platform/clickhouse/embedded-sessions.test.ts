import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEmbeddedClickHouse } from '../../../src/platform/clickhouse/embedded.ts';
import { openTestClickHouse } from '../../engines/wiring.ts';
import type { ClickHouse } from '../../../src/platform/clickhouse/port.ts';

let dir: string;
let clickhouse: ClickHouse;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'embedded-sessions-'));
  clickhouse = await openTestClickHouse(dir);
  await clickhouse.command('create table numbers_kept (n UInt64) engine = MergeTree order by n');
});
afterAll(async () => {
  await clickhouse.close();
  await rm(dir, { recursive: true, force: true });
});

/** A question that takes 1.5 s or more, however fast the machine is; `tenant_id` asks it. */
function slow(tenant_id = 'slow'): Promise<unknown> {
  return clickhouse.query('select sum(sleepEachRow(0.1)) as s, {tenant_id:String} as t from numbers(15)', {
    tenant_id,
  });
}

/** Whether the work has ended. */
function watched(work: Promise<unknown>): { work: Promise<unknown>; hasEnded: () => boolean } {
  let ended = false;
  return { work: work.finally(() => (ended = true)), hasEnded: () => ended };
}

it('a slow question stops neither another one nor what is written, which is read at once', async () => {
  const first = watched(slow());
  await clickhouse.insertLines('numbers_kept', ['{"n":1}', '{"n":2}'], 'block-1');
  const [row] = await clickhouse.query<{ count: string }>('select count() as count from numbers_kept');
  expect(first.hasEnded()).toBe(false);
  expect(row).toEqual({ count: '2' });
  await first.work;
});

it('however many questions wait, rows are written and files are read meanwhile', async () => {
  const all = Array.from({ length: 5 }, () => watched(slow()));
  await clickhouse.command('insert into numbers_kept select number from numbers(3, 3)');
  expect(await readFile(new URL(import.meta.url), 'utf8')).toContain('files are read');
  expect(all.map(({ hasEnded }) => hasEnded())).toEqual(all.map(() => false));
  await Promise.all(all.map(({ work }) => work));
});

it('tenants take turns', async () => {
  const ended: string[] = [];
  const ask = (tenant_id: string) => slow(tenant_id).then(() => ended.push(tenant_id));
  await Promise.all([...Array.from({ length: 4 }, () => ask('many')), ask('one')]);
  // Two of `many` ran when `one` came; the next free session is for the next of `many`, or already for `one`.
  expect(ended.indexOf('one')).toBeLessThanOrEqual(3);
});

it('a failed statement leaves its session to the next', async () => {
  const failing = Array.from({ length: 5 }, () => clickhouse.query('select nonsense'));
  const results = await Promise.allSettled(failing);
  expect(results.map(({ status }) => status)).toEqual(failing.map(() => 'rejected'));
  await clickhouse.ping();
});

it('a close waits for what runs, and refuses what waits and what comes later', async () => {
  const other = await openEmbeddedClickHouse(dir);
  const running = [0, 1].map(() => other.query('select sum(sleepEachRow(0.1)) as s from numbers(3)'));
  const waiting = expect(other.ping()).rejects.toThrow('is closed');
  const closing = other.close();
  await expect(other.query('select 1')).rejects.toThrow('is closed');
  await waiting;
  expect(await Promise.all(running)).toHaveLength(2);
  await closing;
});

it('nothing begins after a close, even what had its turn just before', async () => {
  const other = await openEmbeddedClickHouse(dir);
  const first = other.command('insert into numbers_kept select 100');
  const second = other.command('insert into numbers_kept select 101');
  await first;
  const closing = other.close();
  await expect(second).rejects.toThrow('is closed');
  await closing;
});
