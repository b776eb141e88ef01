import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** The key of a budget: `owner_id` is a template or a campaign. */
export interface BudgetKey extends ProjectRef {
  owner_id: string;
}

/** What grants cost, as a budget has it and as their rows say, in the smallest unit of the base currency. */
export interface BudgetCheck {
  used_base: string;
  cost_base: string;
}

function behind(sql: Tx, owner: 'template_id' | 'campaign_id', after: BudgetKey | undefined) {
  if (after === undefined) return sql``;
  return sql`and (b.${sql(owner)}, b.tenant_id, b.project_id)
    > (${after.owner_id}::uuid, ${after.tenant_id}::uuid, ${after.project_id}::uuid)`;
}

/** Templates that have a budget's row behind `after`, in the order of their keys, of one tenant or of all. */
export function selectTemplateBudgets(
  sql: Tx,
  tenant_id: string | undefined,
  after: BudgetKey | undefined,
  limit: number,
): Promise<BudgetKey[]> {
  return sql<BudgetKey[]>`
    select b.tenant_id, b.project_id, b.template_id as owner_id from bonus_budgets b
    where true ${tenant_id === undefined ? sql`` : sql`and b.tenant_id = ${tenant_id}`}
      ${behind(sql, 'template_id', after)}
    order by b.template_id, b.tenant_id, b.project_id limit ${limit}`;
}

/**
 * What a template's grants cost, and what is held for reserved members of its campaigns, by its budget and by their rows:
 * both as of one moment. Only a campaign that is not finished has reserved members.
 */
export async function selectTemplateCheck(
  sql: Tx,
  { tenant_id, project_id, owner_id }: BudgetKey,
): Promise<BudgetCheck | undefined> {
  const [row] = await sql<BudgetCheck[]>`
    select b.used_base::text as used_base, (
      select (coalesce(sum(g.bonus_amount_base), 0) + (
        select coalesce(sum(r.cost_base), 0) from bonus_campaigns c
        cross join lateral (
          select r.cost_base from bonus_campaign_rows r
          where r.campaign_id = c.campaign_id and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
            and r.status = 'reserved' offset 0) r
        where c.template_id = ${owner_id} and c.tenant_id = ${tenant_id} and c.project_id = ${project_id}
          and c.status in ('issuing', 'paused', 'cancelled') and c.finished_at is null))::text
      from bonus_grants g
      where g.template_id = ${owner_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
        and g.status not in ('cancelled', 'failed')) as cost_base
    from bonus_budgets b
    where b.template_id = ${owner_id} and b.tenant_id = ${tenant_id} and b.project_id = ${project_id}`;
  return row;
}

/** Campaigns behind `after` that are not finished, or since `finished_from`; otherwise as for templates. */
export function selectCampaignBudgets(
  sql: Tx,
  tenant_id: string | undefined,
  after: BudgetKey | undefined,
  finished_from: Date,
  limit: number,
): Promise<BudgetKey[]> {
  return sql<BudgetKey[]>`
    select b.tenant_id, b.project_id, b.campaign_id as owner_id from bonus_campaign_budgets b
    cross join lateral (
      select from bonus_campaigns c
      where c.tenant_id = b.tenant_id and c.project_id = b.project_id and c.campaign_id = b.campaign_id
        and (c.finished_at is null or c.finished_at > ${finished_from}) offset 0) c
    where true ${tenant_id === undefined ? sql`` : sql`and b.tenant_id = ${tenant_id}`}
      ${behind(sql, 'campaign_id', after)}
    order by b.campaign_id, b.tenant_id, b.project_id limit ${limit}`;
}

/**
 * What a campaign's grants cost, by its limits and by the rows of its members: both as of one moment. The row of a member
 * has the cost while it is reserved and once it is granted; between that, the grant has it.
 */
export async function selectCampaignCheck(
  sql: Tx,
  { tenant_id, project_id, owner_id }: BudgetKey,
): Promise<BudgetCheck | undefined> {
  const [row] = await sql<BudgetCheck[]>`
    select b.used_base::text as used_base, (
      select coalesce(sum(case when r.status = 'sent' then g.bonus_amount_base else r.cost_base end), 0)::text
      from bonus_campaign_rows r
      left join lateral (
        select g.bonus_amount_base from bonus_grants g
        where r.status = 'sent' and g.grant_id = r.grant_id and g.tenant_id = ${tenant_id}
          and g.project_id = ${project_id} offset 0) g on true
      where r.campaign_id = ${owner_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
        and r.status in ('reserved', 'sent', 'granted')) as cost_base
    from bonus_campaign_budgets b
    where b.campaign_id = ${owner_id} and b.tenant_id = ${tenant_id} and b.project_id = ${project_id}`;
  return row;
}
