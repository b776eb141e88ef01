import type { PendingQuery } from 'postgres';
import { textArray } from '../platform/postgres/arrays.ts';
import { beyond, microseconds, type Listed, type TimePosition } from '../platform/postgres/keyset.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { PassingWindow } from './dependencies.ts';
import type { RefreshStrategy } from './schema.ts';
import { exactJson } from '../platform/exact-json.ts';

/** The key of a segment. */
export interface SegmentRef extends ProjectRef {
  segment_id: string;
}

/** The progress of a refresh: it compares every player with the stored members, then writes the difference. */
export interface RefreshProgress {
  phase: 'comparing' | 'writing';
  started_at: string;
  /** `done`: players of the difference that are written; `total`: all players of it, null while it is not known. */
  done: number;
  total: number | null;
}

/** A segment as Postgres has it. */
export interface SegmentRow {
  segment_id: string;
  name: string;
  description: string;
  definition: unknown;
  refresh_strategy: RefreshStrategy;
  refresh_interval_minutes: number | null;
  estimated_size: bigint;
  last_computed_at: Date | null;
  last_error: string | null;
  refresh_progress: RefreshProgress | null;
  next_refresh_at: Date | null;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

/** The columns of a definition and its strategy; `reads` and `windows` are derived from the definition. */
export interface StoredDefinition {
  definition: unknown;
  refresh_strategy: RefreshStrategy;
  refresh_interval_minutes: number | null;
  reads: readonly string[];
  windows: readonly PassingWindow[];
}

function columns(tx: Tx) {
  return tx`segment_id, name, description, definition, refresh_strategy, refresh_interval_minutes, estimated_size,
    last_computed_at, last_error, refresh_progress, next_refresh_at, created_at, updated_at, deleted_at`;
}

function itself(tx: Tx, { tenant_id, project_id, segment_id }: SegmentRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}`;
}

/** The segment, deleted or not; no row when the project has no segment of this id. */
export function selectSegment(tx: Tx, ref: SegmentRef): PendingQuery<SegmentRow[]> {
  return tx<SegmentRow[]>`select ${columns(tx)} from segments where ${itself(tx, ref)}`;
}

/** The segment, if it is not deleted, locked against change until the transaction ends. */
export async function lockSegment(tx: Tx, ref: SegmentRef): Promise<SegmentRow | undefined> {
  const [row] = await tx<SegmentRow[]>`
    select ${columns(tx)} from segments where ${itself(tx, ref)} and deleted_at is null for no key update`;
  return row;
}

/** The segment, if it is not deleted. */
export async function selectLiveSegment(tx: Tx, ref: SegmentRef): Promise<SegmentRow | undefined> {
  const [row] = await tx<SegmentRow[]>`
    select ${columns(tx)} from segments where ${itself(tx, ref)} and deleted_at is null`;
  return row;
}

/** A page of the segments that are not deleted, the newest first. */
export function listSegments(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<SegmentRow>[]> {
  return tx<Listed<SegmentRow>[]>`
    select ${columns(tx)}, ${microseconds(tx, 'created_at')} as created_us
    from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      ${beyond(tx, 'created_at', 'segment_id', after)}
    order by created_at desc, segment_id desc
    limit ${limit}`;
}

/** The first refresh of a realtime segment is a job; should all its attempts fail, another refresh is due by then. */
const FIRST_REFRESH_MS = 600_000;

function retryOfFirst({ refresh_strategy }: StoredDefinition, now: Date): Date | null {
  return refresh_strategy === 'realtime' ? new Date(now.getTime() + FIRST_REFRESH_MS) : null;
}

/** Adds a segment; a scheduled one is due at once. */
export async function insertSegment(
  tx: Tx,
  ref: SegmentRef,
  { name, description, ...stored }: { name: string; description: string } & StoredDefinition,
  now: Date,
): Promise<void> {
  await tx`
    insert into segments (tenant_id, project_id, segment_id, name, description, definition, refresh_strategy,
      refresh_interval_minutes, reads, windows, next_refresh_at, refresh_retry_at, defined_at, created_at, updated_at)
    values (${ref.tenant_id}, ${ref.project_id}, ${ref.segment_id}, ${name}, ${description},
      ${exactJson(stored.definition)}::text::json, ${stored.refresh_strategy}, ${stored.refresh_interval_minutes},
      ${textArray(stored.reads)}::text::text[], ${JSON.stringify(stored.windows)}::text::jsonb,
      ${stored.refresh_strategy === 'scheduled' ? now : null}, ${retryOfFirst(stored, now)}, ${now}, ${now}, ${now})`;
}

/** Changes the name and description of a locked segment. */
export async function renameSegment(
  tx: Tx,
  ref: SegmentRef,
  { name, description }: { name: string; description: string },
  now: Date,
): Promise<void> {
  await tx`
    update segments set name = ${name}, description = ${description}, updated_at = ${now} where ${itself(tx, ref)}`;
}

/** Changes the definition or the strategy of a locked segment; a scheduled one is due at once. */
export async function redefineSegment(
  tx: Tx,
  ref: SegmentRef,
  stored: StoredDefinition,
  now: Date,
): Promise<void> {
  await tx`
    update segments set
      definition = ${exactJson(stored.definition)}::text::json, refresh_strategy = ${stored.refresh_strategy},
      refresh_interval_minutes = ${stored.refresh_interval_minutes}, reads = ${textArray(stored.reads)}::text::text[],
      windows = ${JSON.stringify(stored.windows)}::text::jsonb,
      next_refresh_at = ${stored.refresh_strategy === 'scheduled' ? now : null},
      refresh_retry_at = coalesce(${retryOfFirst(stored, now)}::timestamptz, refresh_retry_at), refresh_failures = 0,
      evaluation_failures = 0, evaluation_retry_at = null, defined_at = ${now}, updated_at = ${now}
    where ${itself(tx, ref)}`;
}

/** Marks the segment as deleted; one that was deleted before keeps its time. */
export async function softDeleteSegment(tx: Tx, ref: SegmentRef, now: Date): Promise<void> {
  await tx`
    update segments set deleted_at = ${now}, updated_at = ${now} where ${itself(tx, ref)} and deleted_at is null`;
}

/** Serialises changes of a project's definitions (advisory lock), so that two of them cannot close a cycle together. */
export async function lockDefinitions(tx: Tx, { tenant_id, project_id }: ProjectRef): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`segment definitions ${tenant_id} ${project_id}`}, 0))`;
}

/**
 * The definitions of a segment and of those that it refers to, directly or through others; not of deleted ones. `limit`:
 * so many, the nearest first.
 */
export async function selectWithReferences(
  sql: Tx,
  { tenant_id, project_id, segment_id }: SegmentRef,
  limit?: number,
): Promise<{ segment_id: string; definition: unknown }[]> {
  const live = sql`s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and s.deleted_at is null`;
  return sql<{ segment_id: string; definition: unknown }[]>`
    with recursive needed as (
      select s.segment_id, s.reads from segments s where ${live} and s.segment_id = ${segment_id}
      union
      select s.segment_id, s.reads
      from needed n
      cross join lateral unnest(n.reads) as r (read)
      cross join lateral (
        select * from segments s
        where r.read like 'segment:%' and ${live}
          and s.segment_id = substr(r.read, ${'segment:'.length + 1}::integer)::uuid offset 0) s
    )
    select s.segment_id, s.definition
    from (select * from needed ${limit === undefined ? sql`` : sql`limit ${limit}`}) n
    cross join lateral (select * from segments s where ${live} and s.segment_id = n.segment_id offset 0) s`;
}

/** How many lists of a tenant's frozen segments are still to be written; those that failed are none of them. */
export function countUnwrittenLists(tx: Tx, tenant_id: string): PendingQuery<{ unwritten: number }[]> {
  return tx<{ unwritten: number }[]>`
    select count(*)::integer as unwritten from segments
    where tenant_id = ${tenant_id} and deleted_at is null and last_computed_at is null and last_error is null
      and 'list:' || segment_id = any (reads)`;
}

/** Every segment of the project that is not deleted, with its reads. */
export async function selectReads(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
): Promise<{ segment_id: string; name: string; reads: string[]; is_computed: boolean }[]> {
  return tx<{ segment_id: string; name: string; reads: string[]; is_computed: boolean }[]>`
    select segment_id, name, reads, last_computed_at is not null as is_computed from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null`;
}

/** Stores the progress of a refresh, outside of its transactions, so that readers of the segment see it. */
export async function noteProgress(sql: Tx, ref: SegmentRef, progress: RefreshProgress): Promise<void> {
  await sql`update segments set refresh_progress = ${JSON.stringify(progress)}::text::jsonb where ${itself(sql, ref)}`;
}

/** Notes that a part of a difference is written: unless the rest follows until `retry_at`, another refresh is due. */
export async function notePart(
  tx: Tx,
  ref: SegmentRef,
  progress: RefreshProgress,
  retry_at: Date,
): Promise<void> {
  await tx`
    update segments set refresh_progress = ${JSON.stringify(progress)}::text::jsonb, refresh_retry_at = ${retry_at}
    where ${itself(tx, ref)}`;
}

/**
 * Records that a refresh succeeded; clears the progress, and the last error unless an evaluation has failed since.
 */
export async function markComputed(tx: Tx, ref: SegmentRef, now: Date): Promise<void> {
  await tx`
    update segments set last_computed_at = ${now}, refresh_progress = null, refresh_failures = 0,
      refresh_retry_at = null, last_error = case when evaluation_failures > 0 then last_error end
    where ${itself(tx, ref)}`;
}

/** Records why a segment could not be evaluated for a player. */
export async function noteError(sql: Tx, ref: SegmentRef, message: string): Promise<void> {
  await sql`update segments set last_error = ${message} where ${itself(sql, ref)}`;
}

/**
 * Records why a refresh failed. Members that are written stay. When the members may be incomplete (the segment is
 * realtime, or a part of a difference was written), another refresh is due after 1, 2, 4 … 60 minutes.
 */
export async function markFailed(sql: Tx, ref: SegmentRef, message: string, now: Date): Promise<void> {
  await sql`
    update segments set last_error = ${message}, refresh_progress = null, refresh_failures = refresh_failures + 1,
      refresh_retry_at = case when refresh_strategy = 'realtime' or refresh_retry_at is not null
        then ${now}::timestamptz + least(power(2, least(refresh_failures, 10)), 60) * interval '1 minute' end
    where ${itself(sql, ref)}`;
}

/**
 * After a refresh that waited too long for others, or could not begin yet: when the segment is realtime, another one is due in a minute, unless
 * one is due anyway.
 */
export async function wantLater(sql: Tx, ref: SegmentRef, now: Date): Promise<void> {
  await sql`
    update segments set refresh_retry_at = coalesce(refresh_retry_at, ${now}::timestamptz + interval '1 minute')
    where refresh_strategy = 'realtime' and ${itself(sql, ref)}`;
}

/** Makes a refresh of the segment due now. */
export async function wantRefresh(tx: Tx, ref: SegmentRef, now: Date): Promise<void> {
  await tx`
    update segments set refresh_retry_at = least(refresh_retry_at, ${now}) where ${itself(tx, ref)}`;
}

/**
 * Quarantines a segment that could not be evaluated, or keeps it so, and records why. It is evaluated alone after 5, 10,
 * 20 … 600 seconds.
 */
export async function quarantine(sql: Tx, ref: SegmentRef, message: string, now: Date): Promise<void> {
  await sql`
    update segments set last_error = ${message}, evaluation_failures = evaluation_failures + 1,
      evaluation_retry_at = ${now}::timestamptz
        + least(5 * power(2, least(evaluation_failures, 10)), 600) * interval '1 second'
    where ${itself(sql, ref)}`;
}

/** Ends {@link quarantine}; clears the last error unless a refresh has failed. */
export async function endQuarantine(tx: Tx, ref: SegmentRef): Promise<void> {
  await tx`
    update segments set evaluation_failures = 0, evaluation_retry_at = null,
      last_error = case when refresh_failures > 0 then last_error end
    where ${itself(tx, ref)}`;
}

/**
 * Claims up to `limit` segments whose members may be incomplete and for which another refresh is due. They are due again
 * at `next`, unless that refresh succeeds.
 */
export async function takeUnfinishedSegments(
  sql: Tx,
  now: Date,
  next: Date,
  limit: number,
): Promise<SegmentRef[]> {
  return sql<SegmentRef[]>`
    with due as materialized (
      select tenant_id, project_id, segment_id from segments
      where refresh_retry_at <= ${now} and deleted_at is null
      order by refresh_retry_at limit ${limit} for update skip locked
    )
    update segments s set refresh_retry_at = ${next}
    from due
    where s.tenant_id = due.tenant_id and s.project_id = due.project_id and s.segment_id = due.segment_id
    returning s.tenant_id, s.project_id, s.segment_id`;
}

/**
 * Claims up to `limit` scheduled segments that are due, and sets when each is due next: one interval after `now`.
 * `due_ms`: since when it was due, in milliseconds since the epoch.
 */
export async function takeDueSegments(
  sql: Tx,
  now: Date,
  limit: number,
): Promise<(SegmentRef & { due_ms: bigint })[]> {
  return sql<(SegmentRef & { due_ms: bigint })[]>`
    with due as materialized (
      select tenant_id, project_id, segment_id, next_refresh_at from segments
      where refresh_strategy = 'scheduled' and deleted_at is null and next_refresh_at <= ${now}
      order by next_refresh_at limit ${limit} for update skip locked
    )
    update segments s
    set next_refresh_at = ${now}::timestamptz + refresh_interval_minutes * interval '1 minute'
    from due
    where s.tenant_id = due.tenant_id and s.project_id = due.project_id and s.segment_id = due.segment_id
    returning s.tenant_id, s.project_id, s.segment_id, epoch_ms(due.next_refresh_at) as due_ms`;
}

/** How many evaluations and refreshes of segments, and passing windows, are quarantined or to be repeated. */
export async function countQuarantined(sql: Tx): Promise<{ step: string; count: bigint }[]> {
  return sql<{ step: string; count: bigint }[]>`
    select 'evaluation' as step, count(*) as count from segments where evaluation_failures > 0 and deleted_at is null
    union all
    select 'refresh', count(*) from segments where refresh_retry_at is not null and refresh_failures > 0 and deleted_at is null
    union all
    select 'window', count(*) from segment_window_sweeps where failures > 0`;
}
