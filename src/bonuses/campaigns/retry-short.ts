import { NIL_ID } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { DECIDE_BATCH } from './issue.ts';
import type { BonusCampaignRow } from './queries.ts';
import { endRetry, lockShortage, noteRetried, retryRows, type Shortage } from './retry-queries.ts';

/**
 * Lets a page of the omitted members, whose grants did not fit into the limits, be decided about again. It does so when
 * failed grants have given back enough for the cheapest of them. False: nobody is to be decided about. All of
 * them are gone through once, then the question is asked again; as what a failed grant gave back is taken once, it ends.
 * The transaction holds the campaign's row.
 */
export async function retryShort(tx: Tx, campaign: BonusCampaignRow): Promise<boolean> {
  for (;;) {
    const shortage = await lockShortage(tx, campaign, campaign.template_id);
    if (shortage === undefined) return false;
    const { retried_to } = shortage;
    if (!hasRoom(campaign, shortage)) {
      if (retried_to !== null) await endRetry(tx, campaign, false);
      return false;
    }
    const { rows, last } = await retryRows(tx, campaign, retried_to ?? NIL_ID, DECIDE_BATCH);
    if (rows > 0) {
      await noteRetried(tx, campaign, last);
      return true;
    }
    await endRetry(tx, campaign, true);
  }
}

/** Whether the cheapest grant that was omitted fits into what is left of the limits. */
function hasRoom(
  { max_liability, max_grants }: BonusCampaignRow,
  { short_cost_base, used_base, used_grants, template_used_base, template_budget_base }: Shortage,
): boolean {
  if (short_cost_base === null) return false;
  const cost = BigInt(short_cost_base);
  if (max_grants !== null && used_grants >= max_grants) return false;
  if (max_liability !== null && BigInt(used_base) + cost > max_liability) return false;
  return template_budget_base === null || BigInt(template_used_base) + cost <= BigInt(template_budget_base);
}
