import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { MAX_PAGE_BYTES, withinPageBytes, type PagedEvent } from '../../analytics/page-bytes-queries.ts';
import type { PendingQuery } from 'postgres';
import type { TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { listAuditRowsOf, type ListedAuditRow } from '../../tenants/audit/queries.ts';
import type { PlayerRef } from '../player-ref.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { nextLocal, startBefore } from '../../platform/local-intervals.ts';
import type { TimeZone } from '../../platform/time-zone.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** What the history of a player is read from. */
export type HistoryDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>;

/** The position of an event in a player's timeline. `occurred_ms` is milliseconds since the epoch. */
export type TimelinePosition = readonly [occurred_ms: string, ingestion_id: string, event_index: string];

/** Checks the parts of a {@link TimelinePosition} in a cursor. */
export const POSITION_SHAPE = [
  (part: string) => /^-?\d{1,13}$/.test(part),
  isUuid,
  (part: string) => /^\d{1,4}$/.test(part),
] as const;

/** The position of an event in a timeline. */
export function positionOf(row: {
  occurred_ms: string;
  ingestion_id: string;
  event_index: number;
}): TimelinePosition {
  return [row.occurred_ms, row.ingestion_id, String(row.event_index)];
}

/** A player of a project, with all ids that its events in ClickHouse may have. */
export interface EventOwner extends ProjectRef {
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

/** The day that begins at `start_ms`, as digits; `amount` is in the smallest unit of the base currency, as digits. */
export interface DepositDayRow {
  start_ms: string;
  amount: string;
}

/** A page of a player's events, the newest first; of each event only the last revision. See {@link withinPageBytes}. */
export async function findTimeline(
  clickhouse: ClickHouse,
  owner: EventOwner,
  after: TimelinePosition | undefined,
  limit: number,
  events?: readonly string[],
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
      ${events === undefined ? '' : 'and event in ({events:Array(String)})'}
    order by occurred_at desc, ingestion_id desc, event_index desc, revision desc
    limit 1 by ingestion_id, event_index
    limit {limit:UInt32}`),
    {
      tenant_id,
      project_id,
      event_player_ids,
      limit,
      events,
      occurred_ms,
      ingestion_id,
      event_index,
      page_bytes: MAX_PAGE_BYTES,
    },
  );
}

/** Sums of confirmed deposits per day of the series, each event once; days without deposits are absent. */
export async function sumDepositsByDay(
  clickhouse: ClickHouse,
  owner: EventOwner,
  { starts_ms, to_ms }: DaySeries,
): Promise<DepositDayRow[]> {
  const { tenant_id, project_id, event_player_ids } = owner;
  return clickhouse.query<DepositDayRow>(
    `select toString(roundDown(toUnixTimestamp64Milli(occurred_at), {starts_ms:Array(Int64)})) as start_ms,
      toString(sum(toInt128(base_amount))) as amount
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
    group by start_ms`,
    { tenant_id, project_id, event_player_ids, from_ms: starts_ms[0], to_ms, starts_ms },
  );
}

/** How many days the deposit series covers, today included (spec part 4). */
const SERIES_DAYS = 30;

/** Consecutive local days: when they begin, the oldest first, and when the last one ends. */
export interface DaySeries {
  starts_ms: readonly number[];
  to_ms: number;
}

/** The last {@link SERIES_DAYS} days of the zone up to and including the day of `now_ms`. */
export function lastDays(now_ms: number, zone: TimeZone): DaySeries {
  const starts_ms: number[] = [];
  let at_ms = startBefore(zone, 'day', now_ms, SERIES_DAYS - 1);
  for (; at_ms <= now_ms; at_ms = nextLocal(zone, 'day', at_ms)) starts_ms.push(at_ms);
  return { starts_ms, to_ms: at_ms };
}

/** A page of the changes of a player and of those merged into it, the newest first. */
export function listPlayerAudit(
  tx: Tx,
  ref: PlayerRef,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<ListedAuditRow[]> {
  const { tenant_id, project_id, player_id } = ref;
  const ids = tx`
    select ${player_id}::text as resource_id
    union
    select player_id::text from player_merges
    where tenant_id = ${tenant_id} and project_id = ${project_id} and into_player_id = ${player_id}::uuid`;
  return listAuditRowsOf(tx, ref, ids, after, limit);
}
