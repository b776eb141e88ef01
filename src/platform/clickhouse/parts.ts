import type { ClickHouseQueries } from './port.ts';

/** More tables than the service has. */
const MAX_TABLES = 200;

/** How many active parts each table of the service has. Statements that insert are refused when one has thousands. */
export async function readParts(clickhouse: ClickHouseQueries): Promise<{ table: string; parts: number }[]> {
  const rows = await clickhouse.query<{ table: string; parts: string }>(
    `select table, count() as parts from system.parts
     where database = currentDatabase() and active
     group by table order by parts desc, table limit ${MAX_TABLES}
     settings max_execution_time = 1`,
  );
  return rows.map(({ table, parts }) => ({ table, parts: Number(parts) }));
}
