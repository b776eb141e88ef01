import { ApiError } from '../../errors.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { selectCampaign, type CampaignRef, type CampaignRow } from './queries.ts';

/** The campaign that the id names, deleted or not. Rejects with CAMPAIGN_NOT_FOUND. */
export async function findCampaign(postgres: Postgres, ref: CampaignRef): Promise<CampaignRow> {
  if (!isUuid(ref.campaign_id)) throw campaignNotFound(ref.campaign_id);
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectCampaign(tx, ref));
  if (row === undefined) throw campaignNotFound(ref.campaign_id);
  return row;
}

/** The campaign that the id names. Rejects with CAMPAIGN_NOT_FOUND, also when it is deleted. */
export async function requireCampaign(postgres: Postgres, ref: CampaignRef): Promise<CampaignRow> {
  const row = await findCampaign(postgres, ref);
  if (row.deleted_at !== null) throw campaignNotFound(ref.campaign_id);
  return row;
}

/** CAMPAIGN_NOT_FOUND; the message names the id (spec part 7). */
export function campaignNotFound(campaign_id: string): ApiError {
  return new ApiError('CAMPAIGN_NOT_FOUND', `campaign ${campaign_id.slice(0, 64)} does not exist`);
}

/** VARIANT_NOT_FOUND; the message names the id (spec part 7). */
export function variantNotFound(variant_id: string): ApiError {
  return new ApiError('VARIANT_NOT_FOUND', `variant ${variant_id.slice(0, 64)} does not exist`);
}
