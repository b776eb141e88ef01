import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { PlayerRef } from '../../players/player-ref.ts';

/** Whether the player of a grant is protected now. */
export interface Protected {
  grant_id: string;
  /** The player into whom the grant's player was merged, else the grant's player. */
  player_id: string;
  /** Why nothing may be granted to the player: as in `details.reason` of BONUS_PLAYER_NOT_ELIGIBLE; null: it may. */
  reason: string | null;
  /** The tenant has paused its bonuses. */
  is_paused: boolean;
}

/** The players of these grants as they are now. */
export async function selectProtected(
  sql: Tx,
  grants: readonly (PlayerRef & { grant_id: string })[],
  now: Date,
): Promise<Protected[]> {
  return sql<Protected[]>`
    select r.grant_id, coalesce(m.into_player_id, r.player_id) as player_id, case
      when p.player_id is null or p.deleted_at is not null then 'DELETED'
      when p.self_excluded or p.status = 'self_excluded' then 'SELF_EXCLUDED'
      when p.status = 'banned' then 'BANNED'
      when p.cooldown_until > ${now} then 'COOLDOWN' end as reason,
      coalesce(c.is_paused, false) as is_paused
    from ${rowsOf(sql, 'r', grants, { ...PROJECT_KEY, player_id: 'uuid', grant_id: 'uuid' })}
    left join lateral (
      select m.into_player_id from player_merges m
      where m.player_id = r.player_id and m.tenant_id = r.tenant_id and m.project_id = r.project_id offset 0) m on true
    left join lateral (
      select p.player_id, p.deleted_at, p.self_excluded, p.status, p.cooldown_until from players p
      where p.player_id = coalesce(m.into_player_id, r.player_id) and p.tenant_id = r.tenant_id
        and p.project_id = r.project_id offset 0) p on true
    left join lateral (
      select c.config -> 'bonuses' -> 'paused' = 'true' as is_paused from tenant_configs c
      where c.tenant_id = r.tenant_id offset 0) c on true`;
}
