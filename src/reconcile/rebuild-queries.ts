import type { Merge } from '../analytics/correction-queries.ts';
import { NIL_ID } from '../platform/ids.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../tenants/project-ref.ts';
import { selectMembers, type Member } from './member-queries.ts';
import type { Project } from './queries.ts';

/** The base currency of each tenant of these projects, by project_id. */
export async function readBaseCurrencies(
  sql: Tx,
  projects: readonly Project[],
): Promise<Map<string, string>> {
  const rows = await sql<{ project_id: string; base_currency: string }[]>`
    select r.project_id, t.base_currency
    from ${rowsOf(sql, 'r', projects, PROJECT_KEY)}
    join tenants t using (tenant_id)`;
  return new Map(rows.map(({ project_id, base_currency }) => [project_id, base_currency]));
}

/** The survivors of those of the players that were merged. */
export async function readSurvivors(
  sql: Tx,
  players: readonly (Project & { player_id: string })[],
): Promise<Merge[]> {
  return sql<Merge[]>`
    select r.tenant_id, r.project_id, r.player_id, m.into_player_id
    from ${rowsOf(sql, 'r', players, { ...PROJECT_KEY, player_id: 'uuid' })}
    cross join lateral (
      select into_player_id from player_merges m where m.tenant_id = r.tenant_id and m.project_id = r.project_id
        and m.player_id = r.player_id offset 0) m`;
}

/** A page of a project's members by segment and player, without those of deleted segments. */
export async function readMembersPage(
  sql: Tx,
  { tenant_id, project_id }: Project,
  after: Member | undefined,
  limit: number,
): Promise<Member[]> {
  const from = after ?? { segment_id: NIL_ID, player_id: NIL_ID };
  const rows = await selectMembers(sql, { tenant_id, project_id }, from, limit);
  return rows.map(({ segment_id, player_id }) => ({ segment_id, player_id }));
}

/** A project's merges that have an alias in ClickHouse, because its rows still have the old id. */
export async function readAliasedMerges(
  sql: Tx,
  { tenant_id, project_id }: Project,
  limit: number,
): Promise<Merge[]> {
  return sql<Merge[]>`
    select tenant_id, project_id, player_id, into_player_id from player_merges
    where tenant_id = ${tenant_id} and project_id = ${project_id} and aliased_at is not null
      and rewritten_at is null
    order by merged_at limit ${limit}`;
}

/** The segments of these projects that refresh by themselves. */
export async function readOwnSegments(
  sql: Tx,
  projects: readonly Project[],
): Promise<(Project & { segment_id: string })[]> {
  return sql<(Project & { segment_id: string })[]>`
    select s.tenant_id, s.project_id, s.segment_id
    from ${rowsOf(sql, 'r', projects, PROJECT_KEY)}
    join segments s using (tenant_id, project_id)
    where s.deleted_at is null and s.refresh_strategy <> 'manual'`;
}
