import type { Readable } from 'node:stream';
import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { survivorOf } from '../correction-queries.ts';
import type { ExportedRange, ExportFileBody } from './schema.ts';
import { EXPORTS, type ExportedTable } from './tables.ts';

/** Ids in one parameter: a ClickHouse server accepts 128 KiB for each. */
const IDS = 3_000;
/** Erased people in a statement that gives a file: its parameters are in the URL, which may have 1 MiB. */
export const ERASED_OF_FILE = 5_000;

/** What is left out of an export: the ids of people who were erased. */
export type Erased = readonly string[];

/** Which of `files` files has the rows of a player, from 0 on: ids end with random digits. {@link FILE_SQL} says the same. */
export function fileOf(player_id: string, files: number): number {
  return Number.parseInt(player_id.slice(-8), 16) % files;
}

export const FILE_SQL =
  'reinterpretAsUInt32(reverse(unhex(substring(toString(t.player_id), 29)))) % {files:UInt32}';

/** Rows of the range, and the bytes of their long texts. */
export async function readExportSize(
  clickhouse: ClickHouse,
  range: ExportedRange,
  erased: Erased,
): Promise<{ rows: number; bytes: number }> {
  const { long } = EXPORTS[range.table];
  const { sql, params } = rowsOf(range, erased);
  const bytes = long === undefined ? '0' : `sum(length(t.${long}))`;
  const [row] = await clickhouse.query<{ rows: string; bytes: string }>(
    `select count() as rows, ${bytes} as bytes ${sql}`,
    params,
  );
  return { rows: Number(row?.rows ?? 0), bytes: Number(row?.bytes ?? 0) };
}

/** The rows of one file as Parquet. */
export function readExportFile(
  clickhouse: ClickHouse,
  body: ExportFileBody,
  erased: Erased,
): Promise<Readable> {
  const { table, file, files } = body;
  const of_file = erased.filter((player_id) => fileOf(player_id, files) === file - 1);
  const { sql, params } = rowsOf(body, of_file);
  const part = files === 1 ? '' : `and ${FILE_SQL} = {file:UInt32}`;
  // The settings are part of the statement: otherwise the embedded engine would keep them for the whole session.
  const select = `select ${columnsOf(table)} ${sql} ${part} settings output_format_parquet_compression_method = 'zstd',
    output_format_parquet_string_as_string = 1`;
  return clickhouse.file('Parquet', select, { ...params, files, file: file - 1 });
}

function rowsOf({ tenant_id, project_id, table, from, to }: ExportedRange, erased: Erased) {
  const { time } = EXPORTS[table];
  const chunks = Array.from({ length: Math.ceil(erased.length / IDS) }, (_, i) => [
    `erased_${i}`,
    erased.slice(i * IDS, (i + 1) * IDS),
  ]);
  const conditions = [
    't.tenant_id = {tenant_id:UUID} and t.project_id = {project_id:UUID}',
    ...(time === undefined
      ? []
      : [`t.${time} >= {from:DateTime64(3, 'UTC')} and t.${time} < {to:DateTime64(3, 'UTC')}`]),
    ...chunks.map(([name]) => `not has({${String(name)}:Array(UUID)}, t.player_id)`),
  ];
  return {
    sql: `from ${table} as t final where ${conditions.join(' and ')}`,
    params: {
      tenant_id,
      project_id,
      // The text that ClickHouse reads has no zone.
      from: from?.replace('Z', ''),
      to: to?.replace('Z', ''),
      ...(Object.fromEntries(chunks) as Record<string, unknown>),
    },
  };
}

function columnsOf(table: ExportedTable): string {
  const columns = Object.entries(EXPORTS[table].columns).map(([name, kind]) => {
    switch (kind) {
      case 'id':
      case 'text':
        return `toString(t.${name}) as ${name}`;
      case 'owner':
        return `toString(${survivorOf('t')}) as ${name}`;
      case 'wide':
        return `toDecimal128(t.${name}, 0) as ${name}`;
      case 'as_is':
        return `t.${name} as ${name}`;
    }
  });
  return columns.join(', ');
}
