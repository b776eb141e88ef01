import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../../platform/postgres/work-watch.ts';
import { PROJECT_KEY, type ProjectRef } from '../../../tenants/project-ref.ts';

/** An event of which more runs are to be looked at. */
export interface MatchRest extends ProjectRef {
  log_id: string;
  partition: number;
  log_offset: bigint;
  /** Runs that the event ends come first; then those that it wakes. */
  ends: boolean;
  /** The runs up to here were looked at. */
  after_run_id: string;
}

/** Returns a row while runs are to be looked at. */
export const matchRestWork: WorkQuery = (sql) => sql`select from journey_match_rests limit 1`;

/** Notes events of which more runs are to be looked at; one that is noted already goes on where it is. */
export async function insertRests(sql: Tx, rests: readonly MatchRest[], now: Date): Promise<void> {
  await sql`
    insert into journey_match_rests (tenant_id, project_id, log_id, partition, log_offset, ends, after_run_id, noted_at)
    select r.*, ${now}::timestamptz from ${rowsOf(sql, 'r', rests, {
      ...PROJECT_KEY,
      log_id: 'text',
      partition: 'integer',
      log_offset: 'bigint',
      ends: 'boolean',
      after_run_id: 'uuid',
    })}
    on conflict do nothing`;
}

/** The events whose turn it is, up to `limit`. */
export async function selectRests(sql: Tx, limit: number): Promise<MatchRest[]> {
  return sql<MatchRest[]>`
    select tenant_id, project_id, log_id, partition, log_offset, ends, after_run_id from journey_match_rests
    order by looked_at limit ${limit}`;
}

/** Notes up to where an event's runs were looked at, and that others have their turn. */
export async function moveRest(sql: Tx, rest: MatchRest): Promise<void> {
  await sql`
    update journey_match_rests set ends = ${rest.ends}, after_run_id = ${rest.after_run_id}, looked_at = clock_timestamp()
    where ${itself(sql, rest)}`;
}

/** All runs of the event were looked at. */
export async function deleteRest(sql: Tx, rest: MatchRest): Promise<void> {
  await sql`delete from journey_match_rests where ${itself(sql, rest)}`;
}

function itself(sql: Tx, { tenant_id, project_id, log_id, partition, log_offset }: MatchRest) {
  return sql`tenant_id = ${tenant_id} and project_id = ${project_id} and log_id = ${log_id}
    and partition = ${partition} and log_offset = ${log_offset}`;
}

/** Removes up to `limit` events that were noted before a time: they are too old to wake or end a run. */
export async function pruneRests(sql: Tx, noted_before: Date, limit: number): Promise<void> {
  await sql`
    with old as materialized (
      select r.ctid from journey_match_rests r where r.noted_at < ${noted_before} limit ${limit} for update skip locked)
    delete from journey_match_rests r using old where r.ctid = old.ctid`;
}
