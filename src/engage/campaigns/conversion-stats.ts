import type { Platform } from '../../platform/platform.ts';
import type { RecentAnswers } from '../../analytics/recent-answers.ts';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import { countConversions, countRecipients, type VariantConversions } from './stats-queries.ts';
import { selectLiveVariants, type CampaignRef, type CampaignRow } from './queries.ts';
import { rate } from './read.ts';
import { compareVariants } from './significance.ts';
import { jsonDigits, exactJson } from '../../platform/exact-json.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * The conversions of a campaign's variants (spec part 4), as JSON text, which keeps every digit of the values. Without
 * a goal there are no conversions and no winner. What is counted is at most 10 s old.
 */
export async function conversionStatsOf(
  { postgres, answers }: Pick<Platform, 'postgres'> & { answers: RecentAnswers },
  ref: CampaignRef,
  campaign: CampaignRow,
): Promise<string> {
  const { campaign_id, goal_event, goal_attribution_days, goal_value_property } = campaign;
  const window_ms = (goal_attribution_days ?? 0) * DAY_MS;
  const question = ['conversions', campaign_id, goal_event, window_ms, goal_value_property];
  const compute = async (clickhouse: ClickHouseQueries) =>
    JSON.stringify(
      goal_event === null
        ? await countRecipients(clickhouse, ref)
        : await countConversions(clickhouse, ref, {
            event: goal_event,
            window_ms,
            value_property: goal_value_property,
          }),
    );
  const [variants, { text }] = await Promise.all([
    postgres.readAsTenant(ref.tenant_id, (tx) => selectLiveVariants(tx, ref)),
    answers.of(ref, question, compute),
  ]);
  const counted = JSON.parse(text) as VariantConversions[];
  const by_id = new Map(counted.map((row) => [row.variant_id, row]));
  const outcomes = variants.map(({ variant_id, name, label, weight }) => {
    const row = by_id.get(variant_id);
    const [recipients, conversions] = [Number(row?.recipients ?? 0), Number(row?.conversions ?? 0)];
    const value = goal_value_property === null ? null : (row?.value ?? '0');
    return { variant_id, name, label, weight, recipients, conversions, value };
  });
  const { winner_variant_id, significance } =
    goal_event === null ? { winner_variant_id: null, significance: null } : compareVariants(outcomes);
  return exactJson({
    campaign_id,
    goal_event,
    goal_attribution_days,
    variants: outcomes.map(({ value, ...one }) => ({
      ...one,
      conversion_rate: rate(one.conversions, one.recipients),
      conversion_value: jsonDigits(value),
    })),
    winner_variant_id,
    significance,
  });
}
