import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { TimelinePosition } from './timeline-position.ts';
import { MAX_PAGE_BYTES, withinPageBytes, type PagedEvent } from '../../analytics/page-bytes-queries.ts';

/** A player of a project, with all ids that its events in ClickHouse may have. */
export interface EventOwner {
  tenant_id: string;
  project_id: string;
  event_player_ids: readonly string[];
}

/** `occurred_ms` is milliseconds since the epoch as digits; `properties` is JSON text as the fold wrote it. */
export interface TimelineRow extends PagedEvent {
  event: string;
  occurred_ms: string;
  ingestion_id: string;
  event_index: number;
  properties: string;
}

/** `day` is YYYY-MM-DD; `amount` is in the smallest unit of the base currency, as digits. */
export interface DepositDayRow {
  day: string;
  amount: string;
}

/** A page of a player's events, the newest first; of each event only the last revision. See {@link withinPageBytes}. */
export async function findTimeline(
  clickhouse: ClickHouse,
  owner: EventOwner,
  after: TimelinePosition | undefined,
  limit: number,
): Promise<TimelineRow[]> {
  const { tenant_id, project_id, event_player_ids } = owner;
  const [occurred_ms, ingestion_id, event_index] = after ?? [];
  const beyond =
    after === undefined
      ? ''
      : `and (occurred_at, ingestion_id, event_index) <
          (fromUnixTimestamp64Milli({occurred_ms:Int64}, 'UTC'), {ingestion_id:UUID}, {event_index:UInt16})`;
  return clickhouse.query<TimelineRow>(
    withinPageBytes(`select event, toString(toUnixTimestamp64Milli(occurred_at)) as occurred_ms, ingestion_id, event_index, properties
    from events_by_player
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} 
      and player_id in ({event_player_ids:Array(UUID)}) ${beyond}
    order by occurred_at desc, ingestion_id desc, event_index desc, revision desc
    limit 1 by ingestion_id, event_index
    limit {limit:UInt32}`),
    {
      tenant_id,
      project_id,
      event_player_ids,
      limit,
      occurred_ms,
      ingestion_id,
      event_index,
      page_bytes: MAX_PAGE_BYTES,
    },
  );
}

/** Sums of confirmed deposits per UTC day in [from_ms, to_ms), each event once; days without deposits are absent. */
export async function sumDepositsByDay(
  clickhouse: ClickHouse,
  owner: EventOwner,
  from_ms: number,
  to_ms: number,
): Promise<DepositDayRow[]> {
  const { tenant_id, project_id, event_player_ids } = owner;
  return clickhouse.query<DepositDayRow>(
    `select toString(toDate(occurred_at, 'UTC')) as day, toString(sum(toInt128(base_amount))) as amount
    from (
      select occurred_at, base_amount
      from events_by_player
      where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
        and player_id in ({event_player_ids:Array(UUID)}) and event = 'deposit_confirmed'
        and occurred_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
        and occurred_at < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
      order by revision desc
      limit 1 by ingestion_id, event_index
    )
    where base_amount is not null
    group by day`,
    { tenant_id, project_id, event_player_ids, from_ms, to_ms },
  );
}
