import type { Tx } from '../../platform/postgres/port.ts';
import type { Statements } from './apply-queries.ts';
import {
  correctCampaignBudgets,
  updateCampaignRows,
  type SettledRow,
} from './campaign-settlement-queries.ts';
import { isRecheckReason, PLAYER_EXCLUDED, type GrantRow } from './grant-row.ts';
import { isCounted, isLive } from './transition.ts';

/** A grant before and after what changes it. */
export interface ChangedGrant {
  before: GrantRow;
  grant: GrantRow;
}

/** What changes of grants mean to the campaigns that issued them, in the transaction of the changes. */
export function settleInCampaigns(tx: Tx, changed: readonly ChangedGrant[]): Statements {
  const of_campaigns = changed.filter(({ grant }) => grant.campaign_id !== null);
  const cost = (row: GrantRow) => (isCounted(row.status) ? row.bonus_amount_base : 0n);
  const corrections = of_campaigns.map(({ before, grant }) => ({
    tenant_id: grant.tenant_id,
    project_id: grant.project_id,
    grant_id: grant.grant_id,
    campaign_id: grant.campaign_id ?? '',
    base: cost(grant) - cost(before),
    grants: Number(isCounted(grant.status)) - Number(isCounted(before.status)),
  }));
  const ended = of_campaigns.filter(({ grant }) => grant.status !== 'pending');
  // The budgets last: such a row is that of every grant of the campaign.
  return [
    ...updateCampaignRows(
      tx,
      ended.map(({ grant }) => settledOf(grant)),
    ),
    ...correctCampaignBudgets(tx, corrections),
  ];
}

/** What the member of a campaign has got by a grant that is not pending. */
function settledOf(grant: GrantRow): SettledRow {
  const { status, status_reason, bonus_amount_base, released_amount_base } = grant;
  const counted = isCounted(status);
  const is_granted = counted || (status === 'cancelled' && grant.activated_at !== null);
  return {
    tenant_id: grant.tenant_id,
    project_id: grant.project_id,
    grant_id: grant.grant_id,
    player_id: grant.player_id,
    updated_at: grant.updated_at,
    status: is_granted ? 'granted' : status === 'failed' ? 'failed' : 'skipped',
    code: is_granted ? null : status === 'failed' ? (status_reason ?? 'UNKNOWN') : skipCodeOf(grant),
    is_by_protection: status_reason === PLAYER_EXCLUDED,
    cost_base: counted ? bonus_amount_base : 0n,
    released_base: counted ? (released_amount_base ?? 0n) : 0n,
    is_open: isLive(status),
  };
}

/** The code of a member whose grant was cancelled before it was sent; `PLAYER_EXCLUDED` is looked up with the player. */
function skipCodeOf({ status_reason }: GrantRow): string {
  return status_reason !== null && isRecheckReason(status_reason) ? status_reason : 'CANCELLED';
}
