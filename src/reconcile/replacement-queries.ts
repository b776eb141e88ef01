import type { ClickHouse } from '../platform/clickhouse/port.ts';
import type { CopiedTable } from './schema.ts';

/** Everything that a run makes in ClickHouse begins with this; no table of the schema does. */
const PREFIX = 'rebuild_';

/** The name of a table that the run `run_id` makes. */
export function runTableName(run_id: string, what: string): string {
  return `${PREFIX}${run_id.replaceAll('-', '')}_${what}`;
}

/** Drops the tables that interrupted runs have left. The caller must ensure that no other run is active. */
export async function dropLeftovers(clickhouse: ClickHouse): Promise<void> {
  const rows = await clickhouse.query<{ name: string }>(
    `select name from system.tables where database = currentDatabase() and startsWith(name, {prefix:String})
    order by engine = 'MaterializedView' desc`,
    { prefix: PREFIX },
  );
  // Views first: an insert fails when a view of its table has no target. A large table is dropped, too.
  for (const { name } of rows) {
    await clickhouse.command(`drop table if exists \`${name}\` settings max_table_size_to_drop = 0`);
  }
}

/**
 * Creates an empty table like `table`. From now on, a view copies to it all rows that new inserts write into `table`. An
 * insert that runs already does not know the view: see {@link readRunningInserts}.
 */
export async function openReplacement(
  clickhouse: ClickHouse,
  table: CopiedTable,
  replacement: string,
): Promise<void> {
  await clickhouse.command(`create table ${replacement} as ${table}`);
  await clickhouse.command(
    `create materialized view ${replacement}_forward to ${replacement} as select * from ${table}`,
  );
}

/** An insert that runs in ClickHouse. Rewrites use their `query_id` again; `elapsed` is in seconds. */
export interface RunningInsert {
  query_id: string;
  elapsed: number;
}

/** The inserts into these tables that run now. An insert finds the views of its table after it is listed here. */
export async function readRunningInserts(
  clickhouse: ClickHouse,
  tables: readonly CopiedTable[],
): Promise<RunningInsert[]> {
  return clickhouse.query<RunningInsert>(
    `select query_id, elapsed from system.processes
    where current_database = currentDatabase() and match(query, {inserts:String})`,
    { inserts: `(?i)^\\s*insert\\s+into\\s+(${tables.join('|')})\\s` },
  );
}

/** Exchanges the tables in one step. The view between them goes on copying, now to the table that was replaced. */
export async function exchange(
  clickhouse: ClickHouse,
  table: CopiedTable,
  replacement: string,
): Promise<void> {
  await clickhouse.command(`exchange tables ${table} and ${replacement}`);
}

/** Creates the table of the projects to rebuild, which other statements read. */
export async function openScope(
  clickhouse: ClickHouse,
  scope: string,
  projects: readonly { tenant_id: string; project_id: string }[],
): Promise<void> {
  await clickhouse.command(
    `create table ${scope} (tenant_id UUID, project_id UUID) engine = MergeTree order by (tenant_id, project_id)`,
  );
  const lines = projects.map(({ tenant_id, project_id }) => JSON.stringify({ tenant_id, project_id }));
  await clickhouse.insertLines(scope, lines, scope);
}

/**
 * Copies rows of `from` to `to`: those of the projects in `scope`, or all others. Deduplication is off: it would compare
 * the rows with those of another statement.
 */
export async function copyRows(
  clickhouse: ClickHouse,
  { from, to, scope, of_scope }: { from: string; to: string; scope: string; of_scope: boolean },
  condition = 'true',
  params: Record<string, unknown> = {},
): Promise<void> {
  await clickhouse.rewrite(
    'rebuild-copy',
    `insert into ${to} settings insert_deduplicate = 0 select * from ${from}
    where (tenant_id, project_id) ${of_scope ? 'in' : 'not in'} (select tenant_id, project_id from ${scope})
      and ${condition}`,
    params,
  );
}
