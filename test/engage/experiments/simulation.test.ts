import { describe, expect, it } from 'vitest';
import {
  addSums,
  NO_SUMS,
  sampleOf,
  welch,
  welchInterval,
  type Sample,
  type Sums,
} from '../../../src/engage/experiments/statistics/means.ts';
import { excludesZero } from '../../../src/engage/experiments/statistics/interval.ts';
import { PermutationTest, SeededNumbers } from '../../../src/engage/experiments/statistics/permutation.ts';
import { powerOf } from '../../../src/engage/experiments/statistics/power.ts';
import { smallestRateEffect } from '../../../src/platform/statistics/smallest-effect.ts';
import { newcombe } from '../../../src/engage/experiments/statistics/rates.ts';
import { sequenceInterval } from '../../../src/engage/experiments/statistics/sequence.ts';

// Simulations with a fixed seed: how often something is found where nothing is, and where something is.

const ALPHA = 0.05;

/** How many of so many players convert. */
function converting(numbers: SeededNumbers, players: number, rate: number): number {
  let converted = 0;
  const below = rate * 2 ** 32;
  for (let n = 0; n < players; n++) if (numbers.next() < below) converted += 1;
  return converted;
}

function share(times: number, isFound: (n: number) => boolean): number {
  let found = 0;
  for (let n = 0; n < times; n++) if (isFound(n)) found += 1;
  return found / times;
}

describe('without an effect', () => {
  it("Newcombe's interval excludes 0 in 4 to 6 % of experiments", () => {
    const numbers = new SeededNumbers(1);
    const found = share(6_000, () => {
      const arm = (players: number) => ({ players, converted: converting(numbers, players, 0.08) });
      return excludesZero(newcombe(arm(3_800), arm(400), ALPHA));
    });
    expect(found).toBeGreaterThan(0.04);
    expect(found).toBeLessThan(0.06);
  });

  it('the permutation test finds something in 4 to 6 %, also where Welch does not hold its level', () => {
    const numbers = new SeededNumbers(2);
    // One in ten spends, some of them a hundred times as much as others.
    const spend = () =>
      numbers.below(10) > 0 ? 0 : Math.round(100 * Math.exp(numbers.below(5_000) / 1_000));
    const found = share(2_000, (n) => {
      const arm = (players: number) => Array.from({ length: players }, spend);
      const test = new PermutationTest(arm(50), arm(250), n);
      while (!test.slice()) if (isSure(test)) break;
      return test.p_value <= ALPHA;
    });
    expect(found).toBeGreaterThan(0.04);
    expect(found).toBeLessThan(0.06);
  });

  it('daily looks at a confidence sequence find something in 5 % at most, at a fixed interval in far more', () => {
    const numbers = new SeededNumbers(3);
    let [once, always] = [0, 0];
    const TIMES = 1_000;
    for (let n = 0; n < TIMES; n++) {
      const looks = Array.from(dailyLooks(numbers, 90));
      if (looks.some(({ fixed }) => excludesZero(fixed))) once += 1;
      if (looks.some(({ sequence }) => excludesZero(sequence))) always += 1;
    }
    expect(always / TIMES).toBeLessThanOrEqual(0.05);
    expect(once / TIMES).toBeGreaterThan(0.25);
  });
});

describe('with the smallest visible effect', () => {
  it.each([
    [19_000, 1_000, 0.08],
    [9_000, 1_000, 0.2],
    [5_000, 5_000, 0.05],
  ])('it is found as often as promised: %i treated, %i held out, %d', (treated, held_out, base_rate) => {
    const numbers = new SeededNumbers(4);
    const effect = smallestRateEffect(base_rate, { treated, held_out }) ?? 0;
    const found = share(4_000, () => {
      const [low] = newcombe(
        { players: treated, converted: drawn(numbers, treated, base_rate + effect) },
        { players: held_out, converted: drawn(numbers, held_out, base_rate) },
        ALPHA,
      );
      return low > 0;
    });
    const promised = powerOf(base_rate, effect, { treated, held_out });
    expect(Math.abs(found - promised)).toBeLessThan(0.02);
    expect(promised).toBeGreaterThan(0.7);
  });
});

/** A permutation test whose p-value is far from the level needs no further draws. */
function isSure(test: PermutationTest): boolean {
  return test.p_value > 0.12;
}

/** The intervals of two arms at the end of each day; each day brings some players who spend equally in both. */
function* dailyLooks(numbers: SeededNumbers, days: number) {
  let [one, other] = [NO_SUMS, NO_SUMS];
  for (let day = 0; day < days; day++) {
    one = addSums(one, dayOf(numbers));
    other = addSums(other, dayOf(numbers));
    const [a, b]: Sample[] = [sampleOf(one, 0), sampleOf(other, 0)];
    const difference = a && b && welch(a, b);
    if (difference === undefined) continue;
    yield {
      fixed: welchInterval(difference, ALPHA),
      sequence: sequenceInterval(difference, Number(one.n + other.n), ALPHA),
    };
  }
}

/** Rounded normal draws of a binomial number: at these sizes they differ from it by less than what is asked. */
function drawn(numbers: SeededNumbers, players: number, rate: number): number {
  const radius = Math.sqrt(-2 * Math.log((numbers.next() + 1) / 2 ** 32));
  const normal = radius * Math.cos((2 * Math.PI * numbers.next()) / 2 ** 32);
  return Math.round(players * rate + normal * Math.sqrt(players * rate * (1 - rate)));
}

/** The sums of 20 players who spend something below 1,000. */
function dayOf(numbers: SeededNumbers): Sums {
  let [y, y2, y3] = [0, 0, 0];
  for (let player = 0; player < 20; player++) {
    const value = numbers.below(1_000);
    y += value;
    y2 += value ** 2;
    y3 += value ** 3;
  }
  return { ...NO_SUMS, n: 20n, y: BigInt(y), y2: BigInt(y2), y3: BigInt(y3) };
}
