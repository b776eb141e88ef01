import { requireRow } from '../../http/record.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { bonusCampaignJson, totalsOf } from './campaign-json.ts';
import { selectDayUse } from './daily-budget-queries.ts';
import { selectBonusCampaign, type BonusCampaignRef, type BonusCampaignRow } from './queries.ts';
import { countRows } from './stats-queries.ts';

/** The names of bonus campaigns in paths, ids and errors. */
export const BONUS_CAMPAIGN = {
  scope: 'project',
  noun: 'bonus campaign',
  id: 'campaign_id',
  not_found: 'BONUS_CAMPAIGN_NOT_FOUND',
} as const;

/** The campaign that the id names. Rejects with BONUS_CAMPAIGN_NOT_FOUND. */
export async function findBonusCampaign(
  postgres: Postgres,
  ref: BonusCampaignRef,
): Promise<BonusCampaignRow> {
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectBonusCampaign(tx, ref));
  return requireRow(BONUS_CAMPAIGN, ref, row);
}

/** Campaigns of one project as the API shows them. */
export async function showCampaigns(
  postgres: Postgres,
  project: ProjectRef,
  campaigns: readonly BonusCampaignRow[],
): Promise<ReturnType<typeof bonusCampaignJson>[]> {
  const ids = campaigns.map(({ campaign_id }) => campaign_id);
  if (ids.length === 0) return [];
  const { tenant_id } = project;
  const paced = campaigns.filter(({ daily_budget_base }) => daily_budget_base !== null);
  const [counted, uses] = await Promise.all([
    postgres.readAsTenant(tenant_id, (tx) => countRows(tx, project, ids)),
    paced.length === 0
      ? []
      : postgres.readAsTenant(tenant_id, (tx) =>
          selectDayUse(
            tx,
            project,
            paced.map(({ campaign_id }) => campaign_id),
          ),
        ),
  ]);
  return campaigns.map((row) =>
    bonusCampaignJson(
      row,
      totalsOf(
        row,
        counted.filter(({ campaign_id }) => campaign_id === row.campaign_id),
      ),
      uses.find(({ campaign_id }) => campaign_id === row.campaign_id),
    ),
  );
}
