import type { Tx } from '../platform/postgres/port.ts';

/** A member of a segment. */
export interface Member {
  segment_id: string;
  player_id: string;
}

/** A member with its project. */
export interface MemberRow extends Member {
  tenant_id: string;
  project_id: string;
}

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
