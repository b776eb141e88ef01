import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectClickHouse } from '../../../src/platform/clickhouse/http.ts';
import { migrateClickHouse } from '../../../src/platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../../src/platform/clickhouse/port.ts';
import { newId } from '../../../src/platform/ids.ts';
import { newInstallation } from '../../engines/installation.ts';

let clickhouse: ClickHouse;
beforeAll(async () => {
  const { clickhouse_url } = await newInstallation(inject('servers'));
  clickhouse = connectClickHouse(clickhouse_url);
});
afterAll(async () => clickhouse?.close());

test('the server receives parameters unchanged', async () => {
  const params = {
    text: "it's\ta \\ 'quote'\nü🎰",
    list: ["a'b", 'c\\d'],
    id: '9007199254740993',
    none: null,
  };
  const rows = await clickhouse.query(
    'select {text:String} as text, {list:Array(String)} as list, toString({id:UInt64}) as id, {none:Nullable(String)} as none',
    params,
  );
  expect(rows).toEqual([params]);
});

test('the server receives parameters that are too long for a URL unchanged', async () => {
  const ids = Array.from({ length: 2_000 }, () => newId());
  const text = "it's\ta \\ 'quote'\r\n--boundary\r\nü🎰".repeat(2_000);
  expect(text.length).toBeGreaterThan(64 * 1024);
  const sql =
    'select {text:String} as text, {ids:Array(UUID)} as ids, {none:Nullable(String)} as none, ' +
    'has({ids:Array(UUID)}, {last:UUID}) as has_last';
  const rows = await clickhouse.query(sql, { text, ids, none: null, last: ids.at(-1) });
  expect(rows).toEqual([{ text, ids, none: null, has_last: 1 }]);
  // The next statement has short parameters and sends them in the URL again.
  expect(await clickhouse.query('select {text:String} as text', { text: 'short' })).toEqual([
    { text: 'short' },
  ]);
});

test('a file has the whole result, also of a statement with long parameters', async () => {
  const ids = Array.from({ length: 3_000 }, () => newId());
  const sql = 'select number as n, has({ids:Array(UUID)}, {id:UUID}) as is_there from numbers(100000)';
  const file = await buffer(await clickhouse.file('Parquet', sql, { ids, id: ids[1] }));
  expect(file.subarray(0, 4).toString()).toBe('PAR1');
  expect(file.subarray(-4).toString()).toBe('PAR1');
});

test('a statement that fails after its first rows gives no file', async () => {
  const sql =
    "select throwIf(number = 900000, 'too late') as n from numbers(1000000) settings max_block_size = 1000";
  await expect(clickhouse.file('Parquet', sql)).rejects.toThrow('too late');
});

test('the schema can be applied twice', async () => {
  await migrateClickHouse(clickhouse);
  await migrateClickHouse(clickhouse);
  const rows = await clickhouse.query<{ name: string }>('show tables');
  expect(rows.map((row) => row.name)).toContain('events');
});

test('blocks with the same token are inserted once', async () => {
  await clickhouse.command(
    'create table counted (n UInt64) engine = MergeTree order by n settings non_replicated_deduplication_window = 100',
  );
  const lines = ['{"n":1}', '{"n":2,"unknown":true}'];
  await clickhouse.insertLines('counted', lines, 'block-1');
  await clickhouse.insertLines('counted', lines, 'block-1');
  await clickhouse.insertLines('counted', lines, 'block-2');
  await clickhouse.insertLines('counted', [], 'block-3');
  const [row] = await clickhouse.query<{ n: string }>('select toString(count()) as n from counted');
  expect(row?.n).toBe('4');
});

test('a wrong statement is refused with its error code, and the next statement works', async () => {
  await expect(clickhouse.query('select * from nowhere')).rejects.toMatchObject({ code: '60' });
  await expect(clickhouse.query('selec 1')).rejects.toMatchObject({ code: '62' });
  await clickhouse.ping();
  expect(await clickhouse.query('select 1 as one')).toEqual([{ one: 1 }]);
});
