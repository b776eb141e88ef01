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

/** Stakes and payouts of the player's own money, in the smallest unit of the base currency. */
export interface RealSums {
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

const OUTCOMES = ['bet_lost', 'bet_won', 'bet_settled', 'sport_bet_settled', 'sport_cashout'];
const STAKES = ['bet_placed', 'sport_bet_placed'];
/** A bet that is open again is not a loss yet. */
const REOPENED = 'sport_bet_reopened';

/**
 * Stakes and payouts, without bonus money, of the players' bets whose outcome is in [from_ms, until_ms), by player_id. What a
 * row of a bet counts is what the totals count of it (docs/feeds.md, What counts how); an open bet is not a loss yet, and a cash-out with a
 * movement_id leaves it open. A player without such a bet is omitted.
 */
export async function sumRealMoney(
  clickhouse: ClickHouse,
  { tenant_id, project_id }: ProjectRef,
  players: readonly EventOwner[],
  from_ms: number,
  until_ms: number,
): Promise<Map<string, RealSums>> {
  if (players.length === 0) return new Map();
  const ids = players.flatMap((one) => one.event_player_ids);
  const owners = players.flatMap((one) => one.event_player_ids.map(() => one.player_id));
  // The outcome of a casino bet is of the name that ranks highest, that of a sports bet the latest: as `betEffect` has it.
  const rows = await clickhouse.query<{ owner: string; stakes: string; payouts: string }>(
    `select owner, toString(sum(stake)) as stakes, toString(sum(payout)) as payouts
    from (
      select owner, sum(toInt128(stake_counted) - bonus_stake_counted) as stake,
        sum(toInt128(payout_counted) - bonus_payout_counted) as payout,
        argMaxIf(tuple(event, occurred_at), (if(is_sport, occurred_at, toDateTime64(0, 3, 'UTC')), rank, occurred_at), rank > 0)
          as outcome
      from (
        select transform(toString(player_id), {ids:Array(String)}, {owners:Array(String)}, '') as owner,
          event, occurred_at, stake_counted, payout_counted, bonus_stake_counted, bonus_payout_counted,
          JSONExtractString(properties, 'bet_id') as bet_id, startsWith(event, 'sport_') as is_sport,
          if(event = 'sport_cashout' and JSONType(properties, 'movement_id') = 'String', 0,
            transform(event, ['bet_lost', 'bet_won', 'bet_settled', '${REOPENED}', 'sport_bet_settled', 'sport_cashout'],
              [1, 2, 3, 1, 2, 3], 0)) as rank
        from events_by_player
        where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
          and player_id in ({ids:Array(UUID)})
          and event in ({events:Array(String)})
          and occurred_at >= fromUnixTimestamp64Milli({open_ms:Int64}, 'UTC')
          and occurred_at < fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')
        order by revision desc
        limit 1 by owner, ingestion_id, event_index
      )
      group by owner, is_sport, bet_id
      having outcome.1 not in ('', '${REOPENED}') and outcome.2 >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
    )
    group by owner`,
    {
      tenant_id,
      project_id,
      ids,
      owners,
      events: [...STAKES, ...OUTCOMES, REOPENED],
      from_ms,
      until_ms,
      open_ms: from_ms - OPEN_MS,
    },
  );
  return new Map(
    rows.map(({ owner, stakes, payouts }) => [owner, { stakes: BigInt(stakes), payouts: BigInt(payouts) }]),
  );
}
