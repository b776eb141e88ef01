import { erfc } from '../experiments/statistics/distributions.ts';
import { rate } from './read.ts';

/** Recipients that a variant needs to be compared (spec part 8). */
const MINIMUM_SAMPLE = 30;

/** The recipients and conversions of a variant. */
export interface VariantSample {
  variant_id: string;
  recipients: number;
  conversions: number;
}

/** The winner of a comparison and its significance; null when fewer than two variants have enough recipients. */
export interface Comparison {
  winner_variant_id: string | null;
  significance: { test: 'two_proportion_z'; p_value: number } | null;
}

/**
 * Compares the variants with at least 30 recipients, if there are two: the one with the highest conversion rate wins; a
 * tie has no winner. The significance is that of the difference between the best two.
 */
export function compareVariants(outcomes: readonly VariantSample[]): Comparison {
  const [best, second] = outcomes
    .filter(({ recipients }) => recipients >= MINIMUM_SAMPLE)
    .sort((a, b) => byRate(b, a));
  if (best === undefined || second === undefined) return { winner_variant_id: null, significance: null };
  return {
    winner_variant_id: byRate(best, second) > 0 ? best.variant_id : null,
    significance: { test: 'two_proportion_z', p_value: twoProportionP(best, second) },
  };
}

/** Orders by conversion rate. Exact: it compares products of counts instead of quotients. */
function byRate(a: VariantSample, b: VariantSample): number {
  return Number(BigInt(a.conversions) * BigInt(b.recipients) - BigInt(b.conversions) * BigInt(a.recipients));
}

/**
 * The two-sided p-value: how likely a difference of at least this size is if both have the same (pooled) rate; 1 when
 * all or no recipients converted.
 */
export function twoProportionP(
  a: Omit<VariantSample, 'variant_id'>,
  b: Omit<VariantSample, 'variant_id'>,
): number {
  const pooled = rate(a.conversions + b.conversions, a.recipients + b.recipients);
  const variance = pooled * (1 - pooled) * (1 / a.recipients + 1 / b.recipients);
  if (!(variance > 0)) return 1;
  const z = (a.conversions / a.recipients - b.conversions / b.recipients) / Math.sqrt(variance);
  return erfc(Math.abs(z) / Math.SQRT2);
}
