import { NotCaughtUp } from '../../analytics/caught-up.ts';
import { ApiError } from '../../errors.ts';
import { notFound, requireRow } from '../../http/record.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { selectPlayer } from '../../players/profile/queries.ts';
import { playerNotFound, withSurvivor } from '../../players/profile/read.ts';
import { requireStatus } from './change.ts';
import { BONUS_CAMPAIGN, findBonusCampaign } from './read.ts';
import { selectProjectOfCampaign, type BonusCampaignRef } from './queries.ts';
import { decideStep, type DecideDeps } from './decide-step.ts';
import { releaseMember } from './release.ts';
import { selectMemberRow } from './work-queries.ts';

/** What a member of a campaign got. */
export interface MemberOutcome {
  grant_id: string | null;
  outcome: 'granted' | 'pending' | 'skipped' | 'failed';
  code?: string;
}

/**
 * Decides about one member of a campaign that is being issued, if that was not done, and makes its grant; the sender sends
 * it. `grant_id` stays null while the campaign or the tenant's bonuses are paused, the player is being changed, or what its bets count. However
 * often it is called, the member has at most one. The id of a player who was merged means the survivor, unless the campaign
 * has a row of its own for it. A player without a row is not a member: skipped as NOT_IN_SEGMENT. Rejects with
 * BONUS_CAMPAIGN_NOT_FOUND, BONUS_CAMPAIGN_INVALID_STATUS (a draft or scheduled campaign has no members yet),
 * PLAYER_NOT_FOUND (unknown or deleted, unless the campaign has a row of it), BONUS_TEMPLATE_NOT_FOUND,
 * BONUS_TEMPLATE_NOT_ACTIVE, BONUS_CONFIG_INVALID, ADAPTER_UNAVAILABLE, VALIDATION_ERROR (a currency that the catalogue lost) or SERVICE_UNAVAILABLE.
 */
export async function grantToMember(
  deps: DecideDeps,
  { tenant_id, campaign_id, player_id }: { tenant_id: string; campaign_id: string; player_id: string },
): Promise<MemberOutcome> {
  const { postgres } = deps;
  const project_id = await selectProjectOfCampaign(postgres.service, tenant_id, campaign_id);
  if (project_id === undefined) throw notFound(BONUS_CAMPAIGN, campaign_id);
  const ref = { tenant_id, project_id, campaign_id };
  const campaign = requireRow(BONUS_CAMPAIGN, ref, await findBonusCampaign(postgres, ref));
  requireStatus(campaign, ['issuing', 'paused', 'issued', 'cancelled'], 'granted to a member');
  const player = { tenant_id, project_id, player_id };
  const before = await findMember(postgres, ref, player);
  if (before === undefined) {
    await requireLivePlayer(postgres, player);
    return { grant_id: null, outcome: 'skipped', code: 'NOT_IN_SEGMENT' };
  }
  if (before.status === 'pending' && campaign.status === 'issuing') {
    await decideStep(deps, campaign, { only: before.player_id }).catch((error: unknown) => {
      if (!(error instanceof NotCaughtUp)) throw error;
      throw new ApiError('SERVICE_UNAVAILABLE', error.message, { retry_after_s: 5, cause: error });
    });
  }
  const decided = (await findMember(postgres, ref, player)) ?? before;
  const is_to_release = decided.status === 'reserved' && campaign.status === 'issuing';
  if (is_to_release) await releaseMember(deps, ref, decided.player_id);
  const { status, code, grant_id } = (is_to_release && (await findMember(postgres, ref, player))) || decided;
  const outcome = status === 'granted' || status === 'skipped' || status === 'failed' ? status : 'pending';
  return { grant_id, outcome, ...(code === null ? {} : { code }) };
}

/** The row of a member and its id; undefined for a player who is not a member. */
function findMember(postgres: Postgres, ref: BonusCampaignRef, player: PlayerRef) {
  return withSurvivor(postgres, player, async ({ player_id }) => {
    const row = await selectMemberRow(postgres.service, ref, player_id);
    return row === undefined ? undefined : { ...row, player_id };
  }).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'PLAYER_NOT_FOUND') return undefined;
    throw error;
  });
}

/** Throws PLAYER_NOT_FOUND unless the player, or the survivor of a merged one, is there and not deleted. */
async function requireLivePlayer(postgres: Postgres, player: PlayerRef): Promise<void> {
  const { deleted_at } = await withSurvivor(postgres, player, async (one) => {
    const [row] = await postgres.readAsTenant(one.tenant_id, (tx) => selectPlayer(tx, one));
    return row;
  });
  if (deleted_at !== null) throw playerNotFound(player.player_id);
}
