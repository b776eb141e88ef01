import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import { barredSql } from '../messaging/gate-queries.ts';
import type { PlayerRef } from '../../players/player-ref.ts';

/** Whom a delivery is about, as the database says now. */
export interface Addressee {
  event_id: string;
  /** The player into whom the delivery's player was merged, else the delivery's player. */
  player_id: string;
  /** The code why nothing may be sent about the player; null: it may. */
  code: string | null;
}

/** The players of these deliveries as they are now. */
export async function selectAddressees(
  sql: Tx,
  deliveries: readonly (PlayerRef & { event_id: string })[],
): Promise<Addressee[]> {
  return sql<Addressee[]>`
    select r.event_id, coalesce(m.into_player_id, r.player_id) as player_id, case ${barredSql(sql)} end as code
    from ${rowsOf(sql, 'r', deliveries, { ...PROJECT_KEY, player_id: 'uuid', event_id: 'uuid' })}
    left join lateral (
      select m.into_player_id from player_merges m
      where m.tenant_id = r.tenant_id and m.project_id = r.project_id and m.player_id = r.player_id offset 0) m on true
    left join lateral (
      select p.player_id, p.deleted_at, p.self_excluded, p.status from players p
      where p.player_id = coalesce(m.into_player_id, r.player_id) and p.tenant_id = r.tenant_id
        and p.project_id = r.project_id offset 0) p on true`;
}
