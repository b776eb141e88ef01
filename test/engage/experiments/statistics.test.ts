import { describe, expect, it } from 'vitest';
import { isHeldOut, isInShare } from '../../../src/engage/experiments/draw.ts';
import { roundOf } from '../../../src/engage/experiments/global.ts';
import { holm, unevenP } from '../../../src/engage/experiments/statistics/decisions.ts';
import {
  chiSquareTail,
  normalBeyond,
  studentBeyond,
  studentTails,
} from '../../../src/engage/experiments/statistics/distributions.ts';
import {
  playersNeeded,
  sampleOf,
  skewOf,
  slopeOf,
  welch,
  welchInterval,
  welchP,
  type Sums,
} from '../../../src/engage/experiments/statistics/means.ts';
import { newcombe, newcombeP } from '../../../src/engage/experiments/statistics/rates.ts';
import { sequenceInterval } from '../../../src/engage/experiments/statistics/sequence.ts';

// Published vectors, and those of gbstats 0.8.0 and scipy where it is said.

/** growthbook, packages/stats/tests/frequentist/test_tests.py. */
const CONTROL = { mean: 0.41, variance: 3.9 ** 2, n: 3_407 };
const TREATED = { mean: 0.7, variance: 6.2 ** 2, n: 3_461 };

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('expected a value');
  return value;
}

describe('rates', () => {
  it("gives Newcombe's example, 56 of 70 and 48 of 80", () => {
    const [low, high] = newcombe({ players: 70, converted: 56 }, { players: 80, converted: 48 }, 0.05);
    expect(low).toBeCloseTo(0.0524, 4);
    expect(high).toBeCloseTo(0.3339, 4);
  });

  it.each([
    // Newcombe (1998), table II, method 10.
    [9, 10, 3, 10, 0.1705, 0.809],
    [6, 7, 2, 7, 0.0582, 0.8062],
    [5, 56, 0, 29, -0.0381, 0.1926],
    [0, 10, 0, 20, -0.1611, 0.2775],
    [0, 10, 0, 10, -0.2775, 0.2775],
    [10, 10, 0, 20, 0.6791, 1],
    [10, 10, 0, 10, 0.6075, 1],
  ])('gives the published interval of %i of %i and %i of %i', (a, m, b, n, low, high) => {
    const found = newcombe({ players: m, converted: a }, { players: n, converted: b }, 0.05);
    expect(found[0]).toBeCloseTo(low, 4);
    expect(found[1]).toBeCloseTo(high, 4);
  });

  it('has a p-value at which the interval ends at 0', () => {
    const arms = [
      { players: 70, converted: 56 },
      { players: 80, converted: 48 },
    ] as const;
    const p = newcombeP(...arms);
    expect(newcombe(...arms, p)[0]).toBeCloseTo(0, 10);
    expect(p).toBeLessThan(0.05);
    expect(newcombeP(arms[0], arms[0])).toBe(1);
  });
});

describe('means', () => {
  it("gives gbstats' interval and p-value of two means", () => {
    const difference = known(welch(TREATED, CONTROL));
    const [low, high] = welchInterval(difference, 0.05);
    expect(low).toBeCloseTo(0.04537789255929012, 12);
    expect(high).toBeCloseTo(0.5346221074407098, 12);
    expect(welchP(difference)).toBeCloseTo(0.020158402643587037, 12);
  });

  it("gives gbstats' result after CUPED, from whole sums", () => {
    const control = sums(40, 6_087, 1_374_301, 354_132_393, 7_743, 2_408_921, 1_744_895);
    const treated = sums(60, 8_193, 1_734_221, 438_294_831, 7_492, 2_274_976, 1_824_708);
    const slope = slopeOf(treated, control);
    expect(slope).toBeCloseTo(0.5899858634385522, 12);
    const [one, other] = [sampleOf(treated, slope), sampleOf(control, slope)];
    expect(one.mean).toBeCloseTo(62.8804318519728, 9);
    expect(one.variance).toBeCloseTo(2_301.0410924724492, 6);
    expect(other.mean).toBeCloseTo(37.96848648488228, 9);
    const difference = known(welch(one, other));
    const [low, high] = welchInterval(difference, 0.05);
    expect(low).toBeCloseTo(5.014967931467311, 8);
    expect(high).toBeCloseTo(44.80892280271374, 8);
    expect(welchP(difference)).toBeCloseTo(0.014769070262099282, 10);
  });

  it("gives scipy's skewness of both arms, and how many players 355 times its square are", () => {
    const both = sums(100, 14_280, 3_108_522, 792_427_224, 0, 0, 0);
    expect(skewOf(both)).toBeCloseTo(0.39001406485923584, 10);
    // CDNOW: a skewness of 5.585.
    expect(playersNeeded(5.585)).toBe(11_074);
    expect(playersNeeded(0)).toBe(0);
  });

  it('says nothing about arms of one player or without a difference', () => {
    expect(welch({ ...TREATED, n: 1 }, CONTROL)).toBeUndefined();
    expect(welch({ ...TREATED, variance: 0 }, { ...CONTROL, variance: 0 })).toBeUndefined();
  });

  function sums(n: number, y: number, y2: number, y3: number, x: number, x2: number, xy: number): Sums {
    const of = (value: number) => BigInt(value);
    return { n: of(n), y: of(y), y2: of(y2), y3: of(y3), x: of(x), x2: of(x2), xy: of(xy) };
  }
});

describe('looks', () => {
  it("gives gbstats' confidence sequence", () => {
    const difference = known(welch(TREATED, CONTROL));
    const [low, high] = sequenceInterval(difference, CONTROL.n + TREATED.n, 0.05);
    expect(low).toBeCloseTo(-0.08941009553834556, 12);
    expect(high).toBeCloseTo(0.6694100955383455, 12);
    const uneven = known(welch({ ...TREATED, n: 9_000 }, { ...CONTROL, n: 200 }));
    const [from, to] = sequenceInterval(uneven, 9_200, 0.01);
    expect(from).toBeCloseTo(-0.7275773411606234, 12);
    expect(to).toBeCloseTo(1.3075773411606235, 12);
  });
});

describe('decisions', () => {
  it("corrects p-values by Holm's steps", () => {
    // Wikipedia: 0.01, 0.04, 0.03, 0.005.
    expect(holm([0.01, 0.04, 0.03, 0.005]).map((p) => Number(p.toFixed(6)))).toEqual([
      0.03, 0.06, 0.06, 0.02,
    ]);
    expect(holm([0.5, 0.9])).toEqual([1, 1]);
    expect(holm([])).toEqual([]);
  });

  it('finds uneven arms', () => {
    const p = unevenP([
      { players: 821_588, expected: 818_482.5 },
      { players: 815_377, expected: 818_482.5 },
    ]);
    // Fabijan and others (KDD 2019) give 1.8e-6 with these counts.
    expect(p).toBeGreaterThan(1e-6);
    expect(p).toBeLessThan(2e-6);
    expect(
      unevenP([
        { players: 3, expected: 0 },
        { players: 10, expected: 13 },
      ]),
    ).toBe(0);
    expect(unevenP([{ players: 10, expected: 10 }])).toBe(1);
  });
});

describe('distributions', () => {
  it("are scipy's", () => {
    expect(studentTails(2.5, 7.3)).toBeCloseTo(0.03965023466560043, 12);
    expect(studentTails(0.3, 1.5)).toBeCloseTo(0.8004721968035851, 12);
    expect(studentBeyond(0.05, 3)).toBeCloseTo(3.1824463052837078, 10);
    expect(studentBeyond(0.05, 11.7)).toBeCloseTo(2.185025154553299, 10);
    expect(normalBeyond(0.05)).toBeCloseTo(1.959963984540054, 12);
    expect(chiSquareTail(3.84, 1)).toBeCloseTo(0.05004352124870519, 12);
    expect(chiSquareTail(20, 3)).toBeCloseTo(0.00016974243555282632, 14);
    expect(chiSquareTail(0.5, 4)).toBeCloseTo(0.9735009788392561, 12);
    expect(chiSquareTail(900, 2) / 3.6938830684871615e-196).toBeCloseTo(1, 9);
  });
});

describe('rounds of a project', () => {
  it('last a quarter, and begin anew with a change', () => {
    const changed_at = new Date('2026-05-10T12:00:00Z');
    expect(roundOf({ changes: 3, changed_at }, new Date('2026-06-30T23:59:59.999Z'))).toEqual({
      name: '2026-Q2.3',
      begins_at: changed_at,
      ends_at: new Date('2026-07-01T00:00:00Z'),
    });
    expect(roundOf({ changes: 3, changed_at }, new Date('2026-12-31T23:59:59Z'))).toEqual({
      name: '2026-Q4.3',
      begins_at: new Date('2026-10-01T00:00:00Z'),
      ends_at: new Date('2027-01-01T00:00:00Z'),
    });
  });
});

describe('the draw', () => {
  it('depends on the campaign and the player alone, whatever their case', () => {
    const players = Array.from(
      { length: 20_000 },
      (_, n) => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`,
    );
    const share = players.filter((player_id) => isHeldOut('C', player_id, 5)).length / players.length;
    expect(share).toBeGreaterThan(0.045);
    expect(share).toBeLessThan(0.055);
    expect(isHeldOut('ABC', 'DEF', 37)).toBe(isHeldOut('abc', 'def', 37));
    // Those of a smaller share are among those of a larger one.
    const small = players.filter((player_id) => isHeldOut('C', player_id, 2.5));
    expect(small.every((player_id) => isHeldOut('C', player_id, 5))).toBe(true);
    expect(isInShare('anything', 0)).toBe(false);
    expect(isInShare('anything', 100)).toBe(true);
  });
});
