import type { PendingQuery } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { BudgetDay } from './pacing.ts';
import type { BonusCampaignRef } from './queries.ts';
import { dayColumns } from './reserve-queries.ts';

/** The use of a campaign's daily budget: the day of it as `bonus_campaign_budgets` has it. */
export interface DayUse {
  campaign_id: string;
  day_from: Date;
  day_to: Date;
  /** Digits, in the smallest unit of the base currency. */
  day_used: string;
  /** Null: no member waits for it. */
  waits_until: Date | null;
}

/** The use of the daily budgets of campaigns, of those that have been decided about. */
export function selectDayUse(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  campaign_ids: readonly string[],
): PendingQuery<DayUse[]> {
  return tx<DayUse[]>`
    select b.campaign_id, b.day_from, b.day_to, b.day_used_base::text as day_used, b.waits_until
    from unnest(${plainArray(campaign_ids)}::text::uuid[]) as asked (campaign_id)
    cross join lateral (
      select * from bonus_campaign_budgets b
      where b.campaign_id = asked.campaign_id and b.tenant_id = ${tenant_id} and b.project_id = ${project_id} offset 0) b
    where b.day_from is not null and b.day_to is not null`;
}

/** Whether the campaign's members wait for the daily budget at `now`. */
export async function selectIsWaiting(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  now: Date,
): Promise<boolean> {
  const rows = await tx`
    select from bonus_campaign_budgets b
    where b.campaign_id = ${campaign_id} and b.tenant_id = ${tenant_id} and b.project_id = ${project_id}
      and b.waits_until > ${now}`;
  return rows.length > 0;
}

/** Notes until when the members of the campaign wait for the daily budget, and the day of it; the row is locked. */
export async function updateWait(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  day: BudgetDay,
  waits_until: Date,
): Promise<void> {
  await tx`
    update bonus_campaign_budgets set ${dayColumns(tx, day)}, waits_until = ${waits_until}
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/** The zone by whose clocks a project's profile was counted, and its hours; null: there was too little activity. */
export interface StoredProfile {
  timezone: string;
  hours: readonly number[] | null;
}

/** The profile of a project's activity; undefined: it was not counted yet. */
export async function selectProfile(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
): Promise<StoredProfile | undefined> {
  const [row] = await tx<{ timezone: string; hours: string[] | null }[]>`
    select timezone, hours::text[] as hours from activity_profiles
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
  return row && { timezone: row.timezone, hours: row.hours?.map(Number) ?? null };
}
