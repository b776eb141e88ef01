import type { Tx } from '../../platform/postgres/port.ts';

/**
 * The keys on `player-events` ({@link playerKey}) of all players whose bets a grant may take, or that are recorded: those
 * who have a live grant, or one that has ended and whose bets are kept, and those who were merged into them. Undefined when
 * there are more than `limit` such grants or players.
 */
export async function selectBettorKeys(sql: Tx, limit: number): Promise<ReadonlySet<string> | undefined> {
  const most = limit + 1;
  const [row] = await sql<{ grants: number; keys: string[] }[]>`
    with kept as materialized (
      (select g.tenant_id, g.project_id, g.player_id from bonus_grants g
        where g.status in ('pending', 'active') order by g.grant_id limit ${most})
      union all
      (select g.tenant_id, g.project_id, g.player_id from bonus_grants g
        where g.ended_at is not null and g.wagering_record <> 'removed' order by g.ended_at, g.grant_id limit ${most}))
    select (select count(*)::integer from kept) as grants,
      array(
        select project_id || ':' || player_id from kept
        union
        select k.project_id || ':' || m.player_id from kept k
        cross join lateral (
          select m.player_id from player_merges m
          where m.tenant_id = k.tenant_id and m.project_id = k.project_id and m.into_player_id = k.player_id
          limit ${most}) m
        limit ${most}) as keys`;
  if (row === undefined || row.grants > limit || row.keys.length > limit) return undefined;
  return new Set(row.keys);
}
