import type { PendingQuery } from 'postgres';
import { textArray, plainArray } from '../../platform/postgres/arrays.ts';
import {
  beyond,
  microseconds,
  type Listed,
  type PageOf,
  type TimePosition,
} from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { DeliveryStatus } from '../webhooks/read-queries.ts';
import type { SubscriptionRef } from '../webhooks/subscription-ref.ts';
import type { SubscribedEvent } from './events.ts';

export const SUBSCRIPTION_STATUSES = ['active', 'paused'] as const;

/** What people say of a subscription. */
export interface SubscriptionFields {
  name: string;
  url: string;
  events: SubscribedEvent[];
  segment_ids: string[] | null;
}

/** A subscription as Postgres has it. */
export interface SubscriptionRow extends SubscriptionRef, SubscriptionFields {
  status: (typeof SUBSCRIPTION_STATUSES)[number];
  last_sequence: bigint;
  counted_at_sequence: bigint;
  dropped: bigint;
  last_dropped_at: Date | null;
  replay_from: Date | null;
  replay_until: bigint | null;
  replay_position: bigint | null;
  replayed: bigint | null;
  replay_ended_at: Date | null;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

/** What has become of the events of a subscription. Counts end at {@link MAX_COUNTED}. */
export interface DeliveryState {
  pending: number;
  oldest_pending_at: Date | null;
  failed: number;
  last_delivered_at: Date | null;
  /** The last failure of the event that waits longest, else of the newest that has failed. */
  error_code: string | null;
  error_status: number | null;
  error_at: Date | null;
  /** Whether the event that waits longest was tried without success, or the one that ended last was given up. */
  is_failing: boolean;
}

export const MAX_COUNTED = 10_000;

/** Queues events of a subscription again. The key of its job is this and the id of the subscription. */
export const REPLAY_TASK = 'event-subscription-replay';

/** Every column. A replay whose job has used up its attempts has ended: the tenant sees it so, not the service. */
export function columns(tx: Tx) {
  return tx`tenant_id, project_id, subscription_id, name, url, events,
    segment_ids::text[] as segment_ids, status, last_sequence,
    counted_at_sequence, dropped, last_dropped_at, replay_from, replay_until, replay_position, replayed,
    case when replay_from is null or replay_ended_at is not null then replay_ended_at
      else job_given_up_at(${`${REPLAY_TASK} `} || subscription_id) end as replay_ended_at,
    created_at, updated_at, deleted_at`;
}

/** The condition that a row is of this subscription. */
export function ofSubscription(tx: Tx, { tenant_id, project_id, subscription_id }: SubscriptionRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and subscription_id = ${subscription_id}`;
}

/** The state of the deliveries of the subscription `s`: few looks into the index of its deliveries by status. */
function withState(tx: Tx) {
  const of = (status: DeliveryStatus) =>
    tx`d.subscription_id = s.subscription_id and d.status = ${status} and d.tenant_id = s.tenant_id
      and d.project_id = s.project_id`;
  const count = (status: DeliveryStatus) => tx`(
    select count(*)::integer from (select from webhook_deliveries d where ${of(status)} limit ${MAX_COUNTED}) d)`;
  return tx`
    left join lateral (
      select d.created_at, d.attempted_at, d.last_error, d.last_status from webhook_deliveries d
      where ${of('pending')} order by d.sequence limit 1) p on true
    left join lateral (
      select d.completed_at, d.sequence, d.last_error, d.last_status from webhook_deliveries d
      where ${of('failed')} order by d.sequence desc limit 1) f on true
    left join lateral (
      select d.completed_at, d.sequence from webhook_deliveries d
      where ${of('delivered')} order by d.sequence desc limit 1) o on true
    cross join lateral (select ${count('pending')} as pending, ${count('failed')} as failed) n
    cross join lateral (
      select n.pending, p.created_at as oldest_pending_at, n.failed, o.completed_at as last_delivered_at,
        coalesce(p.last_error, f.last_error) as error_code,
        case when p.last_error is null then f.last_status else p.last_status end as error_status,
        case when p.last_error is null then f.completed_at else p.attempted_at end as error_at,
        p.last_error is not null or f.completed_at is not null and (
          o.completed_at is null or (f.completed_at, f.sequence) > (o.completed_at, o.sequence)) as is_failing) state`;
}

export type ShownSubscription = SubscriptionRow & DeliveryState;

/** The subscription, deleted or not, with the state of its deliveries. */
export function selectShown(tx: Tx, ref: SubscriptionRef): PendingQuery<ShownSubscription[]> {
  return tx<ShownSubscription[]>`
    select s.*, state.* from (select ${columns(tx)} from event_subscriptions where ${ofSubscription(tx, ref)}) s ${withState(tx)}`;
}

/** A page of the project's subscriptions that are not deleted, the newest first. */
export function listSubscriptions(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  after: TimePosition | undefined,
  limit: number,
): PageOf<ShownSubscription> {
  return tx<Listed<ShownSubscription>[]>`
    select s.*, state.* from (
      select ${columns(tx)}, ${microseconds(tx, 'created_at')} as created_us from event_subscriptions
      where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
        ${beyond(tx, 'created_at', 'subscription_id', after)}
      order by created_at desc, subscription_id desc limit ${limit}) s ${withState(tx)}
    order by s.created_at desc, s.subscription_id desc`;
}

/** One creation in a project at a time, until the transaction ends. */
export async function lockProjectSubscriptions(tx: Tx, { project_id }: ProjectRef): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`event subscriptions ${project_id}`}, 0))`;
}

/** How many subscriptions of the project are not deleted. */
export async function countSubscriptions(tx: Tx, { tenant_id, project_id }: ProjectRef): Promise<number> {
  const [row] = await tx<{ subscriptions: number }[]>`
    select count(*)::integer as subscriptions from event_subscriptions
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null`;
  return row?.subscriptions ?? 0;
}

/** Adds the subscription. */
export async function insertSubscription(tx: Tx, row: SubscriptionRow): Promise<void> {
  await tx`
    insert into event_subscriptions (tenant_id, project_id, subscription_id, name, url, events, segment_ids, status,
      created_at, updated_at)
    values (${row.tenant_id}, ${row.project_id}, ${row.subscription_id}, ${row.name}, ${row.url},
      ${textArray(row.events)}::text::text[], ${segmentsOf(row)}::text::uuid[], ${row.status}, ${row.created_at},
      ${row.updated_at})`;
}

const segmentsOf = ({ segment_ids }: SubscriptionFields) =>
  segment_ids === null ? null : plainArray(segment_ids);

/** The subscription, if it is not deleted, locked until the transaction ends: nobody else adds events to it. */
export async function lockSubscription(tx: Tx, ref: SubscriptionRef): Promise<SubscriptionRow | undefined> {
  const [row] = await tx<SubscriptionRow[]>`
    select ${columns(tx)} from event_subscriptions
    where ${ofSubscription(tx, ref)} and deleted_at is null for no key update`;
  return row;
}

/** Writes what people change of a locked subscription. */
export async function updateSubscription(tx: Tx, row: SubscriptionRow): Promise<void> {
  await tx`
    update event_subscriptions
    set name = ${row.name}, url = ${row.url}, events = ${textArray(row.events)}::text::text[],
      segment_ids = ${segmentsOf(row)}::text::uuid[], status = ${row.status}, updated_at = ${row.updated_at},
      deleted_at = ${row.deleted_at}
    where ${ofSubscription(tx, row)}`;
}

/** Notes that a locked subscription has events up to this number. */
export async function updateSequence(tx: Tx, ref: SubscriptionRef, last_sequence: bigint): Promise<void> {
  await tx`update event_subscriptions set last_sequence = ${last_sequence} where ${ofSubscription(tx, ref)}`;
}

/** Those of these segments that the project has and that are not deleted. */
export async function selectSegments(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  segment_ids: readonly string[],
): Promise<Set<string>> {
  const rows = await tx<{ segment_id: string }[]>`
    select segment_id from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      and segment_id = any(${plainArray(segment_ids)}::text::uuid[])`;
  return new Set(rows.map(({ segment_id }) => segment_id));
}

/** A delivery of a subscription, as it is shown. */
export interface EventDeliveryRow {
  event_id: string;
  sequence: bigint;
  event: string;
  player_id: string;
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

/** A page of the deliveries of a subscription with one of the statuses, the newest first: the first rows of each are merged. */
export function listEventDeliveries(
  tx: Tx,
  { tenant_id, project_id, subscription_id }: SubscriptionRef,
  statuses: readonly DeliveryStatus[],
  before: string | undefined,
  limit: number,
): PendingQuery<EventDeliveryRow[]> {
  return tx<EventDeliveryRow[]>`
    select event_id, sequence, event, player_id, status, attempts, next_at, attempted_at, last_status, last_error,
      last_reason, response, created_at, completed_at
    from unnest(${plainArray(statuses)}::text::text[]) as wanted (wanted_status)
    cross join lateral (
      select * from webhook_deliveries
      where subscription_id = ${subscription_id} and status = wanted_status and tenant_id = ${tenant_id}
        and project_id = ${project_id} ${before === undefined ? tx`` : tx`and sequence < ${before}::text::bigint`}
      order by sequence desc limit ${limit}) d
    order by sequence desc limit ${limit}`;
}
