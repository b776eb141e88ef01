import type { PendingQuery, Row } from 'postgres';
import type { Backlog } from '../../platform/backlog-gauge.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { dueLanes, type WorkQuery } from '../../platform/postgres/work-watch.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { GrantRow } from './grant-row.ts';
import { grantColumns } from './queries.ts';

/** The grants of one adapter of one project: they wait for each other, and for no others. */
export interface GrantLane extends ProjectRef {
  adapter_slug: string;
}

/** A lane in which something is due at `next_at`, or later. */
export interface WaitingLane extends GrantLane {
  next_at: Date;
  /** The tenant has paused its bonuses. */
  is_paused: boolean;
  /** How many calls its platform takes at once and may be begun within a second: further ones would only wait. */
  most: number;
}

/** Calls at once of the built-in sandbox, which has no adapter. */
const MOST_OF_SANDBOX = 16;

/** Of the table `g`: a call may be made when its time has come. Grants that were put off wait for a share first. */
function mayBeCalled(sql: Tx): PendingQuery<Row[]> {
  return sql`g.next_attempt_at is not null and (g.put_off_to is null or g.outcome <> 'unsent')`;
}

/**
 * Lanes with something to be called, in the order of their keys after `after`, each with its earliest time. Reads one row
 * per lane, however many grants wait in it.
 */
export function selectWaitingLanes(
  sql: Tx,
  after: GrantLane | undefined,
  limit: number,
): PendingQuery<WaitingLane[]> {
  const lane = sql`g.adapter_slug, g.tenant_id, g.project_id`;
  const first = sql`
    select ${lane}, g.next_attempt_at as next_at from bonus_grants g where ${mayBeCalled(sql)}`;
  const order = sql`order by ${lane}, g.next_attempt_at limit 1`;
  const beyond =
    after === undefined
      ? sql``
      : sql`and (${lane}) > (${after.adapter_slug}, ${after.tenant_id}::uuid, ${after.project_id}::uuid)`;
  return sql<WaitingLane[]>`
    with recursive lanes as (
      (${first} ${beyond} ${order})
      union all
      select n.* from lanes l cross join lateral (
        ${first} and (${lane}) > (l.adapter_slug, l.tenant_id, l.project_id) ${order}) n
    )
    select l.*, coalesce(c.is_paused, false) as is_paused, coalesce(a.most, ${MOST_OF_SANDBOX}) as most from (select * from lanes limit ${limit}) l
    left join lateral (
      select c.config -> 'bonuses' -> 'paused' = 'true' as is_paused from tenant_configs c
      where c.tenant_id = l.tenant_id offset 0) c on true
    left join lateral (
      select least(a.max_in_flight, a.max_rps) as most from adapters a
      where a.slug = l.adapter_slug and a.tenant_id = l.tenant_id and a.project_id = l.project_id offset 0) a on true`;
}

/** Returns a row while a grant is due to be called, also of a tenant that has paused its bonuses. */
export const senderWork: WorkQuery = (sql, now) =>
  dueLanes(sql, now, (limit) => selectWaitingLanes(sql, undefined, limit));

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
        and ${mayBeCalled(sql)} and g.next_attempt_at <= ${now}
        and not exists (select from tenant_configs c
          where c.tenant_id = ${tenant_id} and c.config -> 'bonuses' -> 'paused' = 'true')
      order by g.next_attempt_at
      limit ${limit}
      for no key update skip locked)
    update bonus_grants g set
      calls = g.calls + 1, next_attempt_at = ${lost_at}, put_off_to = null, first_called_at = coalesce(g.first_called_at, ${now}),
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
 * Lets grants of a campaign that were put off go on before their time, because its platform takes calls again: as far as
 * it has not asked them to wait, and each with a share of the rate. Of `most` at once, without those that are held.
 */
export async function hurryPutOff(
  sql: Tx,
  { tenant_id, project_id, campaign_id }: ProjectRef & { campaign_id: string },
  most: number,
): Promise<void> {
  await sql`
    update bonus_grants g set next_attempt_at = found.put_off_to
    from (
      select o.ctid, o.put_off_to from bonus_grants o
      where o.campaign_id = ${campaign_id} and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
        and o.status = 'pending' and o.outcome = 'unsent' and o.put_off_to < o.next_attempt_at
      limit ${most} for no key update skip locked) found
    where g.ctid = found.ctid`;
}

/** Calls of platforms that are due, also those of lanes that are paused. */
export async function readDueGrants(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(next_attempt_at))::float8 as oldest_ms from (
      select next_attempt_at from bonus_grants
      where next_attempt_at is not null and next_attempt_at <= now() limit ${most}) d`;
  return row ?? { items: 0, oldest_ms: null };
}

/** What the sweep of protected players reads of a grant: of each live one, again and again. */
export type LiveGrant = Pick<
  GrantRow,
  'tenant_id' | 'project_id' | 'grant_id' | 'player_id' | 'status' | 'is_protection_seen'
>;

/** Grants after `after`, in the order of their ids, that have not ended. */
export async function selectLiveGrants(sql: Tx, after: string, limit: number): Promise<LiveGrant[]> {
  return sql<LiveGrant[]>`
    select g.tenant_id, g.project_id, g.grant_id, g.player_id, g.status, g.is_protection_seen from bonus_grants g
    where g.status in ('pending', 'active') and g.grant_id > ${after}
    order by g.grant_id
    limit ${limit}`;
}
