import type { PendingQuery, Row } from 'postgres';
import { exactJson, type JsonText } from '../../../platform/exact-json.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../../platform/postgres/work-watch.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { Cell } from '../kind.ts';
import { noticesOf } from '../notices/queries.ts';
import { SHOWN_FIRINGS, type AlertContent } from './schema.ts';

/** The key of an alert. */
export interface AlertRef extends ProjectRef {
  alert_id: string;
}

/** What of an alert the service changes. */
export interface AlertState {
  decided_until: Date | null;
  failures: number;
  error_code: string | null;
  error_message: string | null;
  failed_at: Date | null;
  /** JSON text. */
  firings: string;
  notices: string;
}

/** The columns of {@link AlertState}, of the table `alerts`. */
export function alertState(tx: Tx): PendingQuery<Row[]> {
  return tx`decided_until, failures, error_code, error_message, failed_at, (
      select coalesce(json_agg(jsonb_build_object('from', iso_time(f.from_at), 'to', iso_time(f.to_at)) || f.facts order by f.from_at desc, f.to_at desc), '[]')::text
      from (
        select * from alert_firings f
        where f.tenant_id = alerts.tenant_id and f.project_id = alerts.project_id and f.alert_id = alerts.alert_id
        order by f.from_at desc, f.to_at desc limit ${SHOWN_FIRINGS}) f) as firings,
    ${noticesOf(tx, tx`alerts.alert_id`, tx`alerts.tenant_id, alerts.project_id`, SHOWN_FIRINGS)} as notices`;
}

/** How many alerts of the project are not deleted; one change at a time, until the transaction ends. */
export async function countAlerts(tx: Tx, { tenant_id, project_id }: ProjectRef): Promise<number> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`alerts ${project_id}`}, 0))`;
  const [row] = await tx<{ alerts: number }[]>`
    select count(*)::integer as alerts from alerts
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null`;
  return row?.alerts ?? 0;
}

/** Lets the alert be looked at soon. */
export async function wakeAlert(tx: Tx, { tenant_id, project_id, alert_id }: AlertRef): Promise<void> {
  await tx`
    update alerts set next_at = '-infinity'
    where tenant_id = ${tenant_id} and project_id = ${project_id} and alert_id = ${alert_id}`;
}

/** Returns a row while an alert is due. */
export const alertWork: WorkQuery = (sql, now) => sql`
  select from alerts where deleted_at is null and next_at <= ${now} order by next_at limit 1`;

/** Of each of up to `tenants` tenants with due alerts the one that has been due longest. */
export async function selectDueAlerts(sql: Tx, now: Date, tenants: number): Promise<AlertRef[]> {
  return sql<AlertRef[]>`
    select tenant_id, project_id, alert_id from (
      select distinct on (tenant_id) tenant_id, project_id, alert_id, next_at from alerts
      where deleted_at is null and next_at <= ${now}
      order by tenant_id, next_at, alert_id) a
    order by next_at, alert_id limit ${tenants}`;
}

/** An alert that this process evaluates now. */
export interface ClaimedAlert extends AlertRef {
  name: string;
  content: AlertContent;
  created_at: Date;
  updated_at: Date;
  decided_until: Date | null;
  failures: number;
}

/** Claims a due alert until a time; undefined: another process has it, or it was changed. */
export async function claimAlert(
  sql: Tx,
  { tenant_id, project_id, alert_id }: AlertRef,
  now: Date,
  until: Date,
): Promise<ClaimedAlert | undefined> {
  const [row] = await sql<ClaimedAlert[]>`
    update alerts set next_at = ${until}
    where tenant_id = ${tenant_id} and project_id = ${project_id} and alert_id = ${alert_id}
      and deleted_at is null and next_at <= ${now}
    returning tenant_id, project_id, alert_id, name, content, created_at, updated_at, decided_until, failures`;
  return row;
}

/** An interval that has fired. */
export interface Firing {
  from_at: Date;
  to_at: Date;
  facts: FiringFacts;
}

/** The value of an interval, and what it was compared with. */
export interface FiringFacts {
  value: Cell;
  before: Cell;
  low: JsonText | null;
  high: JsonText | null;
}

/**
 * Notes that all intervals up to a time are decided, and when the alert is due next; false when the alert was changed or
 * deleted, or other intervals were decided, since it was claimed.
 */
export async function concludeAlert(
  tx: Tx,
  claimed: ClaimedAlert,
  { decided_until, next_at }: { decided_until: Date | null; next_at: Date },
): Promise<boolean> {
  const { tenant_id, project_id, alert_id } = claimed;
  const { count } = await tx`
    update alerts set decided_until = ${decided_until}, next_at = ${next_at}, failures = 0, error_code = null,
      error_message = null, failed_at = null
    where tenant_id = ${tenant_id} and project_id = ${project_id} and alert_id = ${alert_id} and deleted_at is null
      and updated_at = ${claimed.updated_at} and decided_until is not distinct from ${claimed.decided_until}`;
  return count > 0;
}

/** Notes firings; returns the beginnings of those that were not noted before. */
export async function insertFirings(
  tx: Tx,
  { tenant_id, project_id, alert_id }: AlertRef,
  firings: readonly Firing[],
  now: Date,
): Promise<Date[]> {
  if (firings.length === 0) return [];
  const rows = firings.map(({ facts, ...times }) => ({ ...times, facts: exactJson(facts) }));
  const noted = await tx<{ from_at: Date }[]>`
    insert into alert_firings (tenant_id, project_id, alert_id, from_at, to_at, facts, decided_at)
    select ${tenant_id}, ${project_id}, ${alert_id}, from_at, to_at, facts, ${now}
    from ${rowsOf(tx, 'f', rows, { from_at: 'timestamptz', to_at: 'timestamptz', facts: 'jsonb' })}
    on conflict do nothing
    returning from_at`;
  return noted.map(({ from_at }) => from_at);
}

/** Notes why an alert could not be evaluated, and when it is tried again, unless it was changed since. */
export async function failAlert(
  sql: Tx,
  { tenant_id, project_id, alert_id, updated_at }: ClaimedAlert,
  { code, message, next_at }: { code: string; message: string; next_at: Date },
  now: Date,
): Promise<void> {
  await sql`
    update alerts set failures = failures + 1, error_code = ${code}, error_message = ${message}, failed_at = ${now},
      next_at = ${next_at}
    where tenant_id = ${tenant_id} and project_id = ${project_id} and alert_id = ${alert_id}
      and updated_at = ${updated_at}`;
}

/** Removes firings that were decided before this time, up to `most`; returns how many. */
export async function removeFirings(sql: Tx, before: Date, most: number): Promise<number> {
  const { count } = await sql`
    delete from alert_firings where ctid = any(array(
      select ctid from alert_firings where decided_at < ${before} order by decided_at limit ${most}))`;
  return count;
}
