import { array, assert, boolean, double, integer, oneof, property } from 'fast-check';
import { expect, test } from 'vitest';
import { ticksOf } from '../../src/analytics/insights/chart.ts';

const value = oneof(
  integer({ min: -1_000, max: 1_000 }),
  integer({ min: -(2 ** 53), max: 2 ** 53 }),
  double({ min: -1e6, max: 1e6, noNaN: true }),
);

test('three ticks are evenly spaced, and all values and 0 are between them', () => {
  assert(
    property(array(value, { maxLength: 20 }), boolean(), (values, is_whole) => {
      const [top, middle, bottom] = ticksOf(values, is_whole);
      expect(top).toBeGreaterThan(bottom);
      expect(middle).toBeCloseTo((top + bottom) / 2, 6);
      for (const one of [0, ...values]) {
        expect(one).toBeLessThanOrEqual(top);
        expect(one).toBeGreaterThanOrEqual(bottom);
      }
    }),
  );
});

test('ticks of whole numbers are whole, and no axis is more than twice as high as its values', () => {
  assert(
    property(array(integer({ min: 0, max: 1_000_000 }), { minLength: 1 }), (values) => {
      const ticks = ticksOf(values, true);
      expect(ticks.every(Number.isInteger)).toBe(true);
      expect(ticks[0]).toBeLessThanOrEqual(Math.max(2, 2 * Math.max(...values)));
    }),
  );
});

test.each([
  [[], [1, 0.5, 0]],
  [[0.42], [0.6, 0.3, 0]],
  [[130], [200, 100, 0]],
  [[-130], [0, -100, -200]],
  [
    [35, -70],
    [80, 0, -80],
  ],
])('%j has the ticks %j', (values, ticks) => {
  expect(ticksOf(values, false).map((one) => Math.round(one * 100) / 100)).toEqual(ticks);
});
