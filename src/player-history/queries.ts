import type { ClickHouse } from '../platform/clickhouse/port.ts';

interface PlayerRef {
  tenant_id: string;
  project_id: string;
  player_id: string;
}

/** A place in a player's timeline. */
export interface TimelinePosition {
  occurred_ms: string;
  ingestion_id: string;
  event_index: string;
}

/** `properties` is JSON text, as it was sent. */
export interface TimelineRow {
  event: string;
  occurred_ms: string;
  ingestion_id: string;
  event_index: number;
  properties: string;
}

/** `day` is YYYY-MM-DD, `amount` digits in the smallest unit of the base currency. */
export interface DepositDayRow {
  day: string;
  amount: string;
}

/** A player's events, the newest first; of several revisions of one event the last one. */
export async function findTimeline(
  clickhouse: ClickHouse,
  ref: PlayerRef,
  after: TimelinePosition | undefined,
  limit: number,
): Promise<TimelineRow[]> {
  const { tenant_id, project_id, player_id } = ref;
  const beyond =
    after === undefined
      ? ''
      : `and (occurred_at, ingestion_id, event_index) <
          (fromUnixTimestamp64Milli({occurred_ms:Int64}, 'UTC'), {ingestion_id:UUID}, {event_index:UInt16})`;
  return clickhouse.query<TimelineRow>(
    `select event, toString(toUnixTimestamp64Milli(occurred_at)) as occurred_ms, ingestion_id, event_index, properties
    from events_by_player
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and player_id = {player_id:UUID} ${beyond}
    order by occurred_at desc, ingestion_id desc, event_index desc, revision desc
    limit 1 by ingestion_id, event_index
    limit {limit:UInt32}`,
    { tenant_id, project_id, player_id, limit, ...after },
  );
}

/** Confirmed deposits per UTC day in [from, to), days without any left out; each event once. */
export async function sumDepositsByDay(
  clickhouse: ClickHouse,
  ref: PlayerRef,
  from_ms: number,
  to_ms: number,
): Promise<DepositDayRow[]> {
  const { tenant_id, project_id, player_id } = ref;
  return clickhouse.query<DepositDayRow>(
    `select toString(toDate(occurred_at, 'UTC')) as day, toString(sum(toInt128(base_amount))) as amount
    from (
      select occurred_at, base_amount
      from events
      where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
        and event = 'deposit_confirmed' and player_id = {player_id:UUID}
        and occurred_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
        and occurred_at < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
      order by revision desc
      limit 1 by ingestion_id, event_index
    )
    where base_amount is not null
    group by day`,
    { tenant_id, project_id, player_id, from_ms, to_ms },
  );
}
