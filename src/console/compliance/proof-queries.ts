import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { holdersSql, keyOfPlayer } from '../../protection/exclusions/address-queries.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { CHANNELS, type Channel } from '../../tenants/config/channels.ts';
import { originSql } from './exclusion-queries.ts';

/** A message or a bonus that a provider or a platform was given, or may have been. */
export interface HandedRow {
  kind: 'message' | 'bonus';
  id: string;
  /** Whose it is: of a message to an address of the player perhaps another player's, of any project of the tenant. */
  player_id: string;
  /** Whose it was before a merge; null: another player's, to an address of the excluded person. */
  owner_id: string | null;
  channel: string | null;
  campaign_id: string | null;
  campaign_name: string | null;
  journey_id: string | null;
  journey_name: string | null;
  status: string;
  error_code: string | null;
  made_at: Date;
  decided_at: Date;
  handed_over_at: Date | null;
}

/** Another player with an address of the player, and how the address is compared. */
export interface SharedAddress {
  channel: Channel;
  key: string;
  project_id: string;
  player_id: string;
}

/**
 * Who else in the tenant has an address that the player has, or had before a merge; at most `limit` of each address. What
 * was sent to them at this address was sent to the person.
 */
export function selectSharedAddresses(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  limit: number,
): PendingQuery<SharedAddress[]> {
  const isTheirs = (row: string) =>
    tx`${tx(row)}.player_id = ${player_id} and ${tx(row)}.tenant_id = ${tenant_id} and ${tx(row)}.project_id = ${project_id}`;
  const shared = CHANNELS.map((channel, i) => {
    const to = { tenant_id: tx`${tenant_id}::uuid`, channel, key: tx`k.key` };
    return tx`${i === 0 ? tx`` : tx`union all`}
      select ${channel}::text as channel, k.key, h.project_id, h.player_id
      from (
        select ${keyOfPlayer(tx, channel)} as key from players p where ${isTheirs('p')}
        union select m.address_key from merged_addresses m where ${isTheirs('m')} and m.channel = ${channel}) k
      cross join lateral (${holdersSql(tx, to, limit)}) h
      where h.player_id <> ${player_id}`;
  });
  return tx<SharedAddress[]>`${shared}`;
}

/**
 * The messages `m` of a player, and those of others that went to an address of the player, after a condition on them: each
 * with `is_own`.
 */
function messagesSql(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  shared: readonly SharedAddress[],
  condition: PendingQuery<Row[]>,
) {
  const others =
    shared.length === 0
      ? tx``
      : tx`union all
        select m.*, false as is_own
        from ${rowsOf(tx, 'w', shared, { channel: 'text', key: 'text', project_id: 'uuid', player_id: 'uuid' })}
        cross join lateral (
          select * from message_sends m
          where m.player_id = w.player_id and m.tenant_id = ${tenant_id} and m.project_id = w.project_id
            and m.channel = w.channel and address_key(m.channel, m.recipient) = w.key and ${condition} offset 0) m`;
  return tx`
    select m.*, true as is_own from message_sends m
    where m.player_id = ${player_id} and m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and ${condition}
    ${others}`;
}

/**
 * Messages to a player, and to others at an address of the player, that went out, or may have, after `since`, the earliest
 * first. `gated_at` is when the gate let a message pass for the last time; without it the next known moment stands for it.
 */
export function selectHandedMessages(
  tx: Tx,
  ref: PlayerRef,
  shared: readonly SharedAddress[],
  since: Date,
  limit: number,
): PendingQuery<HandedRow[]> {
  const is_handed = tx`(m.counted_at is not null or m.sent_at is not null
      or (m.attempts > 0 and m.error_code in ('PROVIDER_UNAVAILABLE', 'PROVIDER_REJECTED', 'OUTCOME_UNKNOWN',
        'DELIVERY_FAILED')))
    and (greatest(m.gated_at, m.counted_at, m.sent_at, m.enqueued_at) >= ${since} or m.status = 'sending')`;
  return tx<HandedRow[]>`
    select 'message' as kind, s.send_id as id, s.player_id,
      case when s.is_own then coalesce(s.merged_from, s.player_id) end as owner_id, s.channel,
      s.campaign_id, c.campaign_name, s.journey_id, j.journey_name, s.status, s.error_code, s.enqueued_at as made_at,
      coalesce(s.gated_at, s.counted_at, s.sent_at, s.enqueued_at) as decided_at, s.sent_at as handed_over_at
    from (${messagesSql(tx, ref, shared, is_handed)} offset 0) s
    ${originSql(tx)}
    order by decided_at, s.send_id
    limit ${limit}`;
}

/**
 * Bonuses of a player that a platform was asked for, or may have been, after `since`, the earliest first. A grant is claimed
 * before the rules are looked at: one that they held back has an outcome `unsent`, and was never let go.
 */
export function selectHandedBonuses(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  since: Date,
  limit: number,
): PendingQuery<HandedRow[]> {
  return tx<HandedRow[]>`
    select 'bonus' as kind, g.grant_id as id, g.player_id, coalesce(g.merged_from, g.player_id) as owner_id, null as channel,
      g.campaign_id, c.campaign_name, null as journey_id, null as journey_name, g.status, g.status_reason as error_code,
      g.created_at as made_at, coalesce(g.first_called_at, g.created_at) as decided_at,
      g.activated_at as handed_over_at
    from (
      select * from bonus_grants o
      where o.player_id = ${player_id} and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
        and (o.outcome <> 'unsent' or o.may_be_sent or o.activated_at is not null)
        and (greatest(o.first_called_at, o.activated_at, o.created_at) >= ${since} or o.status = 'pending')
      offset 0) g
    left join lateral (
      select t.name as campaign_name from bonus_campaigns t
      where t.campaign_id = g.campaign_id and t.tenant_id = g.tenant_id and t.project_id = g.project_id offset 0) c on true
    order by decided_at, g.grant_id
    limit ${limit}`;
}

/** What was not handed over: `at` is when a message was made, when a bonus was refused, or when its campaign was issued. */
export interface BlockedItem {
  kind: 'message' | 'bonus';
  code: string;
  /** As of {@link HandedRow}. */
  owner_id: string | null;
  at: Date;
}

/** Messages and bonuses that a player, or others at an address of the player, did not get because of an exclusion or a break. */
export function selectBlockedItems(
  tx: Tx,
  ref: PlayerRef,
  shared: readonly SharedAddress[],
  limit: number,
): PendingQuery<BlockedItem[]> {
  const { tenant_id, project_id, player_id } = ref;
  const is_blocked = tx`m.error_code in ('SKIPPED_SELF_EXCLUDED', 'SKIPPED_COOLDOWN')`;
  const isTheirs = (row: string) =>
    tx`${tx(row)}.player_id = ${player_id} and ${tx(row)}.tenant_id = ${tenant_id} and ${tx(row)}.project_id = ${project_id}`;
  return tx<BlockedItem[]>`
    select * from (
      (select 'message' as kind, s.error_code as code,
        case when s.is_own then coalesce(s.merged_from, s.player_id) end as owner_id, s.enqueued_at as at
      from (${messagesSql(tx, ref, shared, is_blocked)} offset 0) s)
      union all
      (select 'bonus', g.status_reason, coalesce(g.merged_from, g.player_id), coalesce(g.ended_at, g.created_at)
      from bonus_grants g
      where ${isTheirs('g')} and g.status = 'cancelled' and g.status_reason = 'PLAYER_EXCLUDED'
        and g.outcome = 'unsent' and not g.may_be_sent and g.campaign_id is null)
      union all
      (select 'bonus', r.code, r.player_id, coalesce(c.issued_at, c.created_at)
      from bonus_campaign_rows r
      join bonus_campaigns c using (tenant_id, project_id, campaign_id)
      where ${isTheirs('r')} and r.status = 'skipped' and r.code in ('SELF_EXCLUDED', 'COOLDOWN'))
    ) b
    order by at
    limit ${limit}`;
}

/** A merge that a player is the survivor of. */
export interface MergeRow {
  player_id: string;
  merged_at: Date;
}

/** Who was merged into a player, and when. */
export function selectMerges(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
): PendingQuery<MergeRow[]> {
  return tx<MergeRow[]>`
    select m.player_id, m.merged_at from player_merges m
    where m.into_player_id = ${player_id} and m.tenant_id = ${tenant_id} and m.project_id = ${project_id}
    order by m.merged_at, m.player_id`;
}
