import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { WorkQuery } from '../../../platform/postgres/work-watch.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { noticesOf } from '../notices/queries.ts';
import type { SavedRef } from '../saved/queries.ts';

/** Notices that an alert or report shows. */
const SHOWN_NOTICES = 10;

/** A table of records that the service looks at when they are due. */
export interface DueTable<Id extends string> {
  table: 'alerts' | 'reports';
  id: Id;
}

export const ALERTS: DueTable<'alert_id'> = { table: 'alerts', id: 'alert_id' };
export const REPORTS: DueTable<'report_id'> = { table: 'reports', id: 'report_id' };

/** What of such a record the service changes. */
export interface DueState {
  decided_until: Date | null;
  failures: number;
  error_code: string | null;
  error_message: string | null;
  failed_at: Date | null;
  /** The newest notices, as JSON text. */
  notices: string;
}

/** A record that this process looks at now. */
export type Claimed<Id extends string, Content> = SavedRef<Id> & {
  name: string;
  content: Content;
  created_at: Date;
  updated_at: Date;
  decided_until: Date | null;
  failures: number;
  failed_at: Date | null;
};

/** A name of a table or column: the driver takes no narrower type than text. */
function named(tx: Tx, name: string) {
  return tx(name);
}

function itself<Id extends string>(tx: Tx, { id }: DueTable<Id>, ref: SavedRef<Id>) {
  return tx`tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and ${named(tx, id)} = ${ref[id]}`;
}

/** The columns of {@link DueState}. */
export function dueState<Id extends string>(tx: Tx, { table, id }: DueTable<Id>): PendingQuery<Row[]> {
  const key = named(tx, `${table}.${id}`);
  const owner = tx`${named(tx, `${table}.tenant_id`)}, ${named(tx, `${table}.project_id`)}`;
  return tx`decided_until, failures, error_code, error_message, failed_at,
    ${noticesOf(tx, tx`${key}`, owner, SHOWN_NOTICES)} as notices`;
}

/** How many records of the project are not deleted; one change at a time, until the transaction ends. */
export async function countLive<Id extends string>(
  tx: Tx,
  { table }: DueTable<Id>,
  { tenant_id, project_id }: ProjectRef,
): Promise<number> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`${table} ${project_id}`}, 0))`;
  const [row] = await tx<{ live: number }[]>`
    select count(*)::integer as live from ${named(tx, table)}
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null`;
  return row?.live ?? 0;
}

/** Lets a record be looked at soon, or never while it is not enabled. */
export async function plan<Id extends string>(
  tx: Tx,
  of: DueTable<Id>,
  ref: SavedRef<Id>,
  is_enabled: boolean,
): Promise<void> {
  await tx`
    update ${named(tx, of.table)} set next_at = ${is_enabled ? '-infinity' : 'infinity'}::text::timestamptz
    where ${itself(tx, of, ref)}`;
}

/** Gives a claimed record back, unless it was changed since. */
export async function release<Id extends string, Content>(
  sql: Tx,
  of: DueTable<Id>,
  claimed: Claimed<Id, Content>,
): Promise<void> {
  await sql`
    update ${named(sql, of.table)} set next_at = '-infinity'
    where ${itself(sql, of, claimed)} and updated_at = ${claimed.updated_at}`;
}

/** Passes over what was due until now: the record asks about other times, or it was not enabled. */
export async function passOver<Id extends string>(
  tx: Tx,
  of: DueTable<Id>,
  ref: SavedRef<Id>,
  now: Date,
): Promise<void> {
  await tx`
    update ${named(tx, of.table)} set decided_until = ${now}, failures = 0, error_code = null, error_message = null,
      failed_at = null
    where ${itself(tx, of, ref)}`;
}

/** Counts failures anew: those so far were about an earlier time. */
export async function forgetFailures<Id extends string, Content>(
  sql: Tx,
  of: DueTable<Id>,
  claimed: Claimed<Id, Content>,
): Promise<void> {
  await sql`
    update ${named(sql, of.table)} set failures = 0
    where ${itself(sql, of, claimed)} and updated_at = ${claimed.updated_at}`;
}

/** Returns a row while a record is due. */
export const workOf =
  <Id extends string>({ table }: DueTable<Id>): WorkQuery =>
  (sql, now) => sql`
    select from ${named(sql, table)} where deleted_at is null and next_at <= ${now} order by next_at limit 1`;

/** Of each of up to `tenants` tenants with due records the one that has been due longest. */
export async function selectDue<Id extends string>(
  sql: Tx,
  { table, id }: DueTable<Id>,
  now: Date,
  tenants: number,
): Promise<SavedRef<Id>[]> {
  const key = named(sql, id);
  return sql<SavedRef<Id>[]>`
    select tenant_id, project_id, ${key} from (
      select distinct on (tenant_id) tenant_id, project_id, ${key}, next_at from ${named(sql, table)}
      where deleted_at is null and next_at <= ${now}
      order by tenant_id, next_at, ${key}) a
    order by next_at, ${key} limit ${tenants}`;
}

/** Claims a due record until a time; undefined: another process has it, or it was changed. */
export async function claim<Id extends string, Content>(
  sql: Tx,
  of: DueTable<Id>,
  ref: SavedRef<Id>,
  now: Date,
  until: Date,
): Promise<Claimed<Id, Content> | undefined> {
  const [row] = await sql<Claimed<Id, Content>[]>`
    update ${named(sql, of.table)} set next_at = ${until}
    where ${itself(sql, of, ref)} and deleted_at is null and next_at <= ${now}
    returning tenant_id, project_id, ${named(sql, of.id)}, name, content, created_at, updated_at, decided_until, failures,
      failed_at`;
  return row;
}

/**
 * Notes that everything up to a time is decided, and when the record is due next; false when it was changed or deleted, or
 * something else was decided, since it was claimed.
 */
export async function conclude<Id extends string, Content>(
  tx: Tx,
  of: DueTable<Id>,
  claimed: Claimed<Id, Content>,
  { decided_until, next_at }: { decided_until: Date | null; next_at: Date },
): Promise<boolean> {
  const { count } = await tx`
    update ${named(tx, of.table)} set decided_until = ${decided_until}, next_at = ${next_at}, failures = 0,
      error_code = null, error_message = null, failed_at = null
    where ${itself(tx, of, claimed)} and deleted_at is null
      and updated_at = ${claimed.updated_at} and decided_until is not distinct from ${claimed.decided_until}`;
  return count > 0;
}

/** Notes why a record could not be decided, and when it is tried again, unless it was changed since. */
export async function fail<Id extends string, Content>(
  sql: Tx,
  of: DueTable<Id>,
  claimed: Claimed<Id, Content>,
  { code, message, next_at }: { code: string; message: string; next_at: Date },
  now: Date,
): Promise<void> {
  await sql`
    update ${named(sql, of.table)} set failures = failures + 1, error_code = ${code}, error_message = ${message},
      failed_at = ${now}, next_at = ${next_at}
    where ${itself(sql, of, claimed)} and updated_at = ${claimed.updated_at}`;
}
