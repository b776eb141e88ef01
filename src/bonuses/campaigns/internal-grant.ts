import { notFound, requireRow } from '../../http/record.ts';
import { NotCaughtUp } from '../../analytics/caught-up.ts';
import { ApiError } from '../../errors.ts';
import { BONUS_CAMPAIGN, findBonusCampaign } from './read.ts';
import { selectProjectOfCampaign } from './queries.ts';
import { decideStep, type DecideDeps } from './decide-step.ts';
import { selectMemberRow } from './work-queries.ts';

/** What a member of a campaign got. */
export interface MemberOutcome {
  grant_id: string | null;
  outcome: 'granted' | 'pending' | 'skipped' | 'failed';
  code?: string;
}

/**
 * Decides about one member of a campaign that is being issued, if that was not done; the sender sends its grant. However
 * often it is called, the member has at most one. A player without a row is no member: skipped as NOT_IN_SEGMENT. Rejects
 * with BONUS_CAMPAIGN_NOT_FOUND and the errors of issuing.
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
  const before = await selectMemberRow(postgres.service, ref, player_id);
  if (before === undefined) return { grant_id: null, outcome: 'skipped', code: 'NOT_IN_SEGMENT' };
  if (before.status === 'pending' && campaign.status === 'issuing') {
    await decideStep(deps, campaign, { only: player_id }).catch((error: unknown) => {
      if (!(error instanceof NotCaughtUp)) throw error;
      throw new ApiError('SERVICE_UNAVAILABLE', error.message, { retry_after_s: 5, cause: error });
    });
  }
  const { status, code, grant_id } = (await selectMemberRow(postgres.service, ref, player_id)) ?? before;
  const outcome = status === 'granted' || status === 'skipped' || status === 'failed' ? status : 'pending';
  return { grant_id, outcome, ...(code === null ? {} : { code }) };
}
