import { z } from 'zod';
import { validationError } from '../../errors.ts';
import type { Experiment } from '../experiments/experiment.ts';
import { OWN_HOUR, populationOfCampaign, populationOfSendTime } from '../experiments/uplift-queries.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { PLAIN_PERCENT } from './send-time.ts';
import { selectLiveVariants, type CampaignRef, type CampaignRow } from './queries.ts';

/** How long money is measured where the campaign has no goal. */
const WINDOW_DAYS = 7;

/** The query of `GET /v1/campaigns/:id/uplift`. */
export const upliftQuery = z.strictObject({
  compare: z
    .enum(['holdout', 'send_time'])
    .default('holdout')
    .describe('`send_time`: own hours; `held_out` got it at once'),
});

/**
 * What of a campaign is compared. Rejects with VALIDATION_ERROR for the send time of a campaign without one.
 */
export async function comparisonOfCampaign(
  postgres: Postgres,
  ref: CampaignRef,
  campaign: CampaignRow,
  { compare }: z.infer<typeof upliftQuery>,
): Promise<Experiment> {
  const experiment = await experimentOfCampaign(postgres, ref, campaign);
  if (compare === 'holdout') return experiment;
  if (campaign.send_time === null)
    throw validationError([{ path: 'compare', message: 'the campaign has no send_time' }]);
  return {
    ...experiment,
    compares: 'send_time',
    population: populationOfSendTime(ref.campaign_id),
    holdout_percent: PLAIN_PERCENT,
    arms: [{ arm: OWN_HOUR, name: OWN_HOUR, weight: 1 }],
  };
}

/** A campaign as an experiment: its variants against those whom it holds out. */
export async function experimentOfCampaign(
  postgres: Postgres,
  ref: CampaignRef,
  campaign: CampaignRow,
): Promise<Experiment> {
  const { tenant_id, project_id, campaign_id } = ref;
  const { goal_event, goal_attribution_days, started_at, type, status, send_time } = campaign;
  const variants = await postgres.readAsTenant(tenant_id, (tx) => selectLiveVariants(tx, ref));
  // A weight that was changed meanwhile holds for some of the players only.
  const is_changed = variants.some(({ updated_at }) => started_at !== null && updated_at > started_at);
  return {
    tenant_id,
    project_id,
    kind: 'campaign',
    experiment_id: campaign_id,
    population: populationOfCampaign(campaign_id),
    looks: type === 'triggered' ? 'always' : 'once',
    is_running: status === 'draft' || status === 'scheduled' || status === 'sending',
    holdout_percent: campaign.holdout_percent,
    // Nobody is held out of service messages, so these are no arm.
    arms: variants
      .filter(({ is_service }) => !is_service)
      .map(({ variant_id, name, weight }) => ({
        arm: variant_id,
        name,
        weight: is_changed ? null : weight,
      })),
    goal: goal_event === null ? null : { event: goal_event, where: 'true', params: {} },
    // Messages at own hours go out up to a day after the draw, at which the window of every arm begins.
    window_days: (goal_attribution_days ?? WINDOW_DAYS) + (send_time === null ? 0 : 1),
  };
}
