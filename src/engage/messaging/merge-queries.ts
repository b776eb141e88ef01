import type { PlayerDependent } from '../../players/dependents.ts';
import type { MergePair } from '../../players/player-ref.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/**
 * The messages of a player who is merged away become the survivor's. Where both have one of the same campaign and
 * dedup_key, the dedup_key of the one that moves tells whose it was; and of two that wait, or one that waits beside one that
 * may be out, a waiting one is not sent: it would be the second for one person.
 *
 * They are locked by a statement of their own: what the next ones change, they see as others left it.
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
  // The survivor's own that waits gives way to one that may be out …
  const cancelled = tx`
    update message_sends s
    set status = 'failed', error_code = 'SKIPPED_CANCELLED', changed_xid = pg_current_xact_id()
    where ${isOf('s', into_player_id)} and s.status = 'queued'
      and exists (select from message_sends o where ${isOf('o', player_id)} and ${isTwin('s')} and ${mayBeOut})`;
  // … and otherwise goes before one that waits, too.
  const moved = tx`
    update message_sends s set
      player_id = ${into_player_id},
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

export const messagesOfPlayers: PlayerDependent = { onMerge: moveSends };
