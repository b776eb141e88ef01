import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/**
 * The ids of the players of a project who were erased, or whose erasure is confirmed and runs, and of those that were merged
 * into them.
 */
export function selectErasedIds(tx: Tx, { tenant_id, project_id }: ProjectRef) {
  return tx<{ player_id: string }[]>`
    with people as materialized (
      select player_id from erasures
      where tenant_id = ${tenant_id} and project_id = ${project_id} and status <> 'requested')
    select player_id from people
    union
    select m.player_id from people p cross join lateral (
      select player_id from player_merges
      where into_player_id = p.player_id and tenant_id = ${tenant_id} and project_id = ${project_id} offset 0) m`;
}
