import { plainArray, textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { correctBudget } from '../grants/apply-queries.ts';
import { lockBudgets } from '../grants/reserve-queries.ts';
import type { BonusCampaignRef, BonusCampaignRow } from './queries.ts';
import type { Used } from './room.ts';

/** Members of a campaign that wait for a decision, in the order of their ids; `only`: this one. */
export async function selectPending(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  { limit, only }: { limit: number; only?: string | undefined },
): Promise<string[]> {
  const rows = await tx<{ player_id: string }[]>`
    select r.player_id from bonus_campaign_rows r
    where r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
      and r.status = 'pending' ${only === undefined ? tx`` : tx`and r.player_id = ${only}`}
    order by r.player_id limit ${limit}`;
  return rows.map(({ player_id }) => player_id);
}

/** What the limits hold, locked until the transaction ends. */
export async function lockUsed(tx: Tx, campaign: BonusCampaignRow): Promise<Used> {
  const { tenant_id, project_id, campaign_id, template_id } = campaign;
  const templates = await lockBudgets(tx, [{ tenant_id, project_id, template_id }]);
  const [own] = await tx<{ used: string; grants: number }[]>`
    select used_base::text as used, used_grants as grants from bonus_campaign_budgets
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
    for no key update`;
  return {
    template_base: templates.get(template_id) ?? 0n,
    campaign_base: BigInt(own?.used ?? 0),
    campaign_grants: own?.grants ?? 0,
  };
}

/** What the limits hold now. */
export async function readUsed(
  tx: Tx,
  { tenant_id, project_id, campaign_id, template_id }: BonusCampaignRow,
): Promise<Used> {
  const [row] = await tx<{ template: string | null; used: string | null; grants: number | null }[]>`
    select
      (select used_base::text from bonus_budgets
        where template_id = ${template_id} and tenant_id = ${tenant_id} and project_id = ${project_id}) as template,
      b.used_base::text as used, b.used_grants as grants
    from (select) one left join bonus_campaign_budgets b
      on b.campaign_id = ${campaign_id} and b.tenant_id = ${tenant_id} and b.project_id = ${project_id}`;
  return {
    template_base: BigInt(row?.template ?? 0),
    campaign_base: BigInt(row?.used ?? 0),
    campaign_grants: row?.grants ?? 0,
  };
}

/** Adds to what the locked limits hold. */
export async function addUsed(
  tx: Tx,
  campaign: BonusCampaignRow,
  base: bigint,
  grants: number,
): Promise<void> {
  const { tenant_id, project_id, campaign_id } = campaign;
  await correctBudget(tx, campaign, base);
  await tx`
    update bonus_campaign_budgets set
      used_base = used_base + ${String(base)}::text::numeric, used_grants = used_grants + ${grants}
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/**
 * Notes the least that a grant costs of those that did not fit into the limits: of all members, or of those who are
 * decided about again.
 */
export async function noteShort(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  cost_base: bigint,
): Promise<void> {
  await tx`
    update bonus_campaign_budgets b set
      short_cost_base = case when b.retried_to is null then least(b.short_cost_base, ${String(cost_base)}::text::numeric)
        else b.short_cost_base end,
      retry_cost_base = case when b.retried_to is null then null
        else least(b.retry_cost_base, ${String(cost_base)}::text::numeric) end
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/** What was decided about a member. */
export interface DecidedRow {
  player_id: string;
  status: 'reserved' | 'skipped';
  code: string | null;
  grant_id: string | null;
}

/** Writes what was decided about pending members. */
export async function updateDecided(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  rows: readonly DecidedRow[],
): Promise<void> {
  await tx`
    update bonus_campaign_rows r set status = d.status, code = d.code, grant_id = d.grant_id
    from unnest(
      ${plainArray(rows.map(({ player_id }) => player_id))}::text::uuid[],
      ${textArray(rows.map(({ status }) => status))}::text::text[],
      ${textArray(rows.map(({ code }) => code))}::text::text[],
      ${plainArray(rows.map(({ grant_id }) => grant_id))}::text::uuid[]) as d (player_id, status, code, grant_id)
    where r.player_id = d.player_id and r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id}
      and r.project_id = ${project_id} and r.status = 'pending'`;
}
