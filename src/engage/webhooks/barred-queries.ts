import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
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
    from unnest(
      ${plainArray(deliveries.map((d) => d.tenant_id))}::text::uuid[],
      ${plainArray(deliveries.map((d) => d.project_id))}::text::uuid[],
      ${plainArray(deliveries.map((d) => d.player_id))}::text::uuid[],
      ${plainArray(deliveries.map((d) => d.event_id))}::text::uuid[]) as r (tenant_id, project_id, player_id, event_id)
    left join lateral (
      select m.into_player_id from player_merges m
      where m.tenant_id = r.tenant_id and m.project_id = r.project_id and m.player_id = r.player_id offset 0) m on true
    left join lateral (
      select p.player_id, p.deleted_at, p.self_excluded, p.status from players p
      where p.player_id = coalesce(m.into_player_id, r.player_id) and p.tenant_id = r.tenant_id
        and p.project_id = r.project_id offset 0) p on true`;
}
