import type { PendingQuery } from 'postgres';
import { beyond, microseconds, type Listed, type TimePosition } from '../../../platform/postgres/keyset.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { JourneyFilters, JourneyStatus } from './schema.ts';
import { exactJson } from '../../../platform/exact-json.ts';

/** The key of a journey. */
export interface JourneyRef extends ProjectRef {
  journey_id: string;
}

/** A definition as its author wrote it. */
export interface StoredContent {
  trigger: Record<string, unknown>;
  graph: Record<string, unknown>;
  settings: Record<string, unknown>;
}

/** A journey as lists show it. */
export interface ListedJourney {
  journey_id: string;
  name: string;
  status: JourneyStatus;
  trigger: Record<string, unknown>;
  /** The version that new runs use; null: never activated. */
  version: number | null;
  activated_at: Date | null;
  paused_at: Date | null;
  is_held: boolean;
  /** When it was activated after it was held, until its runs have their timers again. */
  resuming_since: Date | null;
  last_error: string | null;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

/** A journey as Postgres has it; its content is what was saved last. */
export interface JourneyRow extends ListedJourney, StoredContent {
  /** Whether what was saved last is what the live version has. */
  is_live: boolean;
}

function listedColumns(tx: Tx) {
  return tx`journey_id, name, status, trigger, version, activated_at, paused_at, is_held, resuming_since,
    last_error, created_at, updated_at, deleted_at`;
}

function columns(tx: Tx) {
  return tx`${listedColumns(tx)}, graph, settings, exists (
    select from journey_versions v
    where v.tenant_id = journeys.tenant_id and v.project_id = journeys.project_id
      and v.journey_id = journeys.journey_id and v.version = journeys.version
      and v.trigger = journeys.trigger and v.graph = journeys.graph and v.settings = journeys.settings) as is_live`;
}

function itself(tx: Tx, { tenant_id, project_id, journey_id }: JourneyRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}`;
}

/** The journey, deleted or not; no row when the project has no journey of this id. */
export function selectJourney(tx: Tx, ref: JourneyRef): PendingQuery<JourneyRow[]> {
  return tx<JourneyRow[]>`select ${columns(tx)} from journeys where ${itself(tx, ref)}`;
}

/** The journey, if it is not deleted, locked against change until the transaction ends. */
export async function lockJourney(tx: Tx, ref: JourneyRef): Promise<JourneyRow | undefined> {
  // The lock comes first: the version that a change before this one has made is visible to a statement begun after it.
  await tx`select from journeys where ${itself(tx, ref)} and deleted_at is null for no key update`;
  const [row] = await tx<JourneyRow[]>`
    select ${columns(tx)} from journeys where ${itself(tx, ref)} and deleted_at is null`;
  return row;
}

/** A page of the journeys that are not deleted, the newest first. */
export function listJourneys(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { status }: JourneyFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<ListedJourney>[]> {
  return tx<Listed<ListedJourney>[]>`
    select ${listedColumns(tx)}, ${microseconds(tx, 'created_at')} as created_us
    from journeys
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      ${status === undefined ? tx`` : tx`and status = ${status}`}
      ${beyond(tx, 'created_at', 'journey_id', after)}
    order by created_at desc, journey_id desc
    limit ${limit}`;
}

const jsonb = (tx: Tx, value: unknown) => tx`${exactJson(value)}::text::jsonb`;

/** Inserts a draft. */
export async function insertJourney(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyRef,
  { name, trigger, graph, settings }: StoredContent & { name: string },
  now: Date,
): Promise<void> {
  await tx`
    insert into journeys (tenant_id, project_id, journey_id, name, status, trigger, graph, settings, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${journey_id}, ${name}, 'draft', ${jsonb(tx, trigger)}, ${jsonb(tx, graph)},
      ${jsonb(tx, settings)}, ${now}, ${now})`;
}

/** Writes the name and what is saved of a locked journey. */
export async function saveJourney(
  tx: Tx,
  ref: JourneyRef,
  { name, trigger, graph, settings }: StoredContent & { name: string },
  now: Date,
): Promise<void> {
  await tx`
    update journeys set name = ${name}, trigger = ${jsonb(tx, trigger)}, graph = ${jsonb(tx, graph)},
      settings = ${jsonb(tx, settings)}, updated_at = ${now}
    where ${itself(tx, ref)}`;
}

/** What is live of a journey. */
export interface Live {
  status: JourneyStatus;
  version: number;
  /** Null: events do not start it. */
  trigger_event: string | null;
  /** Since when events may start runs. */
  activated_at: Date;
}

/**
 * Writes what is live of a locked journey. A journey that is active is neither paused nor held; one that was held is
 * resuming since `now`.
 */
export async function setLive(tx: Tx, ref: JourneyRef, live: Live, now: Date): Promise<void> {
  const is_active = live.status === 'active';
  await tx`
    update journeys set status = ${live.status}, version = ${live.version}, trigger_event = ${live.trigger_event},
      activated_at = ${live.activated_at}, updated_at = ${now}, last_error = null,
      paused_at = case when ${is_active} then null else paused_at end, is_held = is_held and not ${is_active},
      resuming_since = case when is_held and ${is_active} then ${now}::timestamptz else resuming_since end
    where ${itself(tx, ref)}`;
}

/** Pauses a locked journey; `is_held`: its runs stand still, too. */
export async function pauseRow(tx: Tx, ref: JourneyRef, is_held: boolean, now: Date): Promise<void> {
  await tx`
    update journeys set status = 'paused', is_held = ${is_held}, paused_at = ${now}, updated_at = ${now}
    where ${itself(tx, ref)}`;
}

/** The runs of a journey that is resuming since this time have their timers again. */
export async function endResuming(tx: Tx, ref: JourneyRef, since: Date): Promise<void> {
  await tx`update journeys set resuming_since = null where ${itself(tx, ref)} and resuming_since = ${since}`;
}

/**
 * Soft delete; a journey that was deleted before keeps its time. It is not held any more: runs that nothing cancels would
 * stand for ever.
 */
export async function softDeleteJourney(tx: Tx, ref: JourneyRef, now: Date): Promise<void> {
  await tx`
    update journeys set deleted_at = ${now}, updated_at = ${now}, is_held = false, resuming_since = null
    where ${itself(tx, ref)} and deleted_at is null`;
}
