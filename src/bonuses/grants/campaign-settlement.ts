import type { Tx } from '../../platform/postgres/port.ts';
import { correctCampaignBudget, updateCampaignRow } from './campaign-settlement-queries.ts';
import { isRecheckReason, PLAYER_EXCLUDED, type GrantRow } from './grant-row.ts';
import { isCounted, isLive } from './transition.ts';

/** What a change of a grant means to the campaign that issued it, in the transaction of the change. */
export async function settleInCampaign(tx: Tx, before: GrantRow, grant: GrantRow): Promise<void> {
  const { status, status_reason, bonus_amount_base, released_amount_base } = grant;
  const counted = isCounted(status);
  const cost = (row: GrantRow) => (isCounted(row.status) ? row.bonus_amount_base : 0n);
  const is_granted =
    status !== 'pending' && (counted || (status === 'cancelled' && grant.activated_at !== null));
  if (status !== 'pending') {
    await updateCampaignRow(tx, grant, {
      status: is_granted ? 'granted' : status === 'failed' ? 'failed' : 'skipped',
      code: is_granted ? null : status === 'failed' ? (status_reason ?? 'UNKNOWN') : skipCodeOf(grant),
      is_by_protection: status_reason === PLAYER_EXCLUDED,
      cost_base: counted ? bonus_amount_base : 0n,
      released_base: counted ? (released_amount_base ?? 0n) : 0n,
      is_open: isLive(status),
    });
  }
  // Last: the row is that of every grant of the campaign.
  await correctCampaignBudget(tx, grant, {
    base: cost(grant) - cost(before),
    grants: Number(counted) - Number(isCounted(before.status)),
  });
}

/** The code of a member whose grant was cancelled before it was sent; `PLAYER_EXCLUDED` is looked up with the player. */
function skipCodeOf({ status_reason }: GrantRow): string {
  return status_reason !== null && isRecheckReason(status_reason) ? status_reason : 'CANCELLED';
}
