import type { PendingQuery } from 'postgres';
import type { Backlog } from '../../platform/backlog-gauge.ts';
import type { Waiting } from '../../platform/call-queue/call-queue.ts';
import {
  dueBacklog,
  dueWork,
  waitingLanes,
  type QueueTable,
} from '../../platform/call-queue/lane-queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { GrantRow, GrantRef } from './grant-row.ts';
import { grantColumns, isGrant } from './queries.ts';

/** The grants of one adapter of one project: they wait for each other, and for no others. */
export interface GrantLane extends ProjectRef {
  adapter_slug: string;
}

/** Calls at once of the built-in sandbox, which has no adapter. */
const MOST_OF_SANDBOX = 16;

/** The queue of grants: what may be called when its time has come. Others wait for a share of their campaign's rate first. */
const GRANTS: QueueTable<keyof GrantLane> = {
  table: 'bonus_grants',
  lane: { adapter_slug: 'text', tenant_id: 'uuid', project_id: 'uuid' },
  due: 'next_attempt_at',
  waits: (tx) => tx`next_attempt_at is not null and (retry_early_at is null or outcome <> 'unsent')`,
};

/**
 * Lanes with something to be called: see {@link waitingLanes}. `most`: how many calls its platform takes at once and may be
 * begun within a second; further ones would only wait. `is_paused`: the tenant has paused its bonuses.
 */
export function selectWaitingLanes(
  sql: Tx,
  after: GrantLane | undefined,
  limit: number,
): PendingQuery<Required<Waiting<GrantLane>>[]> {
  return sql<Required<Waiting<GrantLane>>[]>`
    select l.*, coalesce(c.is_paused, false) as is_paused, coalesce(a.most, ${MOST_OF_SANDBOX}) as most
    from (${waitingLanes(sql, GRANTS, after, limit)}) l
    left join lateral (
      select c.config -> 'bonuses' -> 'paused' = 'true' as is_paused from tenant_configs c
      where c.tenant_id = l.tenant_id offset 0) c on true
    left join lateral (
      select least(a.max_in_flight, a.max_rps) as most from adapters a
      where a.slug = l.adapter_slug and a.tenant_id = l.tenant_id and a.project_id = l.project_id offset 0) a on true`;
}

/** Returns a row while a grant is due to be called, also of a tenant that has paused its bonuses. */
export const senderWork: WorkQuery = (sql, now) => dueWork(sql, GRANTS, now);

/**
 * Claims up to `limit` due grants of a lane, each of which is taken for lost at `lost_at`; none of a tenant that has
 * paused its bonuses. Where the call before was lost, or had no usable answer, a grant may have been sent. The time limit
 * of one that was never sent begins now if it has waited, or if its time is over; also in the body of the call.
 */
export async function claimGrants(
  sql: Tx,
  { adapter_slug, tenant_id, project_id }: GrantLane,
  limit: number,
  now: Date,
  lost_at: Date,
): Promise<GrantRow[]> {
  const limited = sql`g.outcome = 'unsent' and not g.may_be_sent and g.expires_at is not null and (g.expires_at <= ${now}
        or (g.attempts = 0 and g.created_at < ${now}::timestamptz - interval '1 minute'))`;
  const ends_at = sql`${now}::timestamptz + (g.terms ->> 'time_limit_hours')::integer * interval '1 hour'`;
  return sql<GrantRow[]>`
    with due as materialized (
      select g.grant_id, case when ${limited} then ${ends_at} end as expires_at from bonus_grants g
      where g.adapter_slug = ${adapter_slug} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
        and ${GRANTS.waits(sql)} and g.next_attempt_at <= ${now}
        and not exists (select from tenant_configs c
          where c.tenant_id = ${tenant_id} and c.config -> 'bonuses' -> 'paused' = 'true')
      order by g.next_attempt_at
      limit ${limit}
      for no key update skip locked)
    update bonus_grants g set
      calls = g.calls + 1, next_attempt_at = ${lost_at}, retry_early_at = null, first_called_at = coalesce(g.first_called_at, ${now}),
      expires_at = coalesce(due.expires_at, g.expires_at),
      order_body = case when due.expires_at is null then g.order_body
        else jsonb_set(g.order_body::jsonb, '{template,expires_at}',
          to_jsonb(to_char(due.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))::text end,
      attempts = g.attempts + case when g.cancel_requested_at is null and g.outcome <> 'confirmed' then 1 else 0 end,
      may_be_sent = g.may_be_sent or g.outcome in ('sent', 'unknown'),
      outcome = case
        when g.outcome = 'confirmed' then 'confirmed'
        when g.cancel_requested_at is null then 'sent'
        when g.outcome = 'sent' then 'unknown'
        else g.outcome end
    from due
    where g.grant_id = due.grant_id and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
    returning ${grantColumns(sql)}`;
}

/**
 * Lets grants of a campaign that wait for another try go on before their time, because its platform takes calls again.
 * Grants that the platform has asked to wait stay. Each grant takes a share of the rate. It changes at most `most` grants,
 * and skips those that are held.
 */
export async function retryEarly(
  sql: Tx,
  { tenant_id, project_id, campaign_id }: ProjectRef & { campaign_id: string },
  most: number,
): Promise<void> {
  await sql`
    update bonus_grants g set next_attempt_at = found.retry_early_at
    from (
      select o.ctid, o.retry_early_at from bonus_grants o
      where o.campaign_id = ${campaign_id} and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
        and o.status = 'pending' and o.outcome = 'unsent' and o.retry_early_at < o.next_attempt_at
      limit ${most} for no key update skip locked) found
    where g.ctid = found.ctid`;
}

/** Calls of platforms that are due, also those of lanes that are paused. */
export const readDueGrants = (tx: Tx, most: number): Promise<Backlog> => dueBacklog(tx, GRANTS, most);

/** What the sweep reads of a grant: of each live one, again and again. */
export type LiveGrant = Pick<
  GrantRow,
  | 'tenant_id'
  | 'project_id'
  | 'grant_id'
  | 'player_id'
  | 'status'
  | 'is_protection_seen'
  | 'deposit_transaction_id'
  | 'deposit_reversed_at'
>;

/** Grants after `after`, in the order of their ids, that have not ended. */
export async function selectLiveGrants(sql: Tx, after: string, limit: number): Promise<LiveGrant[]> {
  return sql<LiveGrant[]>`
    select g.tenant_id, g.project_id, g.grant_id, g.player_id, g.status, g.is_protection_seen,
      g.deposit_transaction_id, g.deposit_reversed_at
    from bonus_grants g
    where g.status in ('pending', 'active') and g.grant_id > ${after}
    order by g.grant_id
    limit ${limit}`;
}

/** The columns that the end of a call changes, in addition to those of an event. */
export type CallChange = Pick<
  GrantRow,
  | 'outcome'
  | 'may_be_sent'
  | 'needs_review'
  | 'last_error'
  | 'attempts'
  | 'next_attempt_at'
  | 'retry_early_at'
  | 'cancel_requested_at'
  | 'cancel_reason'
  | 'is_protection_seen'
>;

/**
 * Writes the end of a call of a locked grant; returns the row as it is then. Only a grant that a member of a campaign got
 * waits for a share of a rate: one that names a campaign, and is of none of its members, is never put off.
 */
export async function updateCall(tx: Tx, ref: GrantRef, change: CallChange, now: Date): Promise<GrantRow> {
  const last_error = change.last_error === null ? null : JSON.stringify(change.last_error);
  const [row] = await tx<GrantRow[]>`
    update bonus_grants g set
      outcome = ${change.outcome}, may_be_sent = ${change.may_be_sent}, needs_review = ${change.needs_review},
      last_error = ${last_error}::text::jsonb, attempts = ${change.attempts},
      next_attempt_at = ${change.next_attempt_at},
      retry_early_at = case when ${change.retry_early_at}::timestamptz is not null and exists (
        select from bonus_campaign_rows r
        where r.grant_id = g.grant_id and r.tenant_id = g.tenant_id and r.project_id = g.project_id)
        then ${change.retry_early_at}::timestamptz end,
      cancel_requested_at = ${change.cancel_requested_at},
      cancel_reason = ${change.cancel_reason}, is_protection_seen = ${change.is_protection_seen}, updated_at = ${now}
    where ${isGrant(tx, ref)}
    returning ${grantColumns(tx)}`;
  if (row === undefined) throw new Error(`grant ${ref.grant_id} has vanished`);
  return row;
}

/** Claims a locked grant for a call, which is taken for lost at `lost_at`. */
export async function claimLocked(tx: Tx, grant: GrantRow, lost_at: Date): Promise<GrantRow> {
  const [row] = await tx<GrantRow[]>`
    update bonus_grants g set calls = g.calls + 1, next_attempt_at = ${lost_at}
    where ${isGrant(tx, grant)}
    returning ${grantColumns(tx)}`;
  if (row === undefined) throw new Error(`grant ${grant.grant_id} has vanished`);
  return row;
}
