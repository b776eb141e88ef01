import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { GrantRow } from '../grants/grant-row.ts';
import { grantColumns } from '../grants/queries.ts';
import { campaignColumns, isCampaign, type BonusCampaignRef, type BonusCampaignRow } from './queries.ts';
import type { Held } from './reserve-queries.ts';

/** Scheduled campaigns that are due, the earliest first, without those of `resting`. */
export function selectDueBonusCampaigns(
  sql: Tx,
  now: Date,
  limit: number,
  resting: readonly string[] = [],
): PendingQuery<BonusCampaignRef[]> {
  return sql<BonusCampaignRef[]>`
    select tenant_id, project_id, campaign_id from bonus_campaigns
    where status = 'scheduled' and schedule_at <= ${now} and campaign_id <> all(${plainArray(resting)}::text::uuid[])
    order by schedule_at limit ${limit}`;
}

/** A campaign that is not finished. */
export interface OpenCampaign extends BonusCampaignRef {
  /** There are rows to make, members to decide about or to end, grants to end or to take back, or an end to note. */
  has_work: boolean;
}

/**
 * Campaigns after `after`, in the order of their ids, that were issued and are not finished. One whose members wait for a
 * daily budget has no work until it is time; with `is_awake` it is not among them.
 */
export function selectOpenCampaigns(
  sql: Tx,
  { after, limit, now, is_awake }: { after: string; limit: number; now: Date; is_awake?: true },
): PendingQuery<OpenCampaign[]> {
  const hasRow = (status: string) => sql`exists (select from bonus_campaign_rows r
    where r.campaign_id = c.campaign_id and r.tenant_id = c.tenant_id and r.project_id = c.project_id
      and r.status = ${status} offset 0)`;
  const unsent = sql`select from bonus_grants g
    where g.campaign_id = c.campaign_id and g.tenant_id = c.tenant_id and g.project_id = c.project_id
      and g.status = 'pending' and g.outcome = 'unsent'`;
  const is_waiting = sql`exists (select from bonus_campaign_budgets b
    where b.campaign_id = c.campaign_id and b.tenant_id = c.tenant_id and b.project_id = c.project_id
      and b.waits_until > ${now} offset 0)`;
  const is_over = sql`not ${hasRow('reserved')} and not ${hasRow('sent')}`;
  return sql<OpenCampaign[]>`
    select c.tenant_id, c.project_id, c.campaign_id, w.has_work
    from (
      select * from bonus_campaigns c
      where status in ('issuing', 'paused', 'cancelled') and finished_at is null and campaign_id > ${after}
        ${is_awake === true ? sql`and not (c.status = 'issuing' and c.is_filled and ${is_waiting} and ${hasRow('pending')})` : sql``}
      order by campaign_id limit ${limit}) c
    cross join lateral (
      select case
        when not c.is_filled then true
        when c.status = 'paused' then exists (${unsent} offset 0)
        when ${hasRow('pending')} then c.status = 'cancelled' or not ${is_waiting}
        when c.status = 'cancelled' and (${hasRow('reserved')} or exists (${unsent} offset 0)) then true
        else ${is_over} end as has_work
      offset 0) w
    order by c.campaign_id`;
}

/** Open campaigns that {@link bonusCampaignWork} looks at. */
const WATCHED_CAMPAIGNS = 100;

/** Returns a row while a campaign has work, or where there are so many open ones that it is not known. */
export const bonusCampaignWork: WorkQuery = (sql, now) => sql`
  select from (
    select count(*) as open, count(*) filter (where has_work) as working
    from (${selectOpenCampaigns(sql, { after: NIL_ID, limit: WATCHED_CAMPAIGNS, now, is_awake: true })}) o) o
  where o.working > 0 or o.open = ${WATCHED_CAMPAIGNS}`;

/** The campaign, locked for one step; undefined when another process holds it. */
export async function lockForStep(tx: Tx, ref: BonusCampaignRef): Promise<BonusCampaignRow | undefined> {
  const [row] = await tx<BonusCampaignRow[]>`
    select ${campaignColumns(tx)} from bonus_campaigns c
    where ${isCampaign(tx, ref)} and c.status in ('issuing', 'paused', 'cancelled') and c.finished_at is null
    for no key update skip locked`;
  return row;
}

/**
 * Keeps the campaign as it is, being issued, until the transaction ends, and other transactions away from this part of its
 * work. The parts run at the same time as each other and a step: they lock less than it does, and only a change of the campaign
 * by a request waits for them. Undefined when it is not being issued, when a request is changing it, or when another
 * transaction does the part; `is_patient` waits for that one.
 */
export async function lockPart(
  tx: Tx,
  ref: BonusCampaignRef,
  part: 'decisions' | 'release',
  is_patient: boolean,
): Promise<BonusCampaignRow | undefined> {
  const key = tx`hashtextextended(${`bonus campaign ${part} ${ref.campaign_id}`}, 0)`;
  if (is_patient) await tx`select pg_advisory_xact_lock(${key})`;
  else {
    const [lock] = await tx<{ is_mine: boolean }[]>`select pg_try_advisory_xact_lock(${key}) as is_mine`;
    if (lock?.is_mine !== true) return undefined;
  }
  const [row] = await tx<BonusCampaignRow[]>`
    select ${campaignColumns(tx)} from bonus_campaigns c
    where ${isCampaign(tx, ref)} and c.status = 'issuing' and c.finished_at is null
    for key share skip locked`;
  return row;
}

/** Notes why nothing of a campaign is decided; null: it is. */
export async function noteError(
  sql: Tx,
  ref: BonusCampaignRef,
  message: string | null,
  now: Date,
): Promise<void> {
  await sql`
    update bonus_campaigns c set last_error = ${message}, updated_at = ${now}
    where ${isCampaign(sql, ref)} and c.last_error is distinct from ${message}`;
}

/** Notes why nothing of a campaign is released; null: it is. */
export async function noteReleaseError(
  sql: Tx,
  ref: BonusCampaignRef,
  message: string | null,
  now: Date,
): Promise<void> {
  await sql`
    update bonus_campaigns c set release_error = ${message}, updated_at = ${now}
    where ${isCampaign(sql, ref)} and c.release_error is distinct from ${message}`;
}

/** Makes a due campaign that could not be issued a draft again. */
export async function markUnissuable(
  sql: Tx,
  ref: BonusCampaignRef,
  message: string,
  now: Date,
): Promise<void> {
  await sql`
    update bonus_campaigns c set status = 'draft', schedule_at = null, last_error = ${message}, updated_at = ${now}
    where ${isCampaign(sql, ref)} and c.status = 'scheduled' and c.schedule_at <= ${now}`;
}

/** A deleted segment has no members, though their rows are removed only little by little. */
function isSegmentLive(
  tx: Tx,
  { tenant_id, project_id, segment_id }: Pick<BonusCampaignRow, 'tenant_id' | 'project_id' | 'segment_id'>,
): PendingQuery<Row[]> {
  return tx`exists (select from segments s where s.tenant_id = ${tenant_id} and s.project_id = ${project_id}
    and s.segment_id = ${segment_id} and s.deleted_at is null)`;
}

/** Counts the members of a segment who are not deleted. */
export function countMembers(tx: Tx, { tenant_id, project_id }: BonusCampaignRef, segment_id: string) {
  return tx<{ members: number }[]>`
    select count(*)::integer as members from segment_members m
    join players p using (tenant_id, project_id, player_id)
    where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.segment_id = ${segment_id}
      and p.deleted_at is null and ${isSegmentLive(tx, { tenant_id, project_id, segment_id })}`;
}

/** Members of a segment after `after`, in the order of their ids, who are not deleted. */
export async function selectMemberIds(
  tx: Tx,
  { tenant_id, project_id, segment_id }: BonusCampaignRow,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await tx<{ player_id: string }[]>`
    select m.player_id from segment_members m
    cross join lateral (
      select from players p where p.player_id = m.player_id and p.tenant_id = ${tenant_id}
        and p.project_id = ${project_id} and p.deleted_at is null offset 0) p
    where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.segment_id = ${segment_id}
      and m.player_id > ${after} and ${isSegmentLive(tx, { tenant_id, project_id, segment_id })}
    order by m.player_id limit ${limit}`;
  return rows.map(({ player_id }) => player_id);
}

/**
 * Makes the rows of the next members after `after`, of those who were in the segment when the campaign was issued. Returns
 * the last member that was looked at; null: there are no more.
 */
export async function fillRows(
  tx: Tx,
  { tenant_id, project_id, campaign_id, segment_id, issued_at }: BonusCampaignRow,
  after: string,
  limit: number,
): Promise<string | null> {
  const [row] = await tx<{ last: string | null; looked: number }[]>`
    with page as materialized (
      select m.player_id, m.entered_at from segment_members m
      where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.segment_id = ${segment_id}
        and m.player_id > ${after} and ${isSegmentLive(tx, { tenant_id, project_id, segment_id })}
      order by m.player_id limit ${limit}),
    made as (
      insert into bonus_campaign_rows (tenant_id, project_id, campaign_id, player_id)
      select ${tenant_id}, ${project_id}, ${campaign_id}, p.player_id
      from (select player_id from page where entered_at <= ${issued_at}) page cross join lateral (
        select p.player_id from players p where p.player_id = page.player_id and p.tenant_id = ${tenant_id}
          and p.project_id = ${project_id} and p.deleted_at is null offset 0) p
      on conflict do nothing)
    select (select player_id from page order by player_id desc limit 1) as last,
      (select count(*)::integer from page) as looked`;
  return row === undefined || row.looked < limit ? null : row.last;
}

/** Notes how far the rows are made; all of them: the members are counted, each of whom has a row now. */
export async function noteFilled(tx: Tx, ref: BonusCampaignRef, filled_to: string | null): Promise<void> {
  const { tenant_id, project_id, campaign_id } = ref;
  await tx`
    update bonus_campaigns c set
      filled_to = coalesce(${filled_to}::uuid, c.filled_to), is_filled = ${filled_to === null},
      members = case when ${filled_to === null} then (select count(*)::integer from bonus_campaign_rows r
        where r.tenant_id = ${tenant_id} and r.project_id = ${project_id} and r.campaign_id = ${campaign_id})
        else c.members end
    where ${isCampaign(tx, ref)}`;
}

/** Makes the row in which a campaign's use of its limits is kept. */
export async function insertCampaignBudget(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
): Promise<void> {
  await tx`
    insert into bonus_campaign_budgets (tenant_id, project_id, campaign_id)
    values (${tenant_id}, ${project_id}, ${campaign_id}) on conflict do nothing`;
}

/** Whether a member of the campaign is in one of these statuses. */
export async function hasRows(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  statuses: readonly string[],
): Promise<boolean> {
  const rows = await tx`
    select from bonus_campaign_rows r
    where r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
      and r.status in ${tx(statuses)}
    limit 1`;
  return rows.length > 0;
}

/** Ends pending members of a cancelled campaign; returns how many. */
export async function skipPending(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  limit: number,
): Promise<number> {
  const rows = await tx`
    with chosen as materialized (
      select r.ctid from bonus_campaign_rows r
      where r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
        and r.status = 'pending' limit ${limit} for no key update skip locked)
    update bonus_campaign_rows r set status = 'skipped', code = 'CANCELLED'
    from chosen
    -- By where they are: joined by id, Postgres might read all pending members for each of them.
    where r.ctid = chosen.ctid and r.status = 'pending'
    returning 1`;
  return rows.length;
}

/**
 * Grants of a campaign of which nothing was sent, given to the sender or not, locked in the order of their ids until the
 * transaction ends; without those that another transaction holds.
 */
export async function lockUnsent(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  limit: number,
): Promise<GrantRow[]> {
  return tx<GrantRow[]>`
    select g.* from (
      select g.grant_id from (
        select g.grant_id from bonus_grants g
        where g.campaign_id = ${campaign_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
          and g.status = 'pending' and g.outcome = 'unsent' and not g.may_be_sent
        order by g.next_attempt_at limit ${limit}) g
      order by g.grant_id) o
    cross join lateral (
      select ${grantColumns(tx)} from bonus_grants g
      where g.grant_id = o.grant_id and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
        and g.status = 'pending' and g.outcome = 'unsent' and not g.may_be_sent
      offset 0 for no key update of g skip locked) g`;
}

/**
 * Takes grants of which nothing was sent back from the sender: their members are reserved as before, and the grants are
 * gone until they are made again, with the same ids. Returns how many, and how many of them had a share of the rate that
 * no call has used. What the limits hold stays the same.
 */
export async function takeBackUnsent(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  limit: number,
): Promise<{ taken: number; shares: number }> {
  const [row] = await tx<{ taken: number; shares: number }[]>`
    with free as materialized (
      select g.grant_id, g.retry_early_at is null as has_share from (
        select g.grant_id from bonus_grants g
        where g.campaign_id = ${campaign_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
          and g.status = 'pending' and g.outcome = 'unsent' and not g.may_be_sent
        order by g.next_attempt_at limit ${limit}) o
      cross join lateral (
        select g.grant_id, g.retry_early_at from bonus_grants g
        where g.grant_id = o.grant_id and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
          and g.status = 'pending' and g.outcome = 'unsent' and not g.may_be_sent and g.cancel_requested_at is null
        offset 0 for no key update of g skip locked) g),
    taken as (
      update bonus_campaign_rows r set status = 'reserved', grant_id = null
      from free
      cross join lateral (
        select o.ctid from bonus_campaign_rows o
        where o.grant_id = free.grant_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id} offset 0) found
      where r.ctid = found.ctid and r.status = 'sent'
      returning free.grant_id, free.has_share),
    no_events as (
      delete from bonus_grant_events e using taken
      where e.grant_id = taken.grant_id and e.tenant_id = ${tenant_id} and e.project_id = ${project_id}),
    no_grants as (
      delete from bonus_grants g using taken
      where g.grant_id = taken.grant_id and g.tenant_id = ${tenant_id} and g.project_id = ${project_id})
    select count(*)::integer as taken, (count(*) filter (where has_share))::integer as shares from taken`;
  return row ?? { taken: 0, shares: 0 };
}

/**
 * Ends reserved members of a cancelled campaign; returns what was held for them, which the caller gives back. Each of them is locked first, so that a member who was released meanwhile is not one of them.
 */
export async function endReserved(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  limit: number,
): Promise<Held[]> {
  const rows = await tx<{ assigned_at: Date | null; members: number; cost: string }[]>`
    with chosen as materialized (
      select r.ctid, r.cost_base, r.assigned_at from bonus_campaign_rows r
      where r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
        and r.status = 'reserved' limit ${limit} for no key update skip locked),
    ended as (
      update bonus_campaign_rows r set
        status = 'skipped', code = 'CANCELLED', cost_base = 0, is_open = false, terms_id = null
      from chosen
      where r.ctid = chosen.ctid and r.status = 'reserved'
      returning chosen.cost_base, chosen.assigned_at)
    select assigned_at, count(*)::integer as members, sum(cost_base)::text as cost from ended group by assigned_at`;
  return rows.map(({ assigned_at, members, cost }) => ({ assigned_at, grants: members, base: BigInt(cost) }));
}

/** Ends a campaign that has no member left to decide, and so stands still for nothing. */
export async function markFinished(tx: Tx, ref: BonusCampaignRef, now: Date): Promise<void> {
  await tx`
    update bonus_campaigns c set
      status = case when c.status = 'issuing' then 'issued' else c.status end, finished_at = ${now}, updated_at = ${now},
      last_error = null, release_error = null
    where ${isCampaign(tx, ref)}`;
}

/** What happened to one member. */
export async function selectMemberRow(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  player_id: string,
): Promise<{ status: string; code: string | null; grant_id: string | null } | undefined> {
  const [row] = await tx<{ status: string; code: string | null; grant_id: string | null }[]>`
    select r.status, r.code, r.grant_id from bonus_campaign_rows r
    where r.player_id = ${player_id} and r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id}
      and r.project_id = ${project_id}`;
  return row;
}
