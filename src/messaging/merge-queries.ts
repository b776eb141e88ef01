import type { Tx } from '../platform/postgres/port.ts';

/**
 * The messages of a player who is merged away become the survivor's. Where both have one of the same campaign and
 * occasion, the occasion of the one that moves tells whose it was, and while it is still queued it is not sent: it would
 * be the second for one person.
 */
export async function moveSends(
  tx: Tx,
  pair: { tenant_id: string; project_id: string; player_id: string; into_player_id: string },
): Promise<void> {
  const { tenant_id, project_id, player_id, into_player_id } = pair;
  await tx`
    with moved as (
      select s.ctid, exists (
          select from message_sends o
          where o.tenant_id = s.tenant_id and o.project_id = s.project_id and o.campaign_id = s.campaign_id
            and o.player_id = ${into_player_id} and o.occasion = s.occasion) as is_second
      from message_sends s
      where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}
      for update
    )
    update message_sends s set
      player_id = ${into_player_id},
      occasion = case when is_second then s.occasion || ' merged ' || ${player_id}::text else s.occasion end,
      status = case when is_second and s.status = 'queued' then 'failed' else s.status end,
      error_code = case when is_second and s.status = 'queued' then 'SKIPPED_CANCELLED' else s.error_code end,
      changed_xid = pg_current_xact_id()
    from moved
    where s.ctid = moved.ctid`;
}
