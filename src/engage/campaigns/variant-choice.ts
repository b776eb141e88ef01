import { bucketOf } from '../../platform/bucket.ts';

/** A variant with the fields that the choice needs. `weight` is a positive integer below 2^31. */
export interface WeightedVariant {
  variant_id: string;
  weight: number;
  sort_order: number;
}

/**
 * The variant that each player gets in a campaign: variants in order of `sort_order`, then id, share the buckets by
 * weight. The same player and variants give the same one. Throws a RangeError for no variants.
 */
export function variantChooser<T extends WeightedVariant>(
  campaign_id: string,
  variants: readonly T[],
): (player_id: string) => T {
  const inOrder = variants.toSorted(byOrder);
  const total = variants.reduce((sum, { weight }) => sum + weight, 0);
  return (player_id) => {
    const bucket = bucketOf(`${campaign_id}:${player_id}`.toLowerCase(), total);
    let below = 0;
    for (const variant of inOrder) {
      below += variant.weight;
      if (bucket < below) return variant;
    }
    throw new RangeError('a campaign without a variant of some weight');
  };
}

function byOrder(a: WeightedVariant, b: WeightedVariant): number {
  if (a.sort_order !== b.sort_order) return a.sort_order - b.sort_order;
  return a.variant_id < b.variant_id ? -1 : 1;
}
