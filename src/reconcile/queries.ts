import type { Merge } from '../analytics/correction-queries.ts';
import { NIL_ID } from '../platform/ids.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';

/** Every project, or those of one tenant. */
export async function listProjects(tx: Tx, tenant_id: string | undefined): Promise<ProjectRef[]> {
  return tx<ProjectRef[]>`
    select tenant_id, project_id from projects
    ${tenant_id === undefined ? tx`` : tx`where tenant_id = ${tenant_id}`}
    order by tenant_id, project_id`;
}

/** Notes when the stores of tenants were compared, and in how many places they differed. */
export async function storeReconciliations(
  tx: Tx,
  tenants: readonly { tenant_id: string; differences: number }[],
  ended_at: Date,
): Promise<void> {
  await tx`
    insert into reconciliations (tenant_id, ended_at, differences)
    select r.tenant_id, ${ended_at}, r.differences
    from ${rowsOf(tx, 'r', tenants, { tenant_id: 'uuid', differences: 'bigint' })}
    on conflict (tenant_id) do update set ended_at = excluded.ended_at, differences = excluded.differences`;
}

/**
 * The differences of the last comparison of each tenant together, and when that of the tenant ended that was compared
 * longest ago; undefined before the first one.
 */
export async function readLastReconcile(
  tx: Tx,
): Promise<{ differences: number; ended_at: Date } | undefined> {
  const [row] = await tx<{ differences: number | null; ended_at: Date | null }[]>`
    select sum(differences)::float8 as differences, min(ended_at) as ended_at from reconciliations`;
  if (row === undefined || row.differences === null || row.ended_at === null) return undefined;
  return { differences: row.differences, ended_at: row.ended_at };
}

/** The survivors of those of the players that were merged. */
export async function readSurvivors(
  sql: Tx,
  players: readonly (ProjectRef & { player_id: string })[],
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
  { tenant_id, project_id }: ProjectRef,
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
  { tenant_id, project_id }: ProjectRef,
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
  projects: readonly ProjectRef[],
): Promise<(ProjectRef & { segment_id: string })[]> {
  return sql<(ProjectRef & { segment_id: string })[]>`
    select s.tenant_id, s.project_id, s.segment_id
    from ${rowsOf(sql, 'r', projects, PROJECT_KEY)}
    join segments s using (tenant_id, project_id)
    where s.deleted_at is null and s.refresh_strategy <> 'manual'`;
}

/** A member of a segment. */
export interface Member {
  segment_id: string;
  player_id: string;
}

/** A member with its project. */
export interface MemberRow extends Member, ProjectRef {}

/**
 * A page of members by segment and player after `after`, without those of deleted segments; of one
 * project, of one tenant or of all. Segments are few, and each has its members by player in the index of the key.
 */
export async function selectMembers(
  sql: Tx,
  { tenant_id, project_id }: { tenant_id?: string | undefined; project_id?: string },
  { segment_id, player_id }: Member,
  limit: number,
): Promise<MemberRow[]> {
  const of_tenant = tenant_id === undefined ? sql`true` : sql`tenant_id = ${tenant_id}`;
  const of_project = project_id === undefined ? sql`true` : sql`project_id = ${project_id}`;
  return sql<MemberRow[]>`
    select s.tenant_id, s.project_id, s.segment_id, m.player_id from (
      select * from segments
      where deleted_at is null and segment_id >= ${segment_id} and ${of_tenant} and ${of_project}
      order by segment_id
    ) s
    cross join lateral (
      select m.player_id from segment_members m
      where m.segment_id = s.segment_id and m.tenant_id = s.tenant_id and m.project_id = s.project_id
        and (m.segment_id, m.player_id) > (${segment_id}, ${player_id})
      order by m.segment_id, m.player_id limit ${limit}) m
    order by s.segment_id, m.player_id limit ${limit}`;
}
