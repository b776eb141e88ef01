import type { PendingQuery } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import { beyond, microseconds, type PageOf, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { EXPIRY_MS, wakeDeliverers } from './wake-queries.ts';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'cancelled'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The key of a journey, and of a delivery of its runs. */
export interface JourneyRef extends ProjectRef {
  journey_id: string;
}
export interface DeliveryRef extends JourneyRef {
  event_id: string;
}

/** A delivery as it is shown. */
export interface DeliveryRow {
  event_id: string;
  run_id: string;
  journey_version: number;
  node_id: string;
  player_id: string;
  url: string;
  status: DeliveryStatus;
  attempts: number;
  next_at: Date;
  attempted_at: Date | null;
  last_status: number | null;
  last_error: string | null;
  last_reason: string | null;
  response: string | null;
  created_at: Date;
  completed_at: Date | null;
}

/** A delivery in a list; `created_us` is in microseconds since the epoch. */
export type ListedDelivery = DeliveryRow & { created_us: bigint };

/** Which deliveries are listed. */
export interface DeliveryFilters {
  status?: DeliveryStatus | undefined;
  run_id?: string | undefined;
}

function columns(tx: Tx) {
  return tx`event_id, run_id, journey_version, node_id, player_id, url, status, attempts, next_at, attempted_at,
    last_status, last_error, last_reason, response, created_at, completed_at`;
}

function itself(tx: Tx, { tenant_id, project_id, journey_id, event_id }: DeliveryRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}
    and event_id = ${event_id}`;
}

/** A row if the project has the journey, deleted or not. */
export function selectJourney(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyRef,
): PendingQuery<{ journey_id: string }[]> {
  return tx<{ journey_id: string }[]>`
    select journey_id from journeys
    where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}`;
}

/** A page of the deliveries of a journey's runs, the newest first. */
export function listDeliveries(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyRef,
  { status, run_id }: DeliveryFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<ListedDelivery[]> {
  const nothing = tx``;
  return tx<ListedDelivery[]>`
    select ${columns(tx)}, ${microseconds(tx, 'created_at')} as created_us from webhook_deliveries
    where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}
      ${status === undefined ? nothing : tx`and status = ${status}`}
      ${run_id === undefined ? nothing : tx`and run_id = ${run_id}`}
      ${beyond(tx, 'created_at', 'event_id', after)}
    order by created_at desc, event_id desc limit ${limit}`;
}

/** A page of the deliveries of a project with one of the statuses, the newest first: the first rows of each are merged. */
export function listProjectDeliveries(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  statuses: readonly DeliveryStatus[],
  after: TimePosition | undefined,
  limit: number,
): PageOf<DeliveryRow & { journey_id: string }> {
  return tx<(ListedDelivery & { journey_id: string })[]>`
    select journey_id, ${columns(tx)}, ${microseconds(tx, 'created_at')} as created_us
    from unnest(${plainArray(statuses)}::text::text[]) as wanted (wanted_status)
    cross join lateral (
      select * from webhook_deliveries
      where tenant_id = ${tenant_id} and project_id = ${project_id} and status = wanted_status
        and journey_id is not null
        ${beyond(tx, 'created_at', 'event_id', after)}
      order by created_at desc, event_id desc limit ${limit}) d
    order by created_at desc, event_id desc limit ${limit}`;
}

/** The delivery, locked until the transaction ends. */
export async function lockDelivery(tx: Tx, ref: DeliveryRef): Promise<DeliveryRow | undefined> {
  const [row] = await tx<DeliveryRow[]>`
    select ${columns(tx)} from webhook_deliveries where ${itself(tx, ref)} for no key update`;
  return row;
}

/** Has a locked delivery attempted again from now on, as often as a new one; returns it. */
export async function queueAgain(tx: Tx, ref: DeliveryRef, now: Date): Promise<DeliveryRow | undefined> {
  const [row] = await tx<DeliveryRow[]>`
    update webhook_deliveries
    set status = 'pending', attempts_before = attempts, next_at = ${now}, completed_at = null,
      expires_at = ${new Date(now.getTime() + EXPIRY_MS)}
    where ${itself(tx, ref)}
    returning ${columns(tx)}`;
  await wakeDeliverers(tx);
  return row;
}
