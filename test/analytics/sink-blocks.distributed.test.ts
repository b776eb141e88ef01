import { expect, test } from 'vitest';
import { until } from '../engines/until.ts';
import type { NewRecord } from '../../src/platform/event-log/port.ts';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import {
  append,
  useTwoProcesses,
  first,
  newEvents,
  countOpenPartitions,
  second,
  startSink,
  countStored,
  untilSunk,
} from './sink-fixture.ts';

useTwoProcesses();

/** Whether the block that is being inserted has rows of many partitions. The log may give the first ones in parts. */
const isOfMany = async () => (await countOpenPartitions()) > 1;

test.each([
  ['before its rows are in ClickHouse', false],
  ['after its rows are in ClickHouse', true],
])('a block of many partitions is stored once when its sink dies %s', async (_, is_inserted) => {
  await append(500);
  const tokens: string[] = [];
  const dying = await startSink(first(), async (table, lines, token) => {
    const is_many = await isOfMany();
    if (is_inserted || !is_many) await first().clickhouse.insertLines(table, lines, token);
    if (!is_many) return;
    tokens.push(token);
    throw new Error('dead');
  });
  await until('a block of many partitions is tried', async (saw) => saw(tokens.length) > 0);
  await dying.close(100);
  expect(await countOpenPartitions()).toBeGreaterThan(1);
  await append(500);
  await startSink(second());
  await untilSunk();
  expect(await countStored()).toEqual([1_000, 1_000, 0]);
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
  expect(await countStored()).toEqual([500, 500, 0]);
});

test('a block is stored once when another sink takes over its partitions during the insert', async () => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const held: string[] = [];
  // Before the sink starts, so that its block has rows of many partitions: the other sink gets some of them.
  await append(500);
  await startSink(first(), async (table, lines, token) => {
    if (await isOfMany()) {
      held.push(token);
      await gate;
    }
    await first().clickhouse.insertLines(table, lines, token);
  });
  await until('a block of many partitions is held', async (saw) => saw(held.length) > 0);
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
  expect(await countStored()).toEqual([1_000, 1_000, 0]);
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
  expect(await countStored()).toEqual([101, 101, 0]);
  const { values } = await second().metrics.rowsUnreadable.get();
  expect(values[0]?.value).toBeGreaterThanOrEqual(broken.length);
});

test('a block of nothing but values that are no events is closed', async () => {
  await first().eventLog.append(TOPICS.playerEvents, [{ key: 'key', value: 'x' }]);
  await startSink(first());
  await untilSunk();
  expect(await countStored()).toEqual([0, 0, 0]);
});
