import type { ColumnKind } from '../analytics/mirrored-columns.ts';
import type { ClickHouse } from '../platform/clickhouse/port.ts';
import { plainArray } from '../platform/postgres/arrays.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { CheckedTable } from './schema.ts';

/** A row of a table in Postgres or of its copy in ClickHouse. */
export interface CopiedRow {
  /** The ids that identify the row in its project; keys sort as texts in both databases. */
  key: string;
  player_id: string;
  /** The values of {@link CopySource.columns} as text. */
  values: readonly (string | null)[];
  /** The row is not copied in this state: anything that ClickHouse has is right. */
  is_open?: boolean;
}

/** Copies with `after < key <= to`, null: no bound; or the copies with these keys. */
export type Part = { after: string | null; to: string | null } | { keys: readonly string[] };

/** A row with the project that it belongs to. */
export type PlacedRow = CopiedRow & ProjectRef;

/** A page of rows of all projects, or those of one tenant: up to `limit` rows behind the row `after`. */
export interface PageRequest {
  tenant_id: string | undefined;
  after: PlacedRow | undefined;
  limit: number;
}

export interface Column {
  name: string;
  kind: ColumnKind;
}

/** A table of ClickHouse whose rows are copies of rows in Postgres. */
export interface CopySource {
  table: CheckedTable;
  columns: readonly Column[];
  /** What a difference calls its field; `column` is absent when the whole row is missing or left over. */
  fieldOf(key: string, column?: string): string;
  /**
   * A page of the rows in Postgres by key and then by project, as the index of the key has them: it begins with the id
   * of the row, so that rows of one project can only be read among those of all others.
   */
  readPage(sql: Tx, page: PageRequest): Promise<PlacedRow[]>;
  /** The rows of a project in Postgres with these keys. */
  readRows(sql: Tx, project: ProjectRef, keys: readonly string[]): Promise<CopiedRow[]>;
  /** The rows of the part in ClickHouse. */
  readCopies(clickhouse: ClickHouse, project: ProjectRef, part: Part): Promise<CopiedRow[]>;
}

/** A value of Postgres as text. */
export function postgresText(source: string, kind: ColumnKind): string {
  return kind === 'time' ? `epoch_ms(${source})::text` : `(${source})::text`;
}

/** The rows behind a row, in the order of a key that begins with `column`. */
export function behind(
  sql: Tx,
  column: 'player_id' | 'send_id' | 'run_id',
  { tenant_id, after }: PageRequest,
) {
  const of_tenant = tenant_id === undefined ? sql`true` : sql`tenant_id = ${tenant_id}`;
  if (after === undefined) return of_tenant;
  return sql`${of_tenant} and (${sql(column)}, tenant_id, project_id)
    > (${after.key}::uuid, ${after.tenant_id}::uuid, ${after.project_id}::uuid)`;
}

/** Whether the column has one of these ids. */
export function isOneOf(sql: Tx, column: string, keys: readonly string[]) {
  return sql`${sql.unsafe(column)} = any(${plainArray(keys)}::text::uuid[])`;
}

/** How copies are read: the key of a row as an expression, and which rows have a row in Postgres. */
interface CopyQuery {
  table: string;
  key: string;
  columns: readonly Column[];
  condition?: string;
}

/**
 * Reads the rows that count, of those for which the condition holds. When rows of several players have the key (a message whose player was merged away), the
 * one with the highest revision comes last. Keys are compared as text, because ClickHouse orders UUIDs by their second
 * half.
 */
export async function readCopies(
  clickhouse: ClickHouse,
  { tenant_id, project_id }: ProjectRef,
  part: Part,
  { table, key, columns, condition = 'true' }: CopyQuery,
): Promise<CopiedRow[]> {
  const bounds =
    'keys' in part
      ? ['row_key in {keys:Array(String)}']
      : [
          part.after === null ? 'true' : 'row_key > {after:String}',
          part.to === null ? 'true' : 'row_key <= {to:String}',
        ];
  const values = columns.map(({ name, kind }) => clickHouseText(name, kind)).join(', ');
  return clickhouse.query<CopiedRow>(
    `select toString(${key}) as row_key, row_key as key, player_id,
      ${columns.length === 0 ? 'CAST([] AS Array(Nullable(String)))' : `[${values}]`} as values
    from ${table} final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ${condition}
      and ${bounds.join(' and ')}
    order by revision`,
    { tenant_id, project_id, ...part },
  );
}

function clickHouseText(name: string, kind: ColumnKind): string {
  const value = kind === 'time' ? `toUnixTimestamp64Milli(${name})` : name;
  return `CAST(${value} AS Nullable(String))`;
}
