import type { PendingQuery, Row } from 'postgres';
import type { Waiting } from '../../platform/call-queue/call-queue.ts';
import type { Backlog } from '../../platform/backlog-gauge.ts';
import {
  dueBacklog,
  dueWork,
  waitingLanes,
  type QueueTable,
} from '../../platform/call-queue/lane-queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import { type ProjectRef, PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { SealedValue } from '../journeys/graph/webhook-headers.ts';
import type { ScopePlayer } from '../templates/player-scope.ts';
import { barredSql } from '../messaging/gate-queries.ts';
import type { PlayerRef } from '../../players/player-ref.ts';

/** Deliveries of one tenant to one host take turns: a lane. */
export interface Lane {
  tenant_id: string;
  /** Host and port; of a subscription, then a slash and its id. */
  host: string;
}

/** What a body is made of, as it was at the step of the run. */
export interface Source {
  /** Null: there is no such player. */
  player: ScopePlayer | null;
  context: unknown;
  data: Record<string, unknown>;
}

/** A delivery that this process attempts now. */
interface Claimed extends Lane, ProjectRef {
  event_id: string;
  player_id: string;
  url: string;
  headers: Record<string, SealedValue>;
  timeout_ms: number;
  max_attempts: number;
  backoff_ms: number | null;
  wait_for_response: boolean;
  save_as: string | null;
  source: Source | null;
  payload: string | null;
  /** The number of this attempt. */
  attempts: number;
  /** Those before it that do not count. */
  attempts_before: number;
  created_at: Date;
}

/** What a node of a journey calls. */
export interface ClaimedCall extends Claimed {
  subscription_id: null;
  journey_id: string;
  journey_version: number;
  run_id: string;
  node_id: string;
  seq: number;
}

/** An event that a subscription is sent; its body was made when it was queued. */
export interface ClaimedEvent extends Claimed {
  subscription_id: string;
  journey_id: null;
  journey_version: null;
  run_id: null;
  node_id: null;
  seq: null;
}

export type ClaimedDelivery = ClaimedCall | ClaimedEvent;

/**
 * How long after its time-out an attempt is taken for lost, in milliseconds: its result may wait for Postgres. It doubles
 * with each attempt that does not count, so that a delivery which ends the process that attempts it does so ever more
 * rarely, until it expires.
 */
const LOST_AFTER_MS = 30_000;
const MAX_LOST_AFTER_MS = 3_600_000;
const MAX_DOUBLINGS = 10;

/** When a claim of the delivery `d` is over, which began at `from`, after so many attempts that do not count. */
function endOfClaim(sql: Tx, from: PendingQuery<Row[]>, attempts_before: PendingQuery<Row[]>) {
  return sql`${from} + interval '1 millisecond' * (d.timeout_ms + least(
    ${LOST_AFTER_MS}::integer * 2 ^ least(${attempts_before}, ${MAX_DOUBLINGS}::integer), ${MAX_LOST_AFTER_MS}::integer))`;
}

/**
 * Whether the pending delivery `d` is claimed: its call is under way. One that waits for its next attempt has another time; the
 * same one by chance is taken for a claim until then.
 */
export function isClaimed(sql: Tx, now: Date) {
  return sql`(d.attempted_at is not null and d.next_at > ${now}
    and d.next_at = ${endOfClaim(sql, sql`d.attempted_at`, sql`d.attempts_before - 1`)})`;
}

/** The queue of pending deliveries. */
const DELIVERIES: QueueTable<keyof Lane> = {
  table: 'webhook_deliveries',
  lane: { tenant_id: 'uuid', host: 'text' },
  due: 'next_at',
  waits: (tx) => tx`status = 'pending'`,
};

/** Lanes with pending deliveries: see {@link waitingLanes}. Those of subscriptions that are paused or deleted are paused. */
export const selectWaitingLanes = (sql: Tx, after: Lane | undefined, limit: number) =>
  sql<(Waiting<Lane> & { is_paused: boolean })[]>`
    select l.*, coalesce(s.is_paused, false) as is_paused from (${waitingLanes(sql, DELIVERIES, after, limit)}) l
    left join lateral (
      select s.status = 'paused' or s.deleted_at is not null as is_paused from event_subscriptions s
      where s.tenant_id = l.tenant_id and s.subscription_id = nullif(split_part(l.host, '/', 2), '')::uuid
      limit 1) s on true
    order by l.tenant_id, l.host`;

/** Returns a row while a delivery is due, also one of a lane that rests. */
export const deliveryWork: WorkQuery = (sql, now) => dueWork(sql, DELIVERIES, now);

/**
 * Claims due deliveries, of each lane as many as it has places, the longest due first. A claim is the number of the
 * attempt: once its time is over, another process may make the next attempt, and the result of this one counts no more.
 * Until its result is written, a claim is an attempt that does not count: the process may end before anything was sent.
 */
export async function claimDeliveries(
  sql: Tx,
  lanes: readonly (Lane & { places: number })[],
  now: Date,
): Promise<ClaimedDelivery[]> {
  return sql<ClaimedDelivery[]>`
    with due as materialized (
      select d.ctid from ${rowsOf(sql, 'l', lanes, { tenant_id: 'uuid', host: 'text', places: 'integer' })}
      cross join lateral (
        select d.ctid from webhook_deliveries d
        where d.tenant_id = l.tenant_id and d.host = l.host and d.status = 'pending' and d.next_at <= ${now}
        order by d.next_at limit l.places for update skip locked) d
    )
    update webhook_deliveries d
    set attempts = d.attempts + 1, attempts_before = d.attempts_before + 1, attempted_at = ${now},
      next_at = ${endOfClaim(sql, sql`${now}::timestamptz`, sql`d.attempts_before`)}
    from due where d.ctid = due.ctid
    returning d.tenant_id, d.project_id, d.event_id, d.subscription_id, d.journey_id, d.journey_version, d.run_id, d.node_id,
      d.seq, d.player_id, d.host, coalesce((
        select s.url from event_subscriptions s
        where s.tenant_id = d.tenant_id and s.project_id = d.project_id and s.subscription_id = d.subscription_id
      ), d.url) as url, d.headers, d.timeout_ms, d.max_attempts, d.backoff_ms, d.wait_for_response, d.save_as,
      d.source, d.payload, d.attempts, d.attempts_before - 1 as attempts_before, d.created_at`;
}

/** Those of these deliveries whose player, or the one that it was merged into, is deleted or erased, by event_id. */
export async function selectWithheld(
  sql: Tx,
  deliveries: readonly (PlayerRef & { event_id: string })[],
): Promise<Set<string>> {
  if (deliveries.length === 0) return new Set();
  const rows = await sql<{ event_id: string }[]>`
    select r.event_id
    from ${rowsOf(sql, 'r', deliveries, { ...PROJECT_KEY, player_id: 'uuid', event_id: 'uuid' })}
    left join lateral (
      select m.into_player_id from player_merges m
      where m.tenant_id = r.tenant_id and m.project_id = r.project_id and m.player_id = r.player_id offset 0) m on true
    cross join lateral (
      select p.deleted_at, p.erased_at from players p
      where p.player_id = coalesce(m.into_player_id, r.player_id) and p.tenant_id = r.tenant_id and p.project_id = r.project_id offset 0) p
    where p.deleted_at is not null or p.erased_at is not null`;
  return new Set(rows.map(({ event_id }) => event_id));
}

/** A body that was made. */
export interface MadePayload {
  tenant_id: string;
  event_id: string;
  payload: string;
}

/**
 * Keeps the bodies that were made, and returns those that count by event_id: a body that another process kept before
 * stays. A statement of its own locks first, so that the next one sees what other transactions have changed.
 */
export async function keepPayloads(tx: Tx, made: readonly MadePayload[]): Promise<Map<string, string>> {
  if (made.length === 0) return new Map();
  const found = tx`
    from ${rowsOf(tx, 'm', made, { tenant_id: 'uuid', event_id: 'uuid', payload: 'text' })}
    cross join lateral (
      select o.ctid from webhook_deliveries o
      where o.tenant_id = m.tenant_id and o.event_id = m.event_id`;
  const [, kept] = await Promise.all([
    tx`select ${found} order by o.event_id for update) found`,
    tx<{ event_id: string; payload: string }[]>`
      update webhook_deliveries d set payload = coalesce(d.payload, m.payload), source = null
      ${found} offset 0) found
      where d.ctid = found.ctid
      returning d.event_id, d.payload`,
  ]);
  return new Map(kept.map(({ event_id, payload }) => [event_id, payload]));
}

/** How many deliveries are pending for the hosts that have the most, counted over `counted` rows. */
export async function selectPendingByHost(
  sql: Tx,
  hosts: number,
  counted: number,
): Promise<{ host: string; pending: number }[]> {
  return sql<{ host: string; pending: number }[]>`
    select host, count(*)::integer as pending
    from (select split_part(host, '/', 1) as host from webhook_deliveries where status = 'pending' limit ${counted}) d
    group by host order by 2 desc, 1 limit ${hosts}`;
}

/** Deliveries that are due, also those of lanes that rest. */
export const readDueDeliveries = (tx: Tx, most: number): Promise<Backlog> => dueBacklog(tx, DELIVERIES, most);

/** Whom a delivery is about, as the database says now. */
export interface Addressee {
  event_id: string;
  /** The player into whom the delivery's player was merged, else the delivery's player. */
  player_id: string;
  /** The code why nothing may be sent about the player; null: it may. */
  code: string | null;
}

/** The players of these deliveries as they are now. */
export async function selectAddressees(
  sql: Tx,
  deliveries: readonly (PlayerRef & { event_id: string })[],
): Promise<Addressee[]> {
  return sql<Addressee[]>`
    select r.event_id, coalesce(m.into_player_id, r.player_id) as player_id, case ${barredSql(sql)} end as code
    from ${rowsOf(sql, 'r', deliveries, { ...PROJECT_KEY, player_id: 'uuid', event_id: 'uuid' })}
    left join lateral (
      select m.into_player_id from player_merges m
      where m.tenant_id = r.tenant_id and m.project_id = r.project_id and m.player_id = r.player_id offset 0) m on true
    left join lateral (
      select p.player_id, p.deleted_at, p.self_excluded, p.status from players p
      where p.player_id = coalesce(m.into_player_id, r.player_id) and p.tenant_id = r.tenant_id
        and p.project_id = r.project_id offset 0) p on true`;
}
