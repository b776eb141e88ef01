import { expect, it } from 'vitest';
import { smallestRateEffect } from '../../../src/platform/statistics/smallest-effect.ts';

it('20,000 members at 8 % show 2.5 points with 5 % held out, and 1.8 with 10 %', () => {
  expect(smallestRateEffect(0.08, { treated: 19_000, held_out: 1_000 })).toBeCloseTo(0.0247, 4);
  expect(smallestRateEffect(0.08, { treated: 18_000, held_out: 2_000 })).toBeCloseTo(0.0179, 4);
});

it('is unknown where an arm has nobody, or all do the same', () => {
  expect(smallestRateEffect(0.08, { treated: 18_000, held_out: 0 })).toBeNull();
  expect(smallestRateEffect(Number.NaN, { treated: 0, held_out: 0 })).toBeNull();
  for (const rate of [0, 1]) expect(smallestRateEffect(rate, { treated: 950, held_out: 50 })).toBeNull();
});
