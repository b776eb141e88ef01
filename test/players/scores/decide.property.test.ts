import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../engines/effort.ts';
import { decideDefault, decideOwn, type StoredScores } from '../../../src/players/scores/decide.ts';

const UNSCORED: StoredScores = {
  churn_score: 0,
  churn_model: null,
  churn_as_of: null,
  ltv_predicted: null,
  ltv_model: null,
  ltv_as_of: null,
};

const at = (day: number) => new Date(Date.UTC(2026, 0, day));

interface OwnCall {
  kind: 'own';
  model: string;
  day: number;
  churn_score?: number | undefined;
  ltv_predicted?: number | null | undefined;
}
interface Night {
  kind: 'default';
  day: number;
  computed: { churn_score: number; ltv_predicted: number | null } | undefined;
}

const chance = fc.constantFrom(0, 0.2, 0.205, 0.5, 1);
const value = fc.constantFrom(null, -5, 0, 100, 100.5, 2_000);
const own: fc.Arbitrary<OwnCall> = fc
  .record(
    {
      kind: fc.constant('own' as const),
      model: fc.constantFrom('a', 'b'),
      day: fc.integer({ min: 1, max: 4 }),
      churn_score: chance,
      ltv_predicted: value,
    },
    { requiredKeys: ['kind', 'model', 'day'] },
  )
  .filter((call) => call.churn_score !== undefined || call.ltv_predicted !== undefined);
const night: fc.Arbitrary<Night> = fc.record({
  kind: fc.constant('default' as const),
  day: fc.integer({ min: 1, max: 4 }),
  computed: fc.option(fc.record({ churn_score: chance, ltv_predicted: value }), { nil: undefined }),
});

function apply(stored: StoredScores, step: OwnCall | Night): StoredScores {
  if (step.kind === 'default') return decideDefault(stored, step.computed, at(step.day)) ?? stored;
  return decideOwn(stored, step, step.model, at(step.day)).changed ?? stored;
}

describe('scores of operators', () => {
  it('end with the newest of each kind, whatever comes in which order', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(own, night), { maxLength: 12 }), (steps) => {
        const stored = steps.reduce(apply, UNSCORED);
        // Written again from the definition: of the calls of the operator that name the score, the latest of the newest day.
        const owns = steps.filter((step): step is OwnCall => step.kind === 'own');
        const newest = (named: (call: OwnCall) => boolean) => {
          const calls = owns.filter(named);
          const day = Math.max(...calls.map((call) => call.day));
          return calls.findLast((call) => call.day === day);
        };
        const churn = newest((call) => call.churn_score !== undefined);
        if (churn !== undefined) {
          expect(stored).toMatchObject({
            churn_score: churn.churn_score,
            churn_model: churn.model,
            churn_as_of: at(churn.day),
          });
        } else expect([null, 'default']).toContain(stored.churn_model);
        const ltv = newest((call) => call.ltv_predicted !== undefined);
        if (ltv !== undefined) {
          expect(stored).toMatchObject({
            ltv_predicted: ltv.ltv_predicted,
            ltv_model: ltv.model,
            ltv_as_of: at(ltv.day),
          });
        } else expect([null, 'default']).toContain(stored.ltv_model);
      }),
      { numRuns: runs(1_000, { nightly: 50_000 }) },
    );
  });

  it('sent again change nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(own, night), { maxLength: 8 }), own, (steps, last) => {
        const stored = apply(steps.reduce(apply, UNSCORED), last);
        const again = decideOwn(stored, last, last.model, at(last.day));
        expect(again.changed).toBeUndefined();
        expect(['unchanged', 'stale']).toContain(again.verdict);
      }),
      { numRuns: runs(1_000, { nightly: 50_000 }) },
    );
  });

  it('say what became of them', () => {
    const stored = decideOwn(UNSCORED, { churn_score: 0.3 }, 'a', at(2)).changed ?? UNSCORED;
    const verdict = (given: object, day: number) => decideOwn(stored, given, 'a', at(day)).verdict;
    expect(verdict({ churn_score: 0.3 }, 2)).toBe('unchanged');
    expect(verdict({ churn_score: 0.4 }, 1)).toBe('stale');
    expect(verdict({ churn_score: 0.3 }, 3)).toBe('written');
    expect(verdict({ churn_score: 0.4, ltv_predicted: 5 }, 1)).toBe('written');
    expect(decideOwn(stored, { churn_score: 0.4, ltv_predicted: 5 }, 'a', at(1)).changed).toMatchObject({
      churn_score: 0.3,
      ltv_predicted: 5,
    });
  });
});

describe("the service's own scores", () => {
  const scored = (churn_score: number, ltv_predicted: number | null) =>
    decideDefault(UNSCORED, { churn_score, ltv_predicted }, at(1)) ?? UNSCORED;

  it('are written when they have changed by 0.01, a predicted value by a hundredth of itself', () => {
    const stored = scored(0.34, 1_000);
    const next = (churn_score: number, ltv_predicted: number | null) =>
      decideDefault(stored, { churn_score, ltv_predicted }, at(2));
    expect(next(0.34, 1_000)).toBeUndefined();
    expect(next(0.3499, 1_009)).toBeUndefined();
    expect(next(0.35, 1_000)).toMatchObject({ churn_score: 0.35, churn_as_of: at(2), ltv_as_of: at(1) });
    expect(next(0.34, 990)).toMatchObject({ ltv_predicted: 990, churn_as_of: at(1), ltv_as_of: at(2) });
    expect(next(0.34, null)).toMatchObject({ ltv_predicted: null, ltv_model: null });
  });

  it('are taken away when the model is off, and never those of the operator', () => {
    expect(decideDefault(scored(0.34, 1_000), undefined, at(2))).toEqual(UNSCORED);
    expect(decideDefault(UNSCORED, undefined, at(2))).toBeUndefined();
    const both = decideOwn(scored(0.34, 1_000), { churn_score: 0.9 }, 'a', at(1)).changed ?? UNSCORED;
    expect(decideDefault(both, undefined, at(2))).toMatchObject({ churn_score: 0.9, ltv_predicted: null });
    expect(decideDefault(both, { churn_score: 0.1, ltv_predicted: 1_000 }, at(2))).toBeUndefined();
  });
});
