import type { Tx } from '../../platform/postgres/port.ts';
import type { BonusCampaignRef } from './queries.ts';

/** A campaign that has reserved grants. */
export interface ReleasingCampaign extends BonusCampaignRef {
  rate_per_second: number | null;
  /** Up to when the rate is used. */
  released_to: Date;
}

/**
 * Campaigns after `after`, in the order of their ids, that are being issued and have grants to release; none of a tenant
 * that has paused its bonuses.
 */
export async function selectReleasing(sql: Tx, after: string, limit: number): Promise<ReleasingCampaign[]> {
  return sql<ReleasingCampaign[]>`
    select c.tenant_id, c.project_id, c.campaign_id, c.rate_per_second, b.released_to
    from bonus_campaigns c
    cross join lateral (
      select b.released_to from bonus_campaign_budgets b
      where b.campaign_id = c.campaign_id and b.tenant_id = c.tenant_id and b.project_id = c.project_id offset 0) b
    where c.status = 'issuing' and c.finished_at is null and c.campaign_id > ${after}
      and exists (select from bonus_campaign_rows r
        where r.campaign_id = c.campaign_id and r.tenant_id = c.tenant_id and r.project_id = c.project_id
          and r.status = 'reserved' offset 0)
      and not exists (select from tenant_configs t
        where t.tenant_id = c.tenant_id and t.config -> 'bonuses' -> 'paused' = 'true' offset 0)
    order by c.campaign_id limit ${limit}`;
}

/** How many grants of the campaign were released and wait for a call: at most `most` are counted. */
export async function countWaiting(
  sql: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  most: number,
  parked_until: Date,
): Promise<number> {
  const [row] = await sql<{ waiting: number }[]>`
    select count(*)::integer as waiting from (
      select from bonus_grants g
      where g.campaign_id = ${campaign_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
        and g.status = 'pending' and g.outcome = 'unsent' and g.next_attempt_at < ${parked_until}
      limit ${most}) w`;
  return row?.waiting ?? 0;
}

/** Up to when the campaign's rate is used; only who holds the campaign's row changes it. */
export async function selectReleasedTo(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
): Promise<Date> {
  const [row] = await tx<{ released_to: Date }[]>`
    select b.released_to from bonus_campaign_budgets b
    where b.campaign_id = ${campaign_id} and b.tenant_id = ${tenant_id} and b.project_id = ${project_id}`;
  return row?.released_to ?? new Date(0);
}

/** Gives up to `limit` reserved grants to the sender; returns how many. */
export async function releaseReserved(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  limit: number,
  now: Date,
): Promise<number> {
  const [row] = await tx<{ released: number }[]>`
    with free as materialized (
      select g.grant_id, r.player_id from (
        select r.grant_id, r.player_id from bonus_campaign_rows r
        where r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
          and r.status = 'reserved'
        order by r.player_id
        limit ${limit}) r
      cross join lateral (
        select g.grant_id from bonus_grants g
        where g.grant_id = r.grant_id and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
          and g.status = 'pending'
        offset 0 for no key update of g skip locked) g),
    due as (
      update bonus_grants g set next_attempt_at = least(g.next_attempt_at, ${now}::timestamptz)
      from free
      where g.grant_id = free.grant_id and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}),
    given as (
      update bonus_campaign_rows r set status = 'sent'
      from free
      where r.player_id = free.player_id and r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id}
        and r.project_id = ${project_id} and r.status = 'reserved'
      returning 1)
    select count(*)::integer as released from given`;
  return row?.released ?? 0;
}

/** Notes up to when the campaign's rate is used. */
export async function noteReleased(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  released_to: Date,
): Promise<void> {
  await tx`
    update bonus_campaign_budgets set released_to = ${released_to}
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
}
