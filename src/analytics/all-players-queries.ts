import type { Tx } from '../platform/postgres/port.ts';

/** The last of the next ids of players, also of those merged away; undefined when there are none. */
export async function lastIdOfPage(sql: Tx, after: string, limit: number): Promise<string | undefined> {
  const next = (table: 'player_totals' | 'player_merges') => sql`
    (select distinct player_id from ${sql(table)} where player_id > ${after}::uuid order by player_id limit ${limit})`;
  const [row] = await sql<{ player_id: string }[]>`
    select player_id from (
      ${next('player_totals')} union ${next('player_merges')} order by player_id limit ${limit}) i
    order by player_id desc limit 1`;
  return row?.player_id;
}

/** The keys of the players with ids in a page, also of those merged away, as a query. */
export function keysOfPage(sql: Tx, after: string, last_id: string) {
  const within = sql`player_id > ${after}::uuid and player_id <= ${last_id}::uuid`;
  return sql`
    select tenant_id, project_id, player_id from player_totals where ${within}
    union select tenant_id, project_id, player_id from player_merges where ${within}`;
}
