import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isBeyondChance,
  newcombe,
  shareOf,
  trialsNeeded,
  wilson,
  type Share,
} from '../../console/src/format/statistics.ts';

const share: fc.Arbitrary<Share> = fc
  .integer({ min: 1, max: 5_000_000 })
  .chain((trials) =>
    fc.record({ trials: fc.constant(trials), successes: fc.integer({ min: 0, max: trials }) }),
  );
const opposite = ({ successes, trials }: Share): Share => ({ successes: trials - successes, trials });

describe('Wilson’s interval', () => {
  test('is that of the literature', () => {
    // Newcombe 1998, table I: method 3.
    const rounded = (successes: number, trials: number) => {
      const { low, high } = wilson({ successes, trials });
      return [low.toFixed(4), high.toFixed(4)];
    };
    expect(rounded(81, 263)).toEqual(['0.2553', '0.3662']);
    expect(rounded(15, 148)).toEqual(['0.0624', '0.1605']);
    expect(rounded(0, 20)).toEqual(['0.0000', '0.1611']);
    expect(rounded(1, 29)).toEqual(['0.0061', '0.1718']);
  });

  test('contains the share, lies in 0 to 1, mirrors, and shrinks with more trials', () => {
    fc.assert(
      fc.property(share, fc.integer({ min: 2, max: 50 }), (one, times) => {
        const { low, high } = wilson(one);
        const p = shareOf(one);
        expect(0 <= low && low <= p && p <= high && high <= 1).toBe(true);
        const mirrored = wilson(opposite(one));
        expect(mirrored.low).toBeCloseTo(1 - high, 10);
        expect(mirrored.high).toBeCloseTo(1 - low, 10);
        const more = wilson({ successes: one.successes * times, trials: one.trials * times });
        expect(more.high - more.low).toBeLessThan(high - low);
      }),
    );
  });

  test('of no trials is everything', () => {
    expect(wilson({ successes: 0, trials: 0 })).toEqual({ low: 0, high: 1 });
  });
});

describe('Newcombe’s interval', () => {
  test('is that of the literature', () => {
    // Newcombe 1998 (interval estimation for the difference), table II: method 10.
    const rounded = (a: Share, b: Share) => {
      const { low, high } = newcombe(a, b);
      return [low.toFixed(4), high.toFixed(4)];
    };
    expect(rounded({ successes: 56, trials: 70 }, { successes: 48, trials: 80 })).toEqual([
      '0.0524',
      '0.3339',
    ]);
    expect(rounded({ successes: 9, trials: 10 }, { successes: 3, trials: 10 })).toEqual(['0.1705', '0.8090']);
    expect(rounded({ successes: 10, trials: 10 }, { successes: 0, trials: 20 })).toEqual([
      '0.6791',
      '1.0000',
    ]);
  });

  test('contains the difference, lies in −1 to 1, and turns its sign with its sides', () => {
    fc.assert(
      fc.property(share, share, (a, b) => {
        const { low, high } = newcombe(a, b);
        const difference = shareOf(a) - shareOf(b);
        expect(low).toBeLessThanOrEqual(difference + 1e-12);
        expect(high).toBeGreaterThanOrEqual(difference - 1e-12);
        expect(low >= -1 - 1e-12 && high <= 1 + 1e-12).toBe(true);
        const turned = newcombe(b, a);
        expect(turned.low).toBeCloseTo(-high, 10);
        expect(turned.high).toBeCloseTo(-low, 10);
        if (shareOf(a) === shareOf(b)) expect(isBeyondChance({ low, high })).toBe(false);
      }),
    );
  });

  test('covers the true difference in about 95 of 100 experiments', () => {
    // A generator of its own, so that the test is the same each time.
    let state = 12_345;
    const random = () => {
      state = (state + 0x6d_2b_79_f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
    const draw = (p: number, trials: number): Share => {
      let successes = 0;
      for (let i = 0; i < trials; i++) if (random() < p) successes++;
      return { successes, trials };
    };
    for (const [p, q] of [
      [0.5, 0.4],
      [0.05, 0.05],
      [0.02, 0.08],
    ] as const) {
      let covered = 0;
      for (let i = 0; i < 1_000; i++) {
        const { low, high } = newcombe(draw(p, 120), draw(q, 150));
        if (low <= p - q && p - q <= high) covered++;
      }
      expect(covered).toBeGreaterThan(925);
      expect(covered).toBeLessThan(990);
    }
  });
});

describe('the trials that are needed', () => {
  test('are those of the usual tables', () => {
    // 80 % power, 5 % two-sided, as in Fleiss (without correction for continuity).
    expect(trialsNeeded(0.5, 0.4)).toBe(388);
    expect(trialsNeeded(0.1, 0.05)).toBe(435);
    expect(trialsNeeded(0.3, 0.3)).toBeUndefined();
  });

  test('are whole, the same both ways, and more for a smaller difference', () => {
    const p = fc.integer({ min: 0, max: 1_000 }).map((n) => n / 1_000);
    fc.assert(
      fc.property(p, p, (a, b) => {
        fc.pre(a !== b);
        const needed = trialsNeeded(a, b) ?? 0;
        expect(Number.isInteger(needed) && needed >= 1).toBe(true);
        expect(trialsNeeded(b, a)).toBe(needed);
        expect(trialsNeeded(a, (a + b) / 2) ?? Infinity).toBeGreaterThanOrEqual(needed);
      }),
    );
  });
});
