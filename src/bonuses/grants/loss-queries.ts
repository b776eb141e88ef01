import type { PendingQuery } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** A player, with all ids that its events in ClickHouse may have. */
export interface EventOwner {
  player_id: string;
  event_player_ids: readonly string[];
}

/** Stakes and payouts, in the smallest unit of the base currency. */
export interface BetSums {
  stakes: bigint;
  payouts: bigint;
}

/** A player by the ids that the event log has of it. `asked_id` names it, or a player merged into it. */
export interface LoggedIds {
  asked_id: string;
  player_id: string;
  /** Those of players merged into it. */
  former_ids: string[];
  /** Those of them that the records of its events in ClickHouse may still have. */
  event_former_ids: string[];
  anonymous_ids: string[];
}

/** The players that these ids name, each with every id that an event of it may carry. Ids of nobody are omitted. */
export function selectLoggedIds(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): PendingQuery<LoggedIds[]> {
  return tx<LoggedIds[]>`
    with named as materialized (
      select r.player_id as asked_id, coalesce(m.into_player_id, r.player_id) as player_id
      from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)
      left join lateral (
        select m.into_player_id from player_merges m
        where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.player_id = r.player_id offset 0) m
        on true
    )
    select n.asked_id, n.player_id, p.anonymous_ids, f.former_ids, f.event_former_ids
    from named n
    cross join lateral (
      select p.anonymous_ids from players p
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = n.player_id offset 0) p
    cross join lateral (
      select coalesce(array_agg(m.player_id::text), '{}') as former_ids,
        coalesce(array_agg(m.player_id::text)
          filter (where m.rewritten_at is null or m.rewritten_at > now() - interval '1 minute'), '{}')
          as event_former_ids
      from player_merges m
      where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.into_player_id = n.player_id) f`;
}

/** How long before its outcome a bet may have been placed. */
const OPEN_MS = 90 * 86_400_000;

/**
 * Stakes and payouts of the players' bets whose outcome is in [from_ms, until_ms), by player_id. A bet counts as for the
 * totals: its stake once, its last outcome, and nothing when it was voided; an open one is not a loss yet. A player without
 * such a bet is omitted.
 */
export async function sumBets(
  clickhouse: ClickHouse,
  { tenant_id, project_id }: ProjectRef,
  players: readonly EventOwner[],
  from_ms: number,
  until_ms: number,
): Promise<Map<string, BetSums>> {
  if (players.length === 0) return new Map();
  const ids = players.flatMap((one) => one.event_player_ids);
  const owners = players.flatMap((one) => one.event_player_ids.map(() => one.player_id));
  const rows = await clickhouse.query<{ owner: string; stakes: string; payouts: string }>(
    `select owner, toString(sum(toInt128(coalesce(stake, 0)))) as stakes,
      toString(sum(toInt128(coalesce(payout, 0)))) as payouts
    from (
      select owner,
        coalesce(anyIf(base_amount, event in ('bet_placed', 'sport_bet_placed')),
          anyIf(base_amount, event in ('bet_settled', 'sport_bet_settled'))) as stake,
        argMaxIf(tuple(base_payout, event, occurred_at), (if(is_sport, occurred_at, toDateTime64(0, 3, 'UTC')), rank), rank > 0)
          as outcome,
        outcome.1 as payout
      from (
        select transform(toString(player_id), {ids:Array(String)}, {owners:Array(String)}, '') as owner,
          event, occurred_at, base_amount, base_payout, JSONExtractString(properties, 'bet_id') as bet_id,
          startsWith(event, 'sport_') as is_sport,
          transform(event, ['bet_lost', 'bet_won', 'bet_settled', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided'],
            [1, 2, 3, 1, 2, 3], 0) as rank
        from events_by_player
        where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
          and player_id in ({ids:Array(UUID)})
          and event in ('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'sport_bet_placed', 'sport_bet_settled',
            'sport_cashout', 'sport_bet_voided')
          and occurred_at >= fromUnixTimestamp64Milli({open_ms:Int64}, 'UTC')
          and occurred_at < fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')
        order by revision desc
        limit 1 by owner, ingestion_id, event_index
      )
      group by owner, is_sport, bet_id
      having countIf(rank > 0) > 0 and outcome.2 <> 'sport_bet_voided'
        and outcome.3 >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
    )
    group by owner`,
    { tenant_id, project_id, ids, owners, from_ms, until_ms, open_ms: from_ms - OPEN_MS },
  );
  return new Map(
    rows.map(({ owner, stakes, payouts }) => [owner, { stakes: BigInt(stakes), payouts: BigInt(payouts) }]),
  );
}
