import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import type { HeldOutBy } from '../../experiments/global.ts';
import { EVENTS_THAT_END } from './match-queries.ts';
import type { RunTrigger, VersionRef } from './run-row.ts';
import type { RunContext } from './shapes.ts';
import type { WaitStart } from './wait-starts.ts';
import { exactJson } from '../../../platform/exact-json.ts';

/** A run that is to begin. */
export interface NewRun {
  run_id: string;
  player_id: string;
  /** One run begins per journey, player and key. */
  trigger_key: string;
  trigger: RunTrigger;
  context: RunContext;
  /** From where on the log the player's events are later than what starts the run; undefined: by time. */
  start: WaitStart | undefined;
  /** Not null: it ends at once, without any step. */
  held_out_by: HeldOutBy | null;
}

/** The terms on which runs of a version begin. */
export interface EntryTerms {
  version: VersionRef;
  start_node_id: string;
  re_entry: 'once' | 'after_exit' | 'always';
  /** A player who began a run so recently begins no other; absent: no such rule. */
  min_interval_ms: number | undefined;
  /** A run that the project held out before this is no entry of the player; null: there is none. */
  freed_before: Date | null;
  /** The journey has a service message, so the project draws nobody of it. */
  is_of_service: boolean;
  /** Events may end these runs: those that were read before the runs are visible are looked at again. */
  ends_by_event: boolean;
  /** Segments whose leaving ends these runs: members are looked at again, too. */
  to_leave: readonly string[];
  /** All players of the runs were members of this segment when they were selected. */
  members_of: string | undefined;
  now: Date;
}

/** The key of runs of players who may enter a journey only once. */
export const ONCE = 'once';

/**
 * Lets players enter again whose only run was held out by the project before `before`, in an earlier round: such a run no
 * longer has the key of the only one. A run that the journey itself holds out keeps it. Players are held.
 */
export async function freeOnceKeys(
  tx: Tx,
  { tenant_id, project_id, journey_id }: VersionRef,
  player_ids: readonly string[],
  before: Date,
): Promise<void> {
  await tx`
    update journey_runs r set trigger_key = r.trigger_key || ' ' || r.run_id::text
    from unnest(${plainArray(player_ids)}::text::uuid[]) as p (player_id)
    cross join lateral (
      select o.run_id from journey_runs o
      where o.journey_id = ${journey_id} and o.player_id = p.player_id and o.trigger_key = ${ONCE}
        and o.tenant_id = ${tenant_id} and o.project_id = ${project_id} and o.is_held_out_globally
        and o.started_at < ${before}
        -- Another id of a merged player has entered, too.
        and not exists (
          select from journey_runs k
          where k.journey_id = ${journey_id} and k.player_id = p.player_id and k.trigger_key like ${`${ONCE} merged %`}
            and k.tenant_id = ${tenant_id} and k.project_id = ${project_id}
            and not (k.is_held_out_globally and k.started_at < ${before}))
      offset 0) f
    where r.run_id = f.run_id and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
      and r.trigger_key = ${ONCE}`;
}

/**
 * Begins runs, each with a timer that is due now; a player who is deleted or may not enter again begins none. Returns
 * those that have begun. Whether a player may enter again is decided by unique indexes, so two processes cannot both
 * say yes.
 */
export async function insertRuns(
  tx: Tx,
  { version: of, start_node_id, re_entry, min_interval_ms, now, ends_by_event, ...terms }: EntryTerms,
  runs: readonly NewRun[],
): Promise<{ run_id: string; is_held_out: boolean }[]> {
  if (runs.length === 0) return [];
  const { tenant_id, project_id, journey_id, version } = of;
  const isRecent =
    min_interval_ms === undefined
      ? tx`false`
      : tx`exists (
          select from journey_runs o
          where o.journey_id = ${journey_id} and o.player_id = r.player_id and o.tenant_id = ${tenant_id}
            and o.project_id = ${project_id} and o.started_at > ${new Date(now.getTime() - min_interval_ms)}
            and not (o.is_held_out_globally and o.started_at < ${terms.freed_before}::timestamptz is true))`;
  return tx<{ run_id: string; is_held_out: boolean }[]>`
    with begun as (
      insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
        due_at, trigger_key, re_entry, trigger, context, partition, log_id, from_offset, outcome, is_held_out_globally,
        is_of_service, started_at, completed_at)
      select ${tenant_id}, ${project_id}, r.run_id, ${journey_id}, ${version}, r.player_id,
        case when r.is_held_out then 'completed' else 'running' end, ${start_node_id}, 1,
        case when not r.is_held_out then ${now}::timestamptz end, r.trigger_key, ${re_entry}, r.trigger::jsonb,
        r.context::jsonb, r.partition, r.log_id, r.from_offset, case when r.is_held_out then 'held_out' end, r.is_held_out_globally,
        ${terms.is_of_service}, ${now},
        case when r.is_held_out then ${now}::timestamptz end
      from ${rowsOf(tx, 'r', runs, {
        run_id: 'uuid',
        player_id: 'uuid',
        trigger_key: 'text',
        trigger: ['text', (r) => exactJson(r.trigger)],
        context: ['text', (r) => exactJson(r.context)],
        partition: ['smallint', (r) => r.start?.partition ?? null],
        log_id: ['text', (r) => r.start?.log_id ?? null],
        from_offset: ['bigint', (r) => r.start?.from_offset ?? null],
        is_held_out: ['boolean', (r) => r.held_out_by !== null],
        is_held_out_globally: ['boolean', (r) => r.held_out_by === 'project'],
      })}
      cross join lateral (
        select from players p
        where p.player_id = r.player_id and p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
          and p.deleted_at is null offset 0) p
      where not ${isRecent}
      on conflict do nothing
      returning run_id, status, player_id, partition, log_id, from_offset
    ), unchecked as (
      insert into journey_waits (tenant_id, project_id, event, player_id, run_id, seq, partition, log_id, from_offset, since)
      select ${tenant_id}, ${project_id}, ${EVENTS_THAT_END}, player_id, run_id, 0, partition, log_id, from_offset, ${now}
      from begun where status = 'running' and log_id is not null and ${ends_by_event}
    )${terms.to_leave.length === 0 ? tx`` : leavingOf(tx, of, terms, now)}, timers as (
      insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
      select ${tenant_id}, ${project_id}, ${now}, run_id, 1 from begun where status = 'running'
    )
    select run_id, status <> 'running' as is_held_out from begun`;
}

/** What is to be looked at again because players may have left segments before their runs were visible. */
function leavingOf(
  tx: Tx,
  { tenant_id, project_id }: VersionRef,
  { to_leave, members_of }: Pick<EntryTerms, 'to_leave' | 'members_of'>,
  now: Date,
) {
  return tx`, leaving as (
      insert into journey_waits (tenant_id, project_id, event, player_id, run_id, seq, partition, log_id, from_offset, since)
      select ${tenant_id}, ${project_id}, s.segment_id::text, b.player_id, b.run_id, 0, 0, '', 0, ${now}
      from begun b
      cross join unnest(${plainArray(to_leave)}::text::uuid[]) as s (segment_id)
      left join lateral (
        select true as is_member from segment_members m
        where m.segment_id = s.segment_id and m.player_id = b.player_id and m.tenant_id = ${tenant_id}
          and m.project_id = ${project_id} offset 0) m on true
      where b.status = 'running' and (m.is_member or s.segment_id = ${members_of ?? null}::uuid)
      on conflict do nothing
    )`;
}

/** Postgres notifies on this channel when runs have begun for which events are to be looked at again. */
export const CHECKS_CHANNEL = 'journey_checks';

/** Has events looked at again when the transaction commits. */
export async function notifyChecks(tx: Tx): Promise<void> {
  await tx`select pg_notify(${CHECKS_CHANNEL}, '')`;
}

/**
 * Lets no other transaction begin runs of the journey until this one ends: for rules that look at the runs that there
 * are.
 */
export async function lockEntry(tx: Tx, { journey_id }: Pick<VersionRef, 'journey_id'>): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`journey entry ${journey_id}`}, 0))`;
}

/** How many runs of the journey have begun since then, counted up to `most`; a held-out run has begun nothing. */
export async function countRunsSince(
  tx: Tx,
  { tenant_id, project_id, journey_id }: Omit<VersionRef, 'version'>,
  since: Date,
  most: number,
): Promise<number> {
  const [row] = await tx<{ runs: number }[]>`
    select count(*)::integer as runs from (
      select from journey_runs
      where journey_id = ${journey_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
        and started_at > ${since} and outcome is distinct from 'held_out'
      limit ${most}) r`;
  return row?.runs ?? 0;
}
