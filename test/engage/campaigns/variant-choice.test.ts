import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { variantChooser } from '../../../src/engage/campaigns/fan-out.ts';
import { bucketOf, fmix32 } from '../../../src/platform/bucket.ts';

/** Ids of the form that the service generates, the same in every run. */
function idsFrom(seed: number, count: number): string[] {
  let state = seed;
  const word = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return fmix32(state).toString(16).padStart(8, '0');
  };
  return Array.from({ length: count }, () => {
    const hex = word() + word() + word() + word();
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  });
}

const variant = (variant_id: string, weight: number, sort_order = 0) => ({ variant_id, weight, sort_order });

function chiSquared(counts: readonly number[], expected: readonly number[]): number {
  return counts.reduce((sum, count, i) => sum + (count - expected[i]!) ** 2 / expected[i]!, 0);
}

it('does not depend on the spelling of the ids or the order of the variants', () => {
  const variants = [variant('b', 3, 1), variant('a', 2, 1), variant('c', 5, 0)];
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), fc.shuffledSubarray(variants, { minLength: 3 }), (c, p, shuffled) => {
      const chosen = variantChooser(c, variants)(p);
      expect(variantChooser(c.toUpperCase(), shuffled)(p.toUpperCase())).toBe(chosen);
      // Ordered by sort_order, then id: c has the buckets 0 … 4, a has 5 and 6, b has the rest.
      const bucket = bucketOf(`${c}:${p}`.toLowerCase(), 10);
      expect(chosen.variant_id).toBe(bucket < 5 ? 'c' : bucket < 7 ? 'a' : 'b');
    }),
  );
});

it('throws without variants', () => {
  expect(() => variantChooser('c', [])('p')).toThrow(RangeError);
});

it('splits players by weight in every campaign', () => {
  const variants = [variant('a', 50, 0), variant('b', 30, 1), variant('c', 20, 2)];
  const players = idsFrom(1, 5_000);
  const values = idsFrom(2, 100).map((campaign_id) => {
    const counts = [0, 0, 0];
    for (const player_id of players)
      counts[variants.indexOf(variantChooser(campaign_id, variants)(player_id))]! += 1;
    return chiSquared(counts, [2_500, 1_500, 1_000]);
  });
  // Two degrees of freedom: the mean is 2, and one in 10^6 is above 27.6.
  expect(Math.max(...values)).toBeLessThan(27.6);
  expect(values.reduce((sum, value) => sum + value) / values.length).toBeLessThan(3);
});

it('chooses independently in each campaign', () => {
  const variants = [variant('a', 1, 0), variant('b', 1, 1)];
  const players = idsFrom(3, 1_000);
  const campaigns = idsFrom(4, 40).map((campaign_id) =>
    players.map((player_id) => variantChooser(campaign_id, variants)(player_id).variant_id),
  );
  let worst = 0;
  for (const [i, first] of campaigns.entries()) {
    for (const second of campaigns.slice(i + 1)) {
      const counts = [0, 0, 0, 0];
      for (const [p, chosen] of first.entries())
        counts[(chosen === 'a' ? 0 : 2) + (second[p] === 'a' ? 0 : 1)]! += 1;
      worst = Math.max(worst, chiSquared(counts, [250, 250, 250, 250]));
    }
  }
  // Three degrees of freedom, 780 pairs: one in 10^6 for a single pair is above 30.7.
  expect(worst).toBeLessThan(30.7);
});
