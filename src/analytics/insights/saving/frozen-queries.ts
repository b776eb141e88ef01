import type { ClickHouseQueries } from '../../../platform/clickhouse/port.ts';
import { backgroundSettings, type Question } from '../insight-queries.ts';
import type { Statement } from '../kind.ts';

/** How many players a statement gives, as `players`. */
export function countStatement({ sql, params }: Statement): Statement {
  return { sql: `select count() as players from (${sql})`, params };
}

/** How many players a statement gives. */
export async function countPlayers(
  clickhouse: ClickHouseQueries,
  question: Question,
  statement: Statement,
): Promise<number> {
  const { sql, params } = countStatement(statement);
  const [row] = await clickhouse.query<{ players: string }>(`${sql}\n${backgroundSettings()}`, {
    ...params,
    ...question,
  });
  return Number(row?.players ?? 0);
}

/** A page of the ids that a statement gives, by their texts, after `after_id`. */
export async function pageOfPlayers(
  clickhouse: ClickHouseQueries,
  question: Question,
  { sql, params }: Statement,
  after_id: string,
  limit: number,
): Promise<string[]> {
  const rows = await clickhouse.query<{ id: string }>(
    `select toString(player_id) as id from (${sql}) where id > {after_id:String}
    order by id limit ${limit}\n${backgroundSettings()}`,
    { ...params, ...question, after_id },
  );
  return rows.map(({ id }) => id);
}
