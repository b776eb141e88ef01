import type { PendingQuery, Row } from 'postgres';
import { exactJson, type JsonText } from '../../../platform/exact-json.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { Cell } from '../kind.ts';
import { ALERTS, dueState, type Claimed, type DueState } from '../due/queries.ts';
import { SHOWN_FIRINGS, type AlertContent } from './schema.ts';

/** The key of an alert. */
export interface AlertRef extends ProjectRef {
  alert_id: string;
}

/** An alert that this process evaluates now. */
export type ClaimedAlert = Claimed<'alert_id', AlertContent>;

/** What of an alert the service changes. */
export interface AlertState extends DueState {
  /** The newest firings, as JSON text. */
  firings: string;
}

/** The columns of {@link AlertState}, of the table `alerts`. */
export function alertState(tx: Tx): PendingQuery<Row[]> {
  return tx`${dueState(tx, ALERTS)}, (
      select coalesce(json_agg(jsonb_build_object('from', iso_time(f.from_at), 'to', iso_time(f.to_at)) || f.facts order by f.from_at desc, f.to_at desc), '[]')::text
      from (
        select * from alert_firings f
        where f.tenant_id = alerts.tenant_id and f.project_id = alerts.project_id and f.alert_id = alerts.alert_id
        order by f.from_at desc, f.to_at desc limit ${SHOWN_FIRINGS}) f) as firings`;
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

/** Removes firings that were decided before this time, up to `most`; returns how many. */
export async function removeFirings(sql: Tx, before: Date, most: number): Promise<number> {
  const { count } = await sql`
    delete from alert_firings where ctid = any(array(
      select ctid from alert_firings where decided_at < ${before} order by decided_at limit ${most}))`;
  return count;
}
