import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type {
  ErasedPerson,
  Eraser,
  FileLine,
  PlayerFile,
  PlayerDependent,
} from '../../players/dependents.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { MergePair } from '../../players/player-ref.ts';

function isTheirs(tx: Tx, { tenant_id, project_id, player_ids }: ErasedPerson) {
  return tx`s.player_id = any(${plainArray(player_ids)}::text::uuid[]) and s.tenant_id = ${tenant_id}
    and s.project_id = ${project_id}`;
}

/**
 * Where messages went, what they were about, and by which ids their providers know them. What waits is not sent any more.
 * That they were sent, and what became of them, stays: figures and proofs count it.
 */
export const messageEraser: Eraser = {
  step: 'messages',
  async erase(tx, person, limit) {
    const cancelled = await tx`
      update message_sends s
      set status = 'failed', error_code = 'SKIPPED_CANCELLED', changed_xid = pg_current_xact_id()
      where ${isTheirs(tx, person)} and s.status = 'queued'`;
    const erased = await tx`
      update message_sends e
      set recipient = null, context = null, provider_message_id = null, provider_message = null
      from (
        select s.send_id from message_sends s
        where ${isTheirs(tx, person)} and s.status not in ('queued', 'sending')
          and (s.recipient is not null or s.context is not null or s.provider_message_id is not null
            or s.provider_message is not null)
        limit ${limit}) f
      where e.send_id = f.send_id and e.tenant_id = ${person.tenant_id} and e.project_id = ${person.project_id}`;
    const reported = await tx`
      delete from push_receipts s where ${isTheirs(tx, person)}`;
    return cancelled.count + erased.count + reported.count;
  },
  async inUse(tx, person) {
    const [row] = await tx<{ sends: number }[]>`
      select count(*)::integer as sends from message_sends s where ${isTheirs(tx, person)} and s.status = 'sending'`;
    return row?.sends ?? 0;
  },
};

/** The messages to a person. */
export const messagesFile: PlayerFile = {
  name: 'messages',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select s.send_id::text as position, json_build_object('id', s.send_id, 'campaign_id', s.campaign_id,
        'journey_id', s.journey_id, 'template_id', s.template_id, 'channel', s.channel, 'recipient', s.recipient,
        'status', s.status, 'error_code', s.error_code, 'context', s.context, 'enqueued_at', s.enqueued_at,
        'sent_at', s.sent_at, 'delivered_at', s.delivered_at, 'opened_at', s.opened_at, 'clicked_at', s.clicked_at,
        'bounced_at', s.bounced_at, 'provider_message', s.provider_message, 'is_own_hour', s.is_own_hour)::text as line
      from message_sends s
      where s.player_id = any(${plainArray(player_ids)}::text::uuid[]) and s.tenant_id = ${tenant_id}
        and s.project_id = ${project_id} and s.send_id > ${after ?? NIL_ID}::uuid
      order by s.send_id limit ${limit}`;
  },
};

/**
 * Gives the messages of a player that is merged away to the survivor. When both have a message with the same campaign
 * and dedup_key (twins), the dedup_key of the moved one gets the id of its former player appended. If both twins are
 * queued, or one is queued and the other may have gone out, a queued one is cancelled: it would be the second message
 * to one person. So is a queued one of a campaign that holds the other player out, who is to get nothing of it.
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
  const heldOut = (row: string, player: string) => tx`exists (
    select from message_sends h where ${isOf('h', player)} and h.campaign_id = ${tx(row)}.campaign_id
      and h.error_code in ('SKIPPED_HOLDOUT', 'SKIPPED_GLOBAL_HOLDOUT'))`;
  const locked = tx`
    select from message_sends s where ${isOf('s', player_id)} or ${isOf('s', into_player_id)}
    order by s.send_id for update`;
  // A queued message of the survivor is cancelled when its twin may have gone out, or the other player is held out.
  const cancelled = tx`
    update message_sends s
    set status = 'failed', error_code = 'SKIPPED_CANCELLED', changed_xid = pg_current_xact_id()
    where ${isOf('s', into_player_id)} and s.status = 'queued'
      and (exists (select from message_sends o where ${isOf('o', player_id)} and ${isTwin('s')} and ${mayBeOut})
        or ${heldOut('s', player_id)})`;
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
        w.status = 'queued' and (o.status = 'queued' or ${mayBeOut} or ${heldOut('w', into_player_id)}) as is_second
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
