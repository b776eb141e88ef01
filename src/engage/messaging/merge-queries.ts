import type { PlayerDependent } from '../../players/dependents.ts';
import type { MergePair } from '../../players/player-ref.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/**
 * Gives the messages of a player that is merged away to the survivor. When both have a message with the same campaign
 * and dedup_key (twins), the dedup_key of the moved one gets the id of its former player appended. If both twins are
 * queued, or one is queued and the other may have gone out, a queued one is cancelled: it would be the second message
 * to one person.
 *
 * A statement of its own locks the rows first, so that the next statements see the changes of other transactions.
 */
async function moveSends(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
): Promise<void> {
  const isOf = (row: string, player: string) =>
    tx`${tx(row)}.tenant_id = ${tenant_id} and ${tx(row)}.project_id = ${project_id} and ${tx(row)}.player_id = ${player}`;
  const isTwin = (row: string) =>
    tx`o.campaign_id = ${tx(row)}.campaign_id and o.dedup_key = ${tx(row)}.dedup_key`;
  const mayBeOut = tx`(o.status = 'sending' or o.counted_at is not null)`;
  const locked = tx`
    select from message_sends s where ${isOf('s', player_id)} or ${isOf('s', into_player_id)}
    order by s.send_id for update`;
  // A queued message of the survivor is cancelled when its twin may have gone out.
  const cancelled = tx`
    update message_sends s
    set status = 'failed', error_code = 'SKIPPED_CANCELLED', changed_xid = pg_current_xact_id()
    where ${isOf('s', into_player_id)} and s.status = 'queued'
      and exists (select from message_sends o where ${isOf('o', player_id)} and ${isTwin('s')} and ${mayBeOut})`;
  // Otherwise the survivor's message is kept, and a queued twin that moves is cancelled.
  const moved = tx`
    update message_sends s set
      player_id = ${into_player_id},
      merged_from = coalesce(s.merged_from, s.player_id),
      dedup_key = case when m.has_twin then s.dedup_key || ' merged ' || ${player_id}::text else s.dedup_key end,
      status = case when m.is_second then 'failed' else s.status end,
      error_code = case when m.is_second then 'SKIPPED_CANCELLED' else s.error_code end,
      changed_xid = pg_current_xact_id()
    from (
      select w.send_id, o.status is not null as has_twin,
        w.status = 'queued' and (o.status = 'queued' or ${mayBeOut}) as is_second
      from message_sends w
      left join lateral (
        select o.status, o.counted_at from message_sends o
        where ${isOf('o', into_player_id)} and ${isTwin('w')}) o on true
      where ${isOf('w', player_id)}
    ) m
    where ${isOf('s', player_id)} and s.send_id = m.send_id`;
  await Promise.all([locked, cancelled, moved]);
}

/** What happens to messages when a player is merged. */
export const messagesOfPlayers: PlayerDependent = { onMerge: moveSends };
