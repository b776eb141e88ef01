import type { PendingQuery } from 'postgres';
import type { Backlog } from '../platform/backlog-gauge.ts';
import { plainArray, textArray } from '../platform/postgres/arrays.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import type { WorkQuery } from '../platform/postgres/work-watch.ts';
import type { SegmentRef } from './queries.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';

/** Postgres notifies on this channel when players are marked dirty. */
export const DIRTY_PLAYERS_CHANNEL = 'dirty_players';

/** Players to evaluate again in the segments that read any of `reads`. */
export interface DirtyPlayers extends ProjectRef {
  reads: readonly string[];
  player_ids: readonly string[];
  /** Present: evaluate them in this segment only. */
  segment_id?: string;
}

/** Queues entries, and notifies the processors on {@link DIRTY_PLAYERS_CHANNEL}. */
export async function insertDirtyPlayers(tx: Tx, entries: readonly DirtyPlayers[], now: Date): Promise<void> {
  if (entries.length === 0) return;
  await tx`
    insert into dirty_players (tenant_id, project_id, reads, player_ids, segment_id, marked_at)
    select r.tenant_id, r.project_id, r.reads::text[], r.player_ids::uuid[], r.segment_id, ${now}
    from ${rowsOf(tx, 'r', entries, {
      ...PROJECT_KEY,
      reads: ['text', (r) => textArray(r.reads)],
      player_ids: ['text', (r) => plainArray(r.player_ids)],
      segment_id: ['uuid', (r) => r.segment_id ?? null],
    })}`;
  await tx`select pg_notify(${DIRTY_PLAYERS_CHANNEL}, '')`;
}

/** The condition that the entry `d` does not wait for a segment that is quarantined. */
function isNotQuarantined(sql: Tx) {
  return sql`(d.segment_id is null or not exists (
    select from segments s where s.tenant_id = d.tenant_id and s.project_id = d.project_id
      and s.segment_id = d.segment_id and s.evaluation_failures > 0))`;
}

/** Projects with dirty players that can be evaluated now, the one with the oldest entry first. */
export async function selectDirtyProjects(sql: Tx): Promise<ProjectRef[]> {
  return sql<ProjectRef[]>`
    select tenant_id, project_id from dirty_players d where ${isNotQuarantined(sql)}
    group by tenant_id, project_id order by min(entry_id)`;
}

/** An entry of the queue `dirty_players`. `segment_id` null: for every realtime segment that has one of the reads. */
export interface DirtyEntry {
  entry_id: bigint;
  reads: string[];
  /** The players as they were marked; they may have been merged since. */
  player_ids: string[];
  segment_id: string | null;
}

/** The segments of a project that have deferred entries, because they were being refreshed, but are not quarantined. */
export async function selectDeferredSegments(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
): Promise<{ segment_id: string }[]> {
  return sql<{ segment_id: string }[]>`
    select distinct d.segment_id from dirty_players d
    where d.tenant_id = ${tenant_id} and d.project_id = ${project_id} and d.segment_id is not null
      and ${isNotQuarantined(sql)}`;
}

/**
 * The project's oldest entries. Entries that were deferred to one segment are read only for the segments in `quiet`:
 * those that are not being refreshed now.
 */
export async function readDirtyPlayers(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  quiet: readonly string[],
  limit: number,
): Promise<DirtyEntry[]> {
  return tx<DirtyEntry[]>`
    select entry_id, reads, player_ids::text[] as player_ids, segment_id::text as segment_id
    from dirty_players
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      and (segment_id is null or segment_id = any(${plainArray(quiet)}::text::uuid[]))
    order by entry_id limit ${limit}`;
}

/** The oldest entries that were deferred to one segment. */
export async function readDeferred(
  sql: Tx,
  { tenant_id, project_id, segment_id }: SegmentRef,
  limit: number,
): Promise<DirtyEntry[]> {
  return sql<DirtyEntry[]>`
    select entry_id, reads, player_ids::text[] as player_ids, segment_id::text as segment_id
    from dirty_players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}
    order by entry_id limit ${limit}`;
}

/** The number of entries that were deferred to one segment. */
export async function countDeferred(
  sql: Tx,
  { tenant_id, project_id, segment_id }: SegmentRef,
): Promise<number> {
  const [row] = await sql<{ entries: bigint }[]>`
    select count(*) as entries from dirty_players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}`;
  return Number(row?.entries ?? 0n);
}

/** Removes the entries that were deferred to one segment. */
export async function deleteDeferred(
  tx: Tx,
  { tenant_id, project_id, segment_id }: SegmentRef,
): Promise<void> {
  await tx`
    delete from dirty_players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}`;
}

/** Leaves these players in an entry of the project. */
export async function keepDirtyPlayers(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { entry_id, player_ids }: Pick<DirtyEntry, 'entry_id' | 'player_ids'>,
): Promise<void> {
  await tx`
    update dirty_players set player_ids = ${plainArray(player_ids)}::text::uuid[]
    where tenant_id = ${tenant_id} and project_id = ${project_id} and entry_id = ${entry_id}`;
}

/** Removes entries of the project by entry_id. */
export async function deleteDirtyPlayers(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  ids: readonly bigint[],
): Promise<void> {
  await tx`
    delete from dirty_players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and entry_id = any(${plainArray(ids)}::text::bigint[])`;
}

/**
 * The players that these ids stand for now: `player_ids` has the survivors of merged ones. `former_ids`: ids of players
 * merged into them that rows in ClickHouse may still carry, which is up to a minute after the rows were rewritten.
 */
export async function resolvePlayers(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): Promise<{ player_ids: string[]; former_ids: string[] }> {
  const [row] = await tx<{ player_ids: string[] | null; former_ids: string[] | null }[]>`
    with named as (
      select distinct coalesce(m.into_player_id, r.player_id) as player_id
      from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)
      left join player_merges m on m.tenant_id = ${tenant_id} and m.project_id = ${project_id}
        and m.player_id = r.player_id
    )
    select (select array_agg(player_id::text) from named) as player_ids,
      (select array_agg(m.player_id::text) from named n
        join player_merges m on m.tenant_id = ${tenant_id} and m.project_id = ${project_id}
          and m.into_player_id = n.player_id
          and (m.rewritten_at is null or m.rewritten_at > now() - interval '1 minute')) as former_ids`;
  return { player_ids: row?.player_ids ?? [], former_ids: row?.former_ids ?? [] };
}

/** A segment as it is evaluated for single players. */
export interface SegmentToEvaluate {
  segment_id: string;
  definition: unknown;
  reads: string[];
  /** Evaluations that failed one after the other; not 0 while the segment is quarantined. */
  evaluation_failures: number;
}

/** The project's segments that are not deleted, except frozen ones: the realtime ones, or every one. */
export async function selectSegmentsToEvaluate(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  which: 'realtime' | 'every',
): Promise<SegmentToEvaluate[]> {
  const realtime = which === 'realtime' ? tx`and refresh_strategy = 'realtime'` : tx``;
  return tx<SegmentToEvaluate[]>`
    select segment_id, definition, reads, evaluation_failures from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null ${realtime}
      and not 'list:' || segment_id = any (reads)
    order by created_at, segment_id`;
}

/** The segments that are quarantined and may be tried again now, and those that need no evaluation any more. */
export function selectQuarantined(sql: Tx, now: Date, limit: number): PendingQuery<SegmentRef[]> {
  return sql<SegmentRef[]>`
    select tenant_id, project_id, segment_id from segments
    where evaluation_failures > 0
      and (evaluation_retry_at <= ${now} or deleted_at is not null or refresh_strategy <> 'realtime')
    order by evaluation_retry_at limit ${limit}`;
}

/** A row while players can be evaluated, or a segment that was quarantined may be tried again. */
export const dirtyWork: WorkQuery = (sql, now) => sql`
  (select d.segment_id from dirty_players d where ${isNotQuarantined(sql)} order by entry_id limit 1)
  union all
  (select segment_id from (${selectQuarantined(sql, now, 1)}) s)`;

/** A segment of {@link selectQuarantined}, if it still is; `is_realtime`: it is not deleted and still realtime. */
export async function selectQuarantinedSegment(
  sql: Tx,
  { tenant_id, project_id, segment_id }: SegmentRef,
  now: Date,
): Promise<(SegmentToEvaluate & { is_realtime: boolean }) | undefined> {
  const [row] = await sql<(SegmentToEvaluate & { is_realtime: boolean })[]>`
    select segment_id, definition, reads, evaluation_failures,
      deleted_at is null and refresh_strategy = 'realtime' as is_realtime
    from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}
      and evaluation_failures > 0
      and (evaluation_retry_at <= ${now} or deleted_at is not null or refresh_strategy <> 'realtime')`;
  return row;
}

/**
 * When the oldest entry that does not wait for a certain segment was marked, in milliseconds since the epoch; undefined:
 * there is no such entry.
 */
export async function oldestDirtyMs(sql: Tx): Promise<number | undefined> {
  const [row] = await sql<{ marked_ms: bigint }[]>`
    select epoch_ms(marked_at) as marked_ms from dirty_players where segment_id is null order by entry_id limit 1`;
  return row === undefined ? undefined : Number(row.marked_ms);
}

/** Entries of dirty players, each of up to 1,000 players, that wait for an evaluation. */
export async function readEntriesToEvaluate(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(marked_at))::float8 as oldest_ms
    from (select marked_at from dirty_players order by entry_id limit ${most}) as waiting`;
  return row ?? { items: 0, oldest_ms: null };
}
