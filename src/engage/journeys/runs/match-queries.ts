import { groupBy } from '../../../platform/group-by.ts';
import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../../tenants/project-ref.ts';
import { lastStepsSql } from './last-step-queries.ts';
import { mergedPartition } from './merge-queries.ts';
import type { RunRef, VersionRef } from './run-row.ts';

// Events and waits meet in one of two ways. The matcher publishes up to where it is about to look events up, and looks
// then. A run that begins to wait becomes visible, and what was published is looked at then. One of them sees the other.

// Rows of `journey_waits` whose `seq` is 0 are not waits: they are there to be looked at once, and then they go.

/** Stands in `journey_waits` for the events that end a run by `exit_on` or its goal; a segment's id for leaving it. */
export const EVENTS_THAT_END = '';

/** An event name of a project. */
export interface EventName extends ProjectRef {
  event: string;
}

/** Those of these event names that runs of some version may wait for, or that end them. */
export async function selectWatched(sql: Tx, names: readonly EventName[]): Promise<EventName[]> {
  return sql<EventName[]>`
    select distinct w.tenant_id, w.project_id, w.event from ${rowsOf(sql, 'n', names, { ...PROJECT_KEY, event: 'text' })}
    cross join lateral (
      select w.tenant_id, w.project_id, w.event from journey_watched w
      where w.tenant_id = n.tenant_id and w.project_id = n.project_id and w.event = n.event
        and w.kind <> 'segment_exited' offset 0) w`;
}

/** A version whose runs may wait for an event, or end by it: its journey and number. */
export type Watcher = [journey_id: string, version: number];

/** For each of these names, at most `limit` versions that watch it, as the elements of a JSON list of {@link Watcher}. */
export async function selectWatchers(sql: Tx, names: readonly EventName[], limit: number): Promise<string[]> {
  const rows = await sql<{ watchers: string }[]>`
    select w.watchers from ${rowsOf(sql, 'n', names, { ...PROJECT_KEY, event: 'text', place: 'ordinality' })}
    cross join lateral (
      select coalesce(string_agg('["' || o.journey_id || '",' || o.version || ']', ','), '') as watchers from (
        select w.journey_id, w.version from journey_watched w
        where w.tenant_id = n.tenant_id and w.project_id = n.project_id and w.event = n.event
          and w.kind <> 'segment_exited'
        limit ${limit}) o) w
    order by n.place`;
  return rows.map(({ watchers }) => watchers);
}

/** The events that may end these runs. */
export async function selectEventsThatEnd(sql: Tx, runs: readonly RunRef[]): Promise<EventName[]> {
  return sql<EventName[]>`
    select distinct w.tenant_id, w.project_id, w.event from ${rowsOf(sql, 'g', runs, { ...PROJECT_KEY, run_id: 'uuid' })}
    cross join lateral (
      select r.journey_id, r.version from journey_runs r
      where r.run_id = g.run_id and r.tenant_id = g.tenant_id and r.project_id = g.project_id offset 0) r
    cross join lateral (
      select w.tenant_id, w.project_id, w.event from journey_watched w
      where w.tenant_id = g.tenant_id and w.project_id = g.project_id and w.journey_id = r.journey_id
        and w.version = r.version and w.kind in ('exit', 'goal') offset 0) w`;
}

/** Publishes up to where the matcher is about to look events up. */
export async function publishReading(
  sql: Tx,
  { log_id, partition, reading_to }: { log_id: string; partition: number; reading_to: bigint },
): Promise<void> {
  await sql`
    insert into journey_readers (log_id, partition, reading_to) values (${log_id}, ${partition}, ${reading_to})
    on conflict (log_id, partition) do update
    set reading_to = greatest(journey_readers.reading_to, excluded.reading_to)`;
}

/** Up to where events are being looked up or were, by partition. */
export async function selectReading(
  sql: Tx,
  log_id: string,
): Promise<{ partition: number; reading_to: bigint }[]> {
  return sql<{ partition: number; reading_to: bigint }[]>`
    select partition, reading_to from journey_readers where log_id = ${log_id}`;
}

/** An event to look up: `index` is its place in the batch. `name` is one object for all events of the name. */
export interface LookedUp {
  index: number;
  name: EventName;
  player_id: string;
  log_offset: bigint;
  received_ms: number;
  /** Only runs behind this one. */
  after_run_id: string;
}

/** A run that waits for an event, and the event. */
export interface Hit extends RunRef, VersionRef {
  index: number;
  node_id: string;
  seq: number;
  /** The event was received before the run began, or began to wait: perhaps it was on the log before, too. */
  may_repeat: boolean;
}

/** A run that waits for such an event. */
export interface WaitHit extends Hit {
  /** The wait's player was merged: events on several partitions count. */
  is_merged: boolean;
}

/** Hits of one page. */
export const MAX_HITS = 5_000;

/** The last hit of a page: the next one begins behind it. */
export type HitPosition = Pick<Hit, 'index' | 'run_id'>;

/** What {@link selectHits} and {@link selectEnding} look at. */
export interface Lookup {
  log_id: string;
  partition: number;
  events: readonly LookedUp[];
  /** The most hits of one event. */
  of_event: number;
  after: HitPosition | undefined;
}

/**
 * At most 5,000 runs that wait for these events of one partition, in the order of the events. Events of merged players are
 * those of the survivors.
 */
export async function selectHits(
  sql: Tx,
  { log_id, partition, events, of_event, after }: Lookup,
): Promise<WaitHit[]> {
  return sql<WaitHit[]>`
    select e.index, h.*
    from ${given(sql, events)}
    left join lateral (
      select m.into_player_id from player_merges m
      where m.tenant_id = e.tenant_id and m.project_id = e.project_id and m.player_id = e.player_id offset 0) m on true
    cross join lateral (
      select w.tenant_id, w.project_id, w.run_id, w.seq, r.journey_id, r.version, r.node_id, w.partition < 0 as is_merged,
        e.received_at < w.since as may_repeat
      from journey_waits w
      cross join lateral (
        select r.journey_id, r.version, r.node_id from journey_runs r
        where r.run_id = w.run_id and r.tenant_id = w.tenant_id and r.project_id = w.project_id and r.seq = w.seq
          and r.status = 'running' offset 0) r
      where w.tenant_id = e.tenant_id and w.project_id = e.project_id and w.event = e.event
        and w.player_id = coalesce(m.into_player_id, e.player_id) and w.run_id > e.after_run_id
        and case
          when w.log_id = ${log_id} and w.partition in (${partition}, ${mergedPartition(partition)})
            then w.from_offset <= e.log_offset
          else (w.partition < 0 or w.log_id <> ${log_id}) and w.since <= e.received_at end
      order by w.run_id limit ${of_event}) h
    ${behind(sql, after)}
    order by e.index, h.run_id limit ${MAX_HITS}`;
}

/**
 * At most 5,000 running runs of these players that such an event of one partition may end, in the order of the events:
 * those that began before it.
 */
export async function selectEnding(
  sql: Tx,
  { log_id, partition, events, of_event, after }: Lookup,
): Promise<Hit[]> {
  return sql<Hit[]>`
    select e.index, h.*
    from ${given(sql, events)}
    left join lateral (
      select m.into_player_id from player_merges m
      where m.tenant_id = e.tenant_id and m.project_id = e.project_id and m.player_id = e.player_id offset 0) m on true
    cross join lateral (
      select r.tenant_id, r.project_id, r.run_id, r.seq, r.journey_id, r.version, r.node_id,
        e.received_at < r.started_at as may_repeat
      from (
        select distinct w.journey_id, w.version from journey_watched w
        where w.tenant_id = e.tenant_id and w.project_id = e.project_id and w.event = e.event and w.kind in ('exit', 'goal')
        offset 0) w
      cross join lateral (
        select * from journey_runs r
        where r.journey_id = w.journey_id and r.player_id = coalesce(m.into_player_id, e.player_id)
          and r.tenant_id = e.tenant_id and r.project_id = e.project_id and r.status = 'running'
        offset 0) r
      -- The version is compared here, so that the running runs of a player are looked up and not those of the version.
      where r.version = w.version and r.run_id > e.after_run_id and case
        when r.log_id = ${log_id} and r.partition in (${partition}, ${mergedPartition(partition)})
          then r.from_offset <= e.log_offset
        else (r.partition is null or r.partition < 0 or r.log_id <> ${log_id}) and r.started_at <= e.received_at end
      order by r.run_id limit ${of_event}) h
    ${behind(sql, after)}
    order by e.index, h.run_id limit ${MAX_HITS}`;
}

function behind(sql: Tx, after: HitPosition | undefined) {
  return after === undefined
    ? sql``
    : sql`where (e.index, h.run_id) > (${after.index}::integer, ${after.run_id}::uuid)`;
}

/** One row of arrays per name: thousands of events are of few names. */
function given(sql: Tx, events: readonly LookedUp[]) {
  const names = [...groupBy(events, ({ name }) => name)].map(([name, group]) => ({ ...name, group }));
  const listed = (valueOf: (event: LookedUp) => string | number | bigint) =>
    ['text', ({ group }: { group: LookedUp[] }) => plainArray(group.map(valueOf))] as const;
  return sql`(
    select n.tenant_id, n.project_id, n.event, g.index, g.player_id, g.log_offset, g.after_run_id,
      'epoch'::timestamptz + g.received_ms * interval '1 millisecond' as received_at
    from ${rowsOf(sql, 'n', names, {
      ...PROJECT_KEY,
      event: 'text',
      indexes: listed((e) => e.index),
      player_ids: listed((e) => e.player_id),
      log_offsets: listed((e) => e.log_offset),
      times: listed((e) => e.received_ms),
      afters: listed((e) => e.after_run_id),
    })}
    cross join lateral unnest(n.indexes::integer[], n.player_ids::uuid[], n.log_offsets::bigint[], n.times::bigint[],
      n.afters::uuid[]) as g (index, player_id, log_offset, received_ms, after_run_id)) e`;
}

/** A run that an event ends. */
export interface Exit extends RunRef {
  outcome: 'exited' | 'goal';
}

/** Ends running runs where they stand. Returns those that it has ended. */
export async function exitRuns(tx: Tx, exits: readonly Exit[], now: Date): Promise<RunRef[]> {
  const given = tx`(
    select * from ${rowsOf(tx, 'g', exits, { ...PROJECT_KEY, run_id: 'uuid', outcome: 'text' })} order by run_id) g`;
  const isGiven = tx`r.run_id = g.run_id and r.tenant_id = g.tenant_id and r.project_id = g.project_id
    and r.status = 'running'`;
  // A statement of its own locks first, so that the next one sees what other transactions have changed.
  const [, rows] = await Promise.all([
    tx`select from ${given} cross join lateral (select from journey_runs r where ${isGiven} for update) r`,
    tx<RunRef[]>`
      with locked as materialized (
        select r.*, g.outcome as ended_by from ${given}
        cross join lateral (
          select r.ctid as place, r.tenant_id, r.project_id, r.run_id, r.seq, r.node_id, r.journey_id, r.version,
            r.entered_at
          from journey_runs r where ${isGiven} offset 0) r
      ), ended as (
        update journey_runs r set status = 'completed', outcome = l.ended_by, completed_at = ${now}, due_at = null,
          woken_by = null
        from locked l where r.ctid = l.place
      ), ${lastStepsSql(tx, 'locked', { status: 'skipped', outcome: 'exited', now })}
      select tenant_id, project_id, run_id from locked`,
  ]);
  return rows;
}

/** A player who left a segment. */
export interface Leaving extends ProjectRef {
  segment_id: string;
  player_id: string;
  changed_at_ms: number;
}

/**
 * The running runs that end because their player left a segment: those that had begun before, and those that began by
 * entering it, if the player is not in it again.
 */
export async function selectLeaving(sql: Tx, leaving: readonly Leaving[]): Promise<RunRef[]> {
  return sql<RunRef[]>`
    select distinct r.tenant_id, r.project_id, r.run_id from (
      select g.*, 'epoch'::timestamptz + g.changed_ms * interval '1 millisecond' as changed_at from ${rowsOf(
        sql,
        'g',
        leaving,
        {
          ...PROJECT_KEY,
          segment_id: 'uuid',
          player_id: 'uuid',
          changed_ms: ['bigint', (l) => l.changed_at_ms],
        },
      )}) g
    left join lateral (
      select m.into_player_id from player_merges m
      where m.tenant_id = g.tenant_id and m.project_id = g.project_id and m.player_id = g.player_id offset 0) m on true
    cross join lateral (
      select w.journey_id, w.version from journey_watched w
      where w.tenant_id = g.tenant_id and w.project_id = g.project_id and w.event = g.segment_id::text
        and w.kind = 'segment_exited' offset 0) w
    cross join lateral (
      select r.tenant_id, r.project_id, r.run_id, r.version from journey_runs r
      where r.journey_id = w.journey_id and r.player_id = coalesce(m.into_player_id, g.player_id)
        and r.tenant_id = g.tenant_id and r.project_id = g.project_id
        and r.status = 'running'
        and (r.started_at <= g.changed_at or r.trigger ->> 'kind' = 'segment_entered')
        and not exists (
          select from segment_members s
          where s.tenant_id = g.tenant_id and s.project_id = g.project_id and s.segment_id = g.segment_id
            and s.player_id = r.player_id)
      offset 0) r
    where r.version = w.version`;
}

/** A run that waits, and whose events since it began to wait were not looked at yet. */
export interface UncheckedWait extends EventName {
  run_id: string;
  player_id: string;
  seq: number;
  partition: number;
  log_id: string;
  from_offset: bigint;
}

/** The longest waiting unchecked waits. */
export async function selectUnchecked(sql: Tx, limit: number): Promise<UncheckedWait[]> {
  return sql<UncheckedWait[]>`
    select tenant_id, project_id, event, run_id, player_id, seq, partition, log_id, from_offset from journey_waits
    where not is_checked order by since limit ${limit}`;
}

/** The runs whose player was a member of a segment when the run began, and no longer is. */
export async function selectLeft(sql: Tx, waits: readonly UncheckedWait[]): Promise<RunRef[]> {
  return sql<RunRef[]>`
    select distinct g.tenant_id, g.project_id, g.run_id
    from ${rowsOf(sql, 'g', waits, { ...PROJECT_KEY, run_id: 'uuid', player_id: 'uuid', segment_id: ['uuid', (w) => w.event] })}
    left join lateral (
      select true as is_member from segment_members m
      where m.segment_id = g.segment_id and m.player_id = g.player_id and m.tenant_id = g.tenant_id
        and m.project_id = g.project_id offset 0) m on true
    where m.is_member is null`;
}

/** Removes rows that are not waits: they were looked at. One that was moved to another player meanwhile stays. */
export async function deleteChecked(sql: Tx, waits: readonly UncheckedWait[]): Promise<void> {
  await sql`
    delete from journey_waits w
    using ${rowsOf(sql, 'g', waits, { ...PROJECT_KEY, run_id: 'uuid', player_id: 'uuid', event: 'text' })}
    cross join lateral (
      select o.ctid from journey_waits o
      where o.run_id = g.run_id and o.tenant_id = g.tenant_id and o.project_id = g.project_id
        and o.event = g.event and o.player_id = g.player_id and o.seq = 0 offset 0) found
    where w.ctid = found.ctid`;
}

/** Keeps that events before `looked_to` were looked at for these unchecked waits; one that was moved meanwhile stays. */
export async function keepProgress(
  sql: Tx,
  waits: readonly UncheckedWait[],
  looked_to: bigint,
): Promise<void> {
  await sql`
    update journey_waits w set from_offset = greatest(w.from_offset, ${String(looked_to)}::bigint)
    from ${rowsOf(sql, 'g', waits, { ...PROJECT_KEY, event: 'text', player_id: 'uuid', run_id: 'uuid' })}
    cross join lateral (
      select o.ctid from journey_waits o
      where o.tenant_id = g.tenant_id and o.project_id = g.project_id and o.event = g.event
        and o.player_id = g.player_id and o.run_id = g.run_id offset 0) found
    where w.ctid = found.ctid and not w.is_checked`;
}

/** Marks waits as checked; one that was moved to another player meanwhile stays. */
export async function markChecked(sql: Tx, waits: readonly UncheckedWait[]): Promise<void> {
  await sql`
    update journey_waits w set is_checked = true
    from ${rowsOf(sql, 'g', waits, { ...PROJECT_KEY, event: 'text', player_id: 'uuid', run_id: 'uuid' })}
    cross join lateral (
      select o.ctid from journey_waits o
      where o.tenant_id = g.tenant_id and o.project_id = g.project_id and o.event = g.event
        and o.player_id = g.player_id and o.run_id = g.run_id offset 0) found
    where w.ctid = found.ctid`;
}
