import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../../src/package-root.ts';
import {
  ERASED_IN_CLICKHOUSE,
  ERASED_IN_POSTGRES,
  STAYING_COLUMNS,
  STAYING_IN_CLICKHOUSE,
  STAYING_IN_POSTGRES,
} from './personal-columns.ts';

type Columns = Readonly<Record<string, readonly string[]>>;

/** The columns that may hold a text, by table. */
async function textColumns(file: string, table: RegExp, column: RegExp): Promise<Record<string, string[]>> {
  const schema = await readFile(join(packageRoot, file), 'utf8');
  const tables = [...schema.matchAll(table)].map(([, name = '', body = '']): [string, string[]] => [
    name.replace(/^public\./, ''),
    [...body.matchAll(column)].map(([, found = '']) => found),
  ]);
  expect(tables.length).toBeGreaterThan(9);
  return Object.fromEntries(tables.filter(([, columns]) => columns.length > 0));
}

const sorted = (columns: Columns) =>
  Object.fromEntries(Object.entries(columns).map(([table, names]) => [table, [...names].sort()]));

function both(...parts: Columns[]): Columns {
  const all: Record<string, string[]> = {};
  for (const part of parts)
    for (const [table, names] of Object.entries(part)) (all[table] ??= []).push(...names);
  return all;
}

it('of every column of Postgres that may hold a text it is decided whether an erasure empties it', async () => {
  const found = await textColumns(
    'pg-migrations/schema.golden.sql',
    /^create table (\S+) \(\n([\s\S]*?)\n\)/gm,
    /^ {2}(\w+) (?:text\[\]|text|json|jsonb|bytea)(?: |,|$)/gm,
  );
  const undecided = Object.keys(found).filter(
    (table) =>
      !(table in STAYING_IN_POSTGRES) &&
      (ERASED_IN_POSTGRES[table] ?? []).length < (found[table] ?? []).length,
  );
  expect(undecided).toEqual([]);
  expect(Object.keys(STAYING_IN_POSTGRES).filter((table) => !(table in found))).toEqual([]);
  const of_players = Object.fromEntries(
    Object.entries(found).filter(([table]) => table in STAYING_COLUMNS || table in ERASED_IN_POSTGRES),
  );
  expect(sorted(of_players)).toEqual(sorted(both(ERASED_IN_POSTGRES, STAYING_COLUMNS)));
});

it('every table with rows of players is among those of which each column is decided', async () => {
  const schema = await readFile(join(packageRoot, 'pg-migrations/schema.golden.sql'), 'utf8');
  const tables = [...schema.matchAll(/^create table public\.(\S+) \(\n([\s\S]*?)\n\)/gm)]
    .filter(
      ([, , body = '']) => /^ {2}player_id /m.test(body) && /^ {2}\w+ (?:text|jsonb?|bytea)/m.test(body),
    )
    .map(([, name = '']) => name);
  expect(tables.length).toBeGreaterThan(10);
  expect(tables.filter((name) => !(name in STAYING_COLUMNS) && !(name in ERASED_IN_POSTGRES))).toEqual([]);
});

it('of every column of ClickHouse that may hold a text it is decided whether an erasure empties it', async () => {
  const found = await textColumns(
    'clickhouse/schema.golden.sql',
    /^CREATE TABLE default\.(\S+)\n\(\n([\s\S]*?)\n\)/gm,
    /^ {4}`(\w+)` (?:LowCardinality\(|Nullable\(|Array\()*String/gm,
  );
  expect(sorted(found)).toEqual(sorted(both(ERASED_IN_CLICKHOUSE, STAYING_IN_CLICKHOUSE)));
});
