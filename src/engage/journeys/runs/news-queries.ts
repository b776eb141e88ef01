import { playersMirroredTo } from '../../../analytics/mirror-queries.ts';
import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';

/** The last change of players, in the order in which player-mirror copies changes. */
export interface PlayerChange {
  changed_xid: bigint;
  player_id: string;
}

/** The last of the changes that these players have now; undefined: none of them exists. */
export async function selectLastChange(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): Promise<PlayerChange | undefined> {
  const [row] = await sql<{ changed_xid: string; player_id: string }[]>`
    select t.changed_xid::text, t.player_id
    from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)
    cross join lateral (
      select t.changed_xid, t.player_id from player_totals t
      where t.tenant_id = ${tenant_id} and t.project_id = ${project_id} and t.player_id = r.player_id offset 0) t
    order by t.changed_xid desc, t.player_id desc limit 1`;
  return row && { changed_xid: BigInt(row.changed_xid), player_id: row.player_id };
}

/** Up to which change player-mirror has copied; undefined while its position proves nothing ({@link playersMirroredTo}). */
export async function readMirroredChange(sql: Tx): Promise<PlayerChange | undefined> {
  const [row] = await sql<{ changed_xid: string; row_id: string }[]>`
    select p.changed_xid::text, p.row_id from (${playersMirroredTo(sql)}) p`;
  return row && { changed_xid: BigInt(row.changed_xid), player_id: row.row_id };
}
