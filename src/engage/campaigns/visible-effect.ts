import { powerOf } from '../experiments/statistics/power.ts';
import { smallestRateEffect } from '../../platform/statistics/smallest-effect.ts';
import type { Platform } from '../../platform/platform.ts';
import type { CampaignRef, CampaignRow } from './queries.ts';
import { countGoalMembers } from './visible-effect-queries.ts';

const DAY_MS = 86_400_000;

/** What a campaign can show before it is sent. Rates and effects are shares: 0.025 is 2.5 points. */
export interface VisibleEffect {
  /** How many of those who pass the gate are held out, on average. */
  held_out: number;
  /** The share of members with the goal event in the last `goal_attribution_days`. */
  base_rate: number;
  /** The smallest difference that it is planned for; null: too few players, or a base rate of 0 or 1. */
  smallest_effect: number | null;
  /** In how many of such campaigns, as a share, this difference is found. */
  power: number | null;
}

/** Null for a campaign that holds nobody out, has no goal, or whose players events find later. */
export async function visibleEffectOf(
  { clickhouse, clock }: Pick<Platform, 'clickhouse' | 'clock'>,
  ref: CampaignRef,
  campaign: CampaignRow,
  { members, sendable }: { members: number; sendable: number },
): Promise<VisibleEffect | null> {
  const { holdout_percent, goal_event, goal_attribution_days, segment_id, type } = campaign;
  if (holdout_percent === 0 || goal_event === null || segment_id === null || type === 'triggered')
    return null;
  const since_ms = clock.now_ms() - (goal_attribution_days ?? 0) * DAY_MS;
  const with_goal = await countGoalMembers(clickhouse, ref, { segment_id, event: goal_event, since_ms });
  const base_rate = members === 0 ? 0 : Math.min(with_goal / members, 1);
  const held_out = Math.round((sendable * holdout_percent) / 100);
  const arms = { treated: sendable - held_out, held_out };
  const smallest_effect = smallestRateEffect(base_rate, arms);
  const power =
    smallest_effect === null || base_rate + smallest_effect >= 1
      ? null
      : powerOf(base_rate, smallest_effect, arms);
  return { held_out, base_rate, smallest_effect, power };
}
