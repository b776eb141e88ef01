import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** A player of a project, with all ids that its events in ClickHouse may have. */
interface EventOwner extends ProjectRef {
  event_player_ids: readonly string[];
}

/** How long before its outcome a bet may have been placed. */
const OPEN_MS = 90 * 86_400_000;

/**
 * Stakes and payouts of the player's bets whose outcome is in [from_ms, until_ms), in the smallest unit of the base
 * currency. A bet counts as for the totals: its stake once, its last outcome, and nothing when it was voided; an open
 * one is no loss yet.
 */
export async function sumBets(
  clickhouse: ClickHouse,
  { tenant_id, project_id, event_player_ids }: EventOwner,
  from_ms: number,
  until_ms: number,
): Promise<{ stakes: bigint; payouts: bigint }> {
  const [row] = await clickhouse.query<{ stakes: string; payouts: string }>(
    `select toString(sum(toInt128(coalesce(stake, 0)))) as stakes, toString(sum(toInt128(coalesce(payout, 0)))) as payouts
    from (
      select
        coalesce(anyIf(base_amount, event in ('bet_placed', 'sport_bet_placed')),
          anyIf(base_amount, event in ('bet_settled', 'sport_bet_settled'))) as stake,
        argMaxIf(tuple(base_payout, event, occurred_at), (if(is_sport, occurred_at, toDateTime64(0, 3, 'UTC')), rank), rank > 0)
          as outcome,
        outcome.1 as payout
      from (
        select event, occurred_at, base_amount, base_payout, JSONExtractString(properties, 'bet_id') as bet_id,
          startsWith(event, 'sport_') as is_sport,
          transform(event, ['bet_lost', 'bet_won', 'bet_settled', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided'],
            [1, 2, 3, 1, 2, 3], 0) as rank
        from events_by_player
        where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
          and player_id in ({event_player_ids:Array(UUID)})
          and event in ('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'sport_bet_placed', 'sport_bet_settled',
            'sport_cashout', 'sport_bet_voided')
          and occurred_at >= fromUnixTimestamp64Milli({open_ms:Int64}, 'UTC')
          and occurred_at < fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')
        order by revision desc
        limit 1 by ingestion_id, event_index
      )
      group by is_sport, bet_id
      having countIf(rank > 0) > 0 and outcome.2 <> 'sport_bet_voided'
        and outcome.3 >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
    )`,
    { tenant_id, project_id, event_player_ids, from_ms, until_ms, open_ms: from_ms - OPEN_MS },
  );
  return { stakes: BigInt(row?.stakes ?? 0), payouts: BigInt(row?.payouts ?? 0) };
}
