import type { Db } from '../src/platform/postgres/port.ts';

/** What of a campaign is still to be done; two look-ups in indexes, so that asking costs nothing. */
export async function isReserving(sql: Db, campaign_id: string): Promise<boolean> {
  const rows = await sql`
    select from bonus_campaigns c where c.campaign_id = ${campaign_id} and (not c.is_filled or exists (
      select from bonus_campaign_rows r where r.campaign_id = c.campaign_id and r.status = 'pending'))`;
  return rows.length > 0;
}

/** What became of the members of a campaign. */
export async function countMembersOf(
  sql: Db,
  campaign_id: string,
): Promise<{ rows: number; reserved: number; over_budget: number }> {
  const [row] = await sql<{ rows: number; reserved: number; over_budget: number }[]>`
    select count(*)::integer as rows, (count(*) filter (where status = 'reserved'))::integer as reserved,
      (count(*) filter (where status = 'skipped' and code = 'BUDGET'))::integer as over_budget
    from bonus_campaign_rows where campaign_id = ${campaign_id}`;
  return row ?? { rows: 0, reserved: 0, over_budget: 0 };
}

/**
 * What the grants of a campaign cost, in the smallest unit of the base currency: by the grants, by the row of the
 * template's budget, and by that of the campaign.
 */
export async function costsOf(
  sql: Db,
  { campaign_id, template_id }: { campaign_id: string; template_id: string },
): Promise<{ grants: number; by_grants: bigint; by_template: bigint; by_campaign: bigint }> {
  const [row] = await sql<{ grants: number; by_grants: string; by_template: string; by_campaign: string }[]>`
    select g.grants, g.by_grants,
      (select used_base::text from bonus_budgets where template_id = ${template_id}) as by_template,
      (select used_base::text from bonus_campaign_budgets where campaign_id = ${campaign_id}) as by_campaign
    from (
      select count(*)::integer as grants, coalesce(sum(bonus_amount_base), 0)::text as by_grants from bonus_grants
      where campaign_id = ${campaign_id}) g`;
  if (row === undefined) throw new Error('the costs of a campaign could not be read');
  const { grants, by_grants, by_template, by_campaign } = row;
  return {
    grants,
    by_grants: BigInt(by_grants),
    by_template: BigInt(by_template),
    by_campaign: BigInt(by_campaign),
  };
}
