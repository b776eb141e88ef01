/** A variant with the fields that the choice needs. `weight` is a positive integer below 2^31. */
export interface WeightedVariant {
  variant_id: string;
  weight: number;
  sort_order: number;
}

/** The 32-bit FNV-1a hash of the text's UTF-8. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** MurmurHash3's finaliser: each bit of the hash affects each bit of the result. */
export function fmix32(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * Which of `total` equal parts a player falls into in a campaign: 0 … total − 1, always the same.
 *
 * FNV-1a alone is not enough. Its lowest bit is the parity of the input's bytes, so `hash % 2` puts a player into the
 * same arm of every campaign, or always into the other; and its upper bits correlate between campaigns.
 */
export function bucketOf(campaign_id: string, player_id: string, total: number): number {
  const hash = fmix32(fnv1a(`${campaign_id}:${player_id}`.toLowerCase()));
  // BigInt, because the product of 32 bits and a sum of weights may exceed 2^53.
  return Number((BigInt(hash) * BigInt(total)) >> 32n);
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
    const bucket = bucketOf(campaign_id, player_id, total);
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
