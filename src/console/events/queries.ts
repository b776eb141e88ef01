import type { TimelinePosition } from '../../players/history/queries.ts';
import type { PendingQuery } from 'postgres';
import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { OWNER, SCOPE } from '../../segments/sql/owner-sql.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { withinPageBytes, type PagedEvent } from '../../analytics/page-bytes-queries.ts';

const LIMITS = 'settings max_execution_time = 20, max_memory_usage = 2000000000';

/** An event in ClickHouse. Times are milliseconds since the epoch and amounts whole numbers, both as digits. */
export interface EventRow {
  event: string;
  owner: string;
  occurred_ms: string;
  received_ms: string;
  ingestion_id: string;
  event_index: number;
  base_amount: string | null;
  base_payout: string | null;
  properties: string;
}

/** An event of a page. */
export type FoundRow = EventRow & PagedEvent;

const COLUMNS = `event, ${OWNER}, toString(toUnixTimestamp64Milli(occurred_at)) as occurred_ms,
  toString(toUnixTimestamp64Milli(received_at)) as received_ms, ingestion_id, event_index,
  toString(base_amount) as base_amount, toString(base_payout) as base_payout, properties`;

const since = (name: string) => `occurred_at >= fromUnixTimestamp64Milli({${name}:Int64}, 'UTC')`;
const before = (name: string) => `occurred_at < fromUnixTimestamp64Milli({${name}:Int64}, 'UTC')`;

/** Which events are searched, in [from_ms, to_ms). `player_ids`: all ids that the player's events may have. */
export interface EventFilter extends ProjectRef {
  event: string | undefined;
  player_ids: readonly string[] | undefined;
  from_ms: number;
  to_ms: number;
}

/** Events of a project, the newest first; of each event only the last revision. See {@link withinPageBytes}. */
export async function searchEvents(
  clickhouse: ClickHouse,
  { event, player_ids, ...range }: EventFilter,
  after: TimelinePosition | undefined,
  { limit, page_bytes }: { limit: number; page_bytes: number },
): Promise<FoundRow[]> {
  const [occurred_ms, ingestion_id, event_index] = after ?? [];
  const conditions = [SCOPE, since('from_ms'), before('to_ms')];
  if (event !== undefined) conditions.push('event = {event:String}');
  if (player_ids !== undefined) conditions.push('player_id in ({player_ids:Array(UUID)})');
  if (after !== undefined)
    conditions.push(`(occurred_at, ingestion_id, event_index) <
      (fromUnixTimestamp64Milli({occurred_ms:Int64}, 'UTC'), {ingestion_id:UUID}, {event_index:UInt16})`);
  const newest_first = `select ${COLUMNS}
    from ${player_ids === undefined ? 'events' : 'events_by_player'}
    where ${conditions.join(' and ')}
    order by occurred_at desc, ingestion_id desc, event_index desc, revision desc
    limit 1 by ingestion_id, event_index
    limit {limit:UInt32}`;
  const params = { ...range, event, player_ids, limit, page_bytes, occurred_ms, ingestion_id, event_index };
  return clickhouse.query<FoundRow>(`${withinPageBytes(newest_first)} ${LIMITS}`, params);
}

/** What names one event of a project. */
export interface EventRef extends ProjectRef {
  ingestion_id: string;
  event_index: number;
}

/** The event, searched for in [from_ms, to_ms) of event times; without them among all. */
export async function findEvent(
  clickhouse: ClickHouse,
  ref: EventRef,
  range?: { from_ms: number; to_ms: number },
): Promise<EventRow | undefined> {
  const within = range === undefined ? '' : `and ${since('from_ms')} and ${before('to_ms')}`;
  const [row] = await clickhouse.query<EventRow>(
    `select ${COLUMNS} from events
    where ${SCOPE} and ingestion_id = {ingestion_id:UUID} and event_index = {event_index:UInt16} ${within}
    order by revision desc limit 1 ${LIMITS}`,
    { ...ref, ...range },
  );
  return row;
}

/** The anonymous ids by which events may name the player. */
export function selectAnonymousIds(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
): PendingQuery<{ anonymous_ids: string[] }[]> {
  return tx<{ anonymous_ids: string[] }[]>`
    select anonymous_ids from players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}`;
}

/** A membership of a player in a segment that is not deleted. */
export interface EnteredSegment {
  segment_id: string;
  name: string;
  entered_at: Date;
}

/** The memberships of the player that began at this time or later, the first first. */
export function selectSegmentsEntered(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  since_ms: number,
  limit: number,
): PendingQuery<EnteredSegment[]> {
  return tx<EnteredSegment[]>`
    select m.segment_id, s.name, m.entered_at
    from segment_members m
    join segments s on s.tenant_id = m.tenant_id and s.project_id = m.project_id and s.segment_id = m.segment_id
    where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.player_id = ${player_id}
      and m.entered_at >= ${new Date(since_ms)} and s.deleted_at is null
    order by m.entered_at, m.segment_id
    limit ${limit}`;
}
