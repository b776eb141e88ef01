import type { PendingQuery, Row } from 'postgres';
import { textArray } from '../../../platform/postgres/arrays.ts';
import { exactJson } from '../../../platform/exact-json.ts';
import { beyond, microseconds, type Listed, type TimePosition } from '../../../platform/postgres/keyset.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';

/** A table of saved records, with the name of its id. */
export interface SavedTable<Id extends string, State extends object = object> {
  table: 'insights' | 'dashboards' | 'alerts' | 'reports';
  id: Id;
  /** What is selected in addition to what people write; absent: nothing. */
  state?: ((tx: Tx) => PendingQuery<Row[]>) | undefined;
  /** Never set: the type of what `state` selects. */
  of_state?: State;
}

/** A saved record; `content` is what its kind has in addition to the name. */
export type SavedRow<Id extends string> = Record<Id, string> & {
  name: string;
  content: unknown;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
};

/** The key of a saved record. */
export type SavedRef<Id extends string> = ProjectRef & Record<Id, string>;

/** A name of a column: the driver takes no narrower type than text. */
function named(tx: Tx, column: string) {
  return tx(column);
}

function columns<Id extends string>(tx: Tx, { id, state }: SavedTable<Id>) {
  const more = state === undefined ? tx`` : tx`, ${state(tx)}`;
  return tx`${named(tx, id)}, name, content, created_at, updated_at, deleted_at${more}`;
}

function itself<Id extends string>(tx: Tx, { id }: SavedTable<Id>, ref: SavedRef<Id>) {
  return tx`tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and ${named(tx, id)} = ${ref[id]}`;
}

/** The record, deleted or not. */
export function selectSaved<Id extends string, State extends object>(
  tx: Tx,
  of: SavedTable<Id, State>,
  ref: SavedRef<Id>,
): PendingQuery<(SavedRow<Id> & State)[]> {
  return tx<
    (SavedRow<Id> & State)[]
  >`select ${columns(tx, of)} from ${tx(of.table)} where ${itself(tx, of, ref)}`;
}

/** The record, if it is not deleted, locked against change until the transaction ends. */
export async function lockSaved<Id extends string, State extends object>(
  tx: Tx,
  of: SavedTable<Id, State>,
  ref: SavedRef<Id>,
): Promise<(SavedRow<Id> & State) | undefined> {
  const [row] = await tx<(SavedRow<Id> & State)[]>`
    select ${columns(tx, of)} from ${tx(of.table)} where ${itself(tx, of, ref)} and deleted_at is null
    for no key update`;
  return row;
}

/** A page of the records that are not deleted, the newest first. */
export function listSaved<Id extends string, State extends object>(
  tx: Tx,
  of: SavedTable<Id, State>,
  { tenant_id, project_id }: ProjectRef,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<SavedRow<Id> & State>[]> {
  return tx<Listed<SavedRow<Id> & State>[]>`
    select ${columns(tx, of)}, ${microseconds(tx, 'created_at')} as created_us from ${tx(of.table)}
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      ${beyond(tx, 'created_at', of.id, after)}
    order by created_at desc, ${named(tx, of.id)} desc
    limit ${limit}`;
}

/** Adds a record. */
export async function insertSaved<Id extends string>(
  tx: Tx,
  of: SavedTable<Id>,
  ref: SavedRef<Id>,
  { name, content }: { name: string; content: unknown },
  now: Date,
): Promise<void> {
  await tx`
    insert into ${tx(of.table)} (tenant_id, project_id, ${named(tx, of.id)}, name, content, created_at, updated_at)
    values (${ref.tenant_id}, ${ref.project_id}, ${ref[of.id]}, ${name}, ${exactJson(content)}::text::jsonb, ${now}, ${now})`;
}

/** Changes a locked record. */
export async function updateSaved<Id extends string>(
  tx: Tx,
  of: SavedTable<Id>,
  ref: SavedRef<Id>,
  { name, content }: { name: string; content: unknown },
  now: Date,
): Promise<void> {
  await tx`
    update ${tx(of.table)} set name = ${name}, content = ${exactJson(content)}::text::jsonb, updated_at = ${now}
    where ${itself(tx, of, ref)}`;
}

/** Marks a record as deleted. */
export async function softDeleteSaved<Id extends string>(
  tx: Tx,
  of: SavedTable<Id>,
  ref: SavedRef<Id>,
  now: Date,
): Promise<void> {
  await tx`update ${tx(of.table)} set deleted_at = ${now}, updated_at = ${now} where ${itself(tx, of, ref)}`;
}

/** The names of dashboards, not deleted, that have a tile of the insight; a few. */
export function dashboardsWith(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  insight_id: string,
): PendingQuery<{ name: string }[]> {
  return tx<{ name: string }[]>`
    select name from dashboards
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      and content -> 'tiles' @> jsonb_build_array(jsonb_build_object('insight_id', ${insight_id}::text))
    order by dashboard_id limit 5`;
}

/** The names of reports, not deleted, that send the dashboard; a few. */
export function reportsOf(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  dashboard_id: string,
): PendingQuery<{ name: string }[]> {
  return tx<{ name: string }[]>`
    select name from reports
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      and content ->> 'dashboard_id' = ${dashboard_id}
    order by report_id limit 5`;
}

/** Whether a dashboard exists and is not deleted; it is locked against deletion until the transaction ends. */
export async function lockDashboard(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  dashboard_id: string,
): Promise<boolean> {
  const { count } = await tx`
    select from dashboards
    where tenant_id = ${tenant_id} and project_id = ${project_id} and dashboard_id = ${dashboard_id}
      and deleted_at is null
    for share`;
  return count > 0;
}

/** These insights, as far as they exist and are not deleted. */
export function selectInsights(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  ids: readonly string[],
): PendingQuery<{ insight_id: string; name: string; content: unknown }[]> {
  return tx<{ insight_id: string; name: string; content: unknown }[]>`
    select insight_id, name, content from insights
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      and insight_id = any(${textArray(ids)}::text::uuid[]) and deleted_at is null`;
}

/** Which of these insights exist and are not deleted; they are locked against deletion until the transaction ends. */
export async function lockInsights(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await tx<{ insight_id: string }[]>`
    select insight_id from insights
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      and insight_id = any(${textArray(ids)}::text::uuid[]) and deleted_at is null
    order by insight_id for share`;
  return new Set(rows.map(({ insight_id }) => insight_id));
}
