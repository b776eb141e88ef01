import { array, assert, integer, property } from 'fast-check';
import { expect, test } from 'vitest';
import { scaledTo, withOneMore } from '../../console/src/screens/campaigns/weights.ts';
import { runs } from '../engines/effort.ts';

const weights = array(integer({ min: 1, max: 1_000_000 }), { minLength: 1, maxLength: 50 });
const sumOf = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0);

test('scaled weights are whole, at least 1, and sum up to the whole', () => {
  assert(
    property(weights, integer({ min: 50, max: 1_000 }), (list, sum) => {
      const scaled = scaledTo(sum, list);
      expect(scaled).toHaveLength(list.length);
      expect(sumOf(scaled)).toBe(sum);
      expect(scaled.every((one) => Number.isInteger(one) && one >= 1)).toBe(true);
    }),
    { numRuns: runs(1_000) },
  );
});

test('scaled weights keep the order of the weights, and what is in relation already stays', () => {
  assert(
    property(weights, (list) => {
      const scaled = scaledTo(100, list);
      for (const [i, a] of list.entries())
        for (const [j, b] of list.entries())
          if (a > b) expect((scaled[i] ?? 0) - (scaled[j] ?? 0)).toBeGreaterThanOrEqual(-1);
      expect(scaledTo(100, scaled)).toEqual(scaled);
    }),
    { numRuns: runs(500) },
  );
});

test('one more variant gets an equal share, and all sum up to 100', () => {
  expect(withOneMore([])).toEqual({ others: [], added: 100 });
  expect(withOneMore([100])).toEqual({ others: [50], added: 50 });
  expect(withOneMore([50, 50])).toEqual({ others: [34, 33], added: 33 });
  expect(withOneMore([70, 30])).toEqual({ others: [47, 20], added: 33 });
  assert(
    property(
      weights.filter(({ length }) => length < 50),
      (list) => {
        const { others, added } = withOneMore(list);
        expect(sumOf(others) + added).toBe(100);
      },
    ),
  );
});
