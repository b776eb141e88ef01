import type { PendingQuery } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** What a player is called by; `player_id` is the id that was asked for, also that of a merged player. */
export interface PlayerNameRow {
  player_id: string;
  /** The player that it was merged into; null: none. */
  merged_into: string | null;
  external_id: string | null;
  email: string | null;
  status: string;
}

/** What the players of these ids are called by, deleted or not, of merged ones their survivors; ids of nobody have no row. */
export function selectPlayerNames(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  ids: readonly string[],
): PendingQuery<PlayerNameRow[]> {
  return tx<PlayerNameRow[]>`
    select k.id as player_id, m.into_player_id as merged_into, p.external_id, p.email, p.status
    from unnest(${plainArray(ids)}::text::uuid[]) k (id)
    left join lateral (
      select m.into_player_id from player_merges m
      where m.player_id = k.id and m.tenant_id = ${tenant_id} and m.project_id = ${project_id} offset 0) m on true
    cross join lateral (
      select p.external_id, p.email, p.status from players p
      where p.player_id = coalesce(m.into_player_id, k.id) and p.tenant_id = ${tenant_id}
        and p.project_id = ${project_id} offset 0) p`;
}
