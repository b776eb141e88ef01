import type { Readable } from 'node:stream';
import type { ClickHouse, ClickHouseQueries, FileFormat } from '../../../platform/clickhouse/port.ts';
import { SCOPE } from '../../../segments/sql/owner-sql.ts';
import { backgroundSettings, type Question } from '../insight-queries.ts';
import { unusedName, type Row, type Statement } from '../kind.ts';
import { defusedSql, type FileColumn } from './csv.ts';
import type { Contact, ExportFormat } from './schema.ts';

const FILE_FORMATS: Readonly<Record<ExportFormat, FileFormat>> = { csv: 'CSVWithNames', parquet: 'Parquet' };
const OF_FORMAT: Readonly<Record<ExportFormat, string>> = {
  csv: "format_csv_null_representation = '', ",
  parquet: "output_format_parquet_compression_method = 'zstd', output_format_parquet_string_as_string = 1, ",
};
/** Digits behind the point, where values have any. */
const FRACTION_DIGITS = 9;

const settingsOf = (format: ExportFormat) => backgroundSettings(OF_FORMAT[format]);

/** How many players a statement gives, and whether any value has a fraction. */
export async function readSize(
  clickhouse: ClickHouseQueries,
  question: Question,
  { sql, params }: Statement,
): Promise<{ rows: number; has_fractions: boolean }> {
  const [row] = await clickhouse.query<{ players: string; fractions: string }>(
    `select count() as players, countIf(position(toString(value), '.') > 0) as fractions from (${sql})\n${backgroundSettings()}`,
    { ...params, ...question },
  );
  return { rows: Number(row?.players ?? 0), has_fractions: Number(row?.fractions ?? 0) > 0 };
}

/**
 * The players of a statement by id, as a file: ids, the value as a decimal of 38 digits, and the addresses that were asked
 * for, of players who are not deleted.
 */
export function playersFile(
  clickhouse: Pick<ClickHouse, 'file'>,
  question: Question,
  { sql, params }: Statement,
  {
    format,
    contact,
    has_fractions,
  }: { format: ExportFormat; contact: readonly Contact[]; has_fractions: boolean },
): Promise<Readable> {
  const text = (column: string) => (format === 'csv' ? defusedSql(column) : column);
  const addresses = contact.map((column) => `${text(`p.${column}`)} as ${column}`);
  const columns = [
    'toString(c.player_id) as player_id',
    `${text('p.external_id')} as external_id`,
    `toDecimal128(toString(c.value), ${has_fractions ? FRACTION_DIGITS : 0}) as value`,
    ...addresses,
  ];
  const select = `select ${columns.join(', ')} from (${sql}) as c
    left any join (
      select player_id, external_id${contact.map((column) => `, ${column}`).join('')} from players final
      where ${SCOPE} and deleted_at is null) as p on p.player_id = c.player_id
    order by player_id
    ${settingsOf(format)}`;
  return clickhouse.file(FILE_FORMATS[format], select, { ...params, ...question });
}

/** Bytes of figures that a statement carries, and of one of its parameters. */
export const MAX_FIGURES_BYTES = 700_000;
const PARAMETER_BYTES = 60_000;

/**
 * Figures as Parquet, which the engine writes from the parameters of the statement; undefined: they are more than those may
 * carry. Integers are decimals of 38 digits.
 */
export function figuresParquet(
  clickhouse: Pick<ClickHouse, 'file'>,
  columns: readonly FileColumn[],
  rows: readonly Row[],
): Promise<Readable> | undefined {
  const lines = rows.map((row, i) => JSON.stringify([i, ...columns.map(({ of }) => textOf(of(row)))]));
  const pages = pagesOf(lines);
  const bytes = pages.reduce((sum, page) => sum + page.length, 0);
  if (bytes > MAX_FIGURES_BYTES) return undefined;
  const taken = new Set<string>();
  const names = columns.map(({ name }, i) => ({
    name: unusedName(nameOf(name, i), taken),
    cell: `JSONExtract(row, ${i + 2}, 'Nullable(String)')`,
  }));
  const selected = columns.map(({ type }, i) => {
    const { name = '', cell = '' } = names[i] ?? {};
    return `${castOf(type, cell)} as \`${name}\``;
  });
  const sources = pages.map(
    (_, i) => `select arrayJoin(JSONExtractArrayRaw(base64Decode({rows_${i}:String}))) as row`,
  );
  const sql = `select ${selected.join(', ')} from (${sources.join('\nunion all ')})
    order by JSONExtractUInt(row, 1) ${settingsOf('parquet')}`;
  return clickhouse.file('Parquet', sql, Object.fromEntries(pages.map((page, i) => [`rows_${i}`, page])));
}

function textOf(value: ReturnType<FileColumn['of']>): string | null {
  return value === null ? null : String(value);
}

function castOf(type: FileColumn['type'], cell: string): string {
  switch (type) {
    case 'integer':
      return `toDecimal128OrNull(${cell}, 0)`;
    case 'number':
      return `toFloat64OrNull(${cell})`;
    case 'bool':
      return `${cell} = 'true'`;
    case 'time':
      return `parseDateTime64BestEffortOrNull(${cell}, 3, 'UTC')`;
    case 'text':
      return cell;
  }
}

/** A name as it may stand in a statement. */
function nameOf(name: string, i: number): string {
  const safe = name.replaceAll(/[^A-Za-z0-9_.]/g, '_').slice(0, 100);
  return safe === '' ? `column_${i}` : safe;
}

/** Lists of lines of JSON in base64: in a URL most of it is not escaped. At least one. */
function pagesOf(lines: readonly string[]): string[] {
  const pages: string[][] = [[]];
  let bytes = 0;
  for (const line of lines) {
    if (bytes + line.length > PARAMETER_BYTES) {
      pages.push([]);
      bytes = 0;
    }
    pages.at(-1)?.push(line);
    bytes += Buffer.byteLength(line);
  }
  return pages.map((page) => Buffer.from(`[${page.join(',')}]`).toString('base64'));
}
