import { afterAll, beforeAll, expect, expectTypeOf, it } from 'vitest';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import type { Db } from '../../../src/platform/postgres/port.ts';
import { rowsOf, type Column } from '../../../src/platform/postgres/rows.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

let server: Awaited<ReturnType<typeof openTestPostgres>>;
let sql: Db;
beforeAll(async () => {
  server = await openTestPostgres();
  sql = connectPool(server.url, { max: 1 });
  await sql`create type test_mood as enum ('calm', 'wild')`;
});
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await server.close();
});

const ID = '0197b2a4-0000-7000-8000-000000000001';
const AT = new Date('2026-05-04T03:02:01.123Z');
const full = {
  id: ID as string | null,
  name: 'a "quoted" \\ {list}, NULL' as string | null,
  big: (2n ** 63n - 1n) as bigint | null,
  whole: -5 as number | null,
  small: 3 as number | null,
  exact: '12345678901234567890.000000001' as string | null,
  flag: false as boolean | null,
  at: AT as Date | null,
  bytes: Buffer.from([0, 92, 34, 255]) as Buffer | null,
  json: '{"a":"\\"\\\\"}' as string | null,
  mood: 'wild' as 'calm' | 'wild' | null,
};
const empty: typeof full = {
  id: null,
  name: null,
  big: null,
  whole: null,
  small: null,
  exact: null,
  flag: null,
  at: null,
  bytes: null,
  json: null,
  mood: null,
};
const COLUMNS = {
  id: 'uuid',
  name: 'text',
  big: 'bigint',
  whole: 'integer',
  small: 'smallint',
  exact: 'numeric',
  flag: 'boolean',
  at: 'timestamptz',
  bytes: 'bytea',
  json: 'jsonb',
  mood: 'enum test_mood',
} as const;

it('every type passes through Postgres unchanged, and null with it', async () => {
  const read =
    await sql`select * from ${rowsOf(sql, 'r', [full, empty], { ...COLUMNS, place: 'ordinality' })} order by place`;
  expect(read).toEqual([
    { ...full, json: { a: '"\\' }, place: 1n },
    { ...empty, place: 2n },
  ]);
});

it('columns have the types that are named, whatever the values', async () => {
  const [types] = await sql`select ${sql.unsafe(
    Object.keys(COLUMNS)
      .map((name) => `pg_typeof(r.${name})::text as ${name}`)
      .join(', '),
  )} from ${rowsOf(sql, 'r', [empty], COLUMNS)}`;
  expect(types).toEqual({
    ...COLUMNS,
    at: 'timestamp with time zone',
    mood: 'test_mood',
  });
});

it('an empty list has no rows', async () => {
  expect(await sql`select * from ${rowsOf(sql, 'r', [], { id: ['uuid', () => ID] })}`).toEqual([]);
});

it('computes columns from the row and its index, and names the relation', async () => {
  const list = [{ at: AT }, { at: new Date(5) }];
  const given = rowsOf(sql, 'g', list, {
    place: 'ordinality',
    at_ms: ['bigint', (row) => row.at.getTime()],
    nr: ['integer', (_row, i) => i],
  });
  // The ordinality is the last column.
  expect(await sql`select g.* from ${given} order by g.place desc`.values()).toEqual([
    [5n, 1, 2n],
    [BigInt(AT.getTime()), 0, 1n],
  ]);
});

it('the same columns are one statement of Postgres and one template of the driver', async () => {
  const given = (count: number) =>
    rowsOf(
      sql,
      'r',
      Array.from({ length: count }, (_, whole) => ({ whole })),
      { whole: 'integer' },
    );
  for (const count of [0, 1, 100])
    expect(await sql`select whole as of_test from ${given(count)}`).toHaveLength(count);
  const of_test = '%of_test from unnest(%';
  expect(await sql`select from pg_prepared_statements where statement like ${of_test}`).toHaveLength(1);
  const templateOf = (made: unknown) => (made as { strings: readonly string[] }).strings;
  expect(templateOf(given(1))).toBe(templateOf(given(2)));
});

// Checked by the compiler, not when it runs.
it('admits only columns that the rows have, of types that have all their values', () => {
  interface Given {
    id: string;
    count: number | null;
    at: Date;
    name?: string;
  }
  expectTypeOf<'uuid' | 'text' | 'enum test_mood'>().toExtend<Column<Given, 'id'>>();
  expectTypeOf<'bigint'>().not.toExtend<Column<Given, 'id'>>();
  expectTypeOf<'varchar'>().not.toExtend<Column<Given, 'id'>>();
  expectTypeOf<'integer' | 'bigint' | 'numeric'>().toExtend<Column<Given, 'count'>>();
  expectTypeOf<'text'>().not.toExtend<Column<Given, 'count'>>();
  expectTypeOf<'timestamptz'>().toExtend<Column<Given, 'at'>>();
  expectTypeOf<'bigint'>().not.toExtend<Column<Given, 'at'>>();
  // Undefined is no value.
  expectTypeOf<'text'>().not.toExtend<Column<Given, 'name'>>();
  // The rows have no such field.
  expectTypeOf<'uuid'>().not.toExtend<Column<Given, 'player_id'>>();
  expectTypeOf<readonly ['uuid', (row: Given) => string]>().toExtend<Column<Given, 'player_id'>>();
  expectTypeOf<readonly ['uuid', (row: Given) => number]>().not.toExtend<Column<Given, 'player_id'>>();
  expectTypeOf<readonly ['text', (row: Given) => string | undefined]>().not.toExtend<
    Column<Given, 'title'>
  >();
});
