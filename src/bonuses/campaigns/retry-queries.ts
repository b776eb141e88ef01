import type { Tx } from '../../platform/postgres/port.ts';
import type { BonusCampaignRef } from './queries.ts';

/** The members who were omitted because their grants did not fit into the limits; amounts as in the budgets' rows. */
export interface Shortage {
  short_cost_base: string | null;
  retried_to: string | null;
  used_base: string;
  used_grants: number;
  template_used_base: string;
  /** Null: no limit. */
  template_budget_base: string | null;
}

/** What was omitted, and what the limits hold now; the campaign's row of it is locked until the transaction ends. */
export async function lockShortage(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  template_id: string,
): Promise<Shortage | undefined> {
  const isMine = tx`b.campaign_id = ${campaign_id} and b.tenant_id = ${tenant_id} and b.project_id = ${project_id}`;
  const isTemplate = tx`t.template_id = ${template_id} and t.tenant_id = ${tenant_id} and t.project_id = ${project_id}`;
  const [, [row]] = await Promise.all([
    tx`select from bonus_campaign_budgets b where ${isMine} for no key update`,
    tx<Shortage[]>`
      select b.short_cost_base::text as short_cost_base, b.retried_to, b.used_base::text as used_base, b.used_grants,
        coalesce((select t.used_base from bonus_budgets t where ${isTemplate}), 0)::text as template_used_base,
        (select t.budget_base::text from bonus_templates t where ${isTemplate}) as template_budget_base
      from bonus_campaign_budgets b where ${isMine}`,
  ]);
  return row;
}

/** Lets the next omitted members after `after` be decided about again; returns the last of them. */
export async function retryRows(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  after: string,
  limit: number,
): Promise<{ rows: number; last: string | null }> {
  const [found] = await tx<{ rows: number; last: string | null }[]>`
    with chosen as materialized (
      select r.player_id, r.ctid from bonus_campaign_rows r
      where r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
        and r.status = 'skipped' and r.code = 'BUDGET' and r.player_id > ${after}
      order by r.player_id limit ${limit} for no key update),
    changed as (
      update bonus_campaign_rows r set status = 'pending', code = null
      from chosen
      where r.ctid = chosen.ctid and r.status = 'skipped')
    select count(*)::integer as rows, (select player_id from chosen order by player_id desc limit 1) as last
    from chosen`;
  return found ?? { rows: 0, last: null };
}

/** Notes behind whom members are decided about again. */
export async function noteRetried(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  retried_to: string | null,
): Promise<void> {
  await tx`
    update bonus_campaign_budgets b set retried_to = ${retried_to}::uuid
    where b.campaign_id = ${campaign_id} and b.tenant_id = ${tenant_id} and b.project_id = ${project_id}`;
}

/**
 * Notes that members are not decided about again any more. `is_through`: all were, and what the cheapest of those costs
 * who were omitted is known; otherwise some may still cost as little as before.
 */
export async function endRetry(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  is_through: boolean,
): Promise<void> {
  await tx`
    update bonus_campaign_budgets b set
      retried_to = null, retry_cost_base = null,
      short_cost_base = ${is_through ? tx`b.retry_cost_base` : tx`least(b.short_cost_base, b.retry_cost_base)`}
    where b.campaign_id = ${campaign_id} and b.tenant_id = ${tenant_id} and b.project_id = ${project_id}`;
}
