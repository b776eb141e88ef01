import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** An event of a bet, as ClickHouse has it. */
export interface BetEvent {
  event: string;
  bet_id: string;
  game_category: string;
  at_ms: string;
  /** Of the ingestion; with `i` it names the event. */
  id: string;
  i: number;
}

/** The place after which a page of events begins. */
export type EventPosition = Pick<BetEvent, 'at_ms' | 'id' | 'i'>;

const BET_EVENTS = `('bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'sport_bet_placed', 'sport_bet_settled',
  'sport_cashout', 'sport_bet_voided')`;

/** Those of the players who have events of bets since `from_ms`. */
export async function selectBettors(
  clickhouse: ClickHouse,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
  from_ms: number,
): Promise<Set<string>> {
  const rows = await clickhouse.query<{ bettor_id: string }>(
    `select distinct toString(player_id) as bettor_id from events_by_player
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
      and player_id in ({player_ids:Array(UUID)}) and event in ${BET_EVENTS}
      and occurred_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')`,
    { tenant_id, project_id, player_ids, from_ms },
  );
  return new Set(rows.map(({ bettor_id }) => bettor_id));
}

/** The events of a player's bets in [from_ms, until_ms], a page in the order of their times. */
export async function selectBetEvents(
  clickhouse: ClickHouse,
  { tenant_id, project_id, event_player_ids }: ProjectRef & { event_player_ids: readonly string[] },
  window: { from_ms: number; until_ms: number },
  after: EventPosition | undefined,
  limit: number,
): Promise<BetEvent[]> {
  return clickhouse.query<BetEvent>(
    `select event, JSONExtractString(properties, 'bet_id') as bet_id,
      JSONExtractString(properties, 'game_category') as game_category,
      toString(toUnixTimestamp64Milli(occurred_at)) as at_ms, toString(ingestion_id) as id, event_index as i
    from events_by_player
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
      and player_id in ({event_player_ids:Array(UUID)})
      and event in ${BET_EVENTS}
      and occurred_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
      and occurred_at <= fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')
      and (toUnixTimestamp64Milli(occurred_at), ingestion_id, event_index)
        > ({after_ms:Int64}, {after_id:UUID}, {after_index:Int32})
    order by occurred_at, ingestion_id, event_index, revision desc
    limit 1 by occurred_at, ingestion_id, event_index
    limit {limit:UInt32}`,
    {
      tenant_id,
      project_id,
      event_player_ids,
      ...window,
      after_ms: Number(after?.at_ms ?? window.from_ms - 1),
      after_id: after?.id ?? '00000000-0000-0000-0000-000000000000',
      after_index: after?.i ?? 0,
      limit,
    },
  );
}
