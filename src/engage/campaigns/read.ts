import { requireLiveRow, requireRow } from '../../http/record.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { selectCampaign, type CampaignRef, type CampaignRow } from './queries.ts';

/** The names of campaigns in paths, ids and errors. */
export const CAMPAIGN = {
  scope: 'project',
  noun: 'campaign',
  id: 'campaign_id',
  not_found: 'CAMPAIGN_NOT_FOUND',
} as const;

/** The names of variants in paths, ids and errors. */
export const VARIANT = {
  scope: 'project',
  noun: 'variant',
  id: 'variant_id',
  not_found: 'VARIANT_NOT_FOUND',
} as const;

/** The campaign that the id names, deleted or not. Rejects with CAMPAIGN_NOT_FOUND. */
export async function findCampaign(postgres: Postgres, ref: CampaignRef): Promise<CampaignRow> {
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectCampaign(tx, ref));
  return requireRow(CAMPAIGN, ref, row);
}

/** The campaign that the id names. Rejects with CAMPAIGN_NOT_FOUND, also when it is deleted. */
export async function requireCampaign(postgres: Postgres, ref: CampaignRef): Promise<CampaignRow> {
  return requireLiveRow(CAMPAIGN, ref, await findCampaign(postgres, ref));
}
