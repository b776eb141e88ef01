import { beforeAll, describe, expect, it } from 'vitest';
import {
  chanceAlive,
  chanceOfReturn,
  expectedDays,
  fitPurchases,
  type CountedHistory,
  type FittedPurchases,
  type PurchaseModel,
} from '../../../src/players/scores/models/purchases.ts';
import { expectedAmount, fitSpending } from '../../../src/players/scores/models/spending.ts';
import { countHistories, historyAt } from '../../../src/players/scores/nightly/histories.ts';
import { dayOf, readCustomers } from './cdnow.ts';

// The figures are those of Fader, Hardie and Lee (2005), of Batislam, Denizel and Filiztekin (2007), and of the tests of the
// Python library lifetimes, on the same sample: 39 weeks to fit, 39 to compare.
const END = dayOf('1997-09-30');
const WEEKS = 39;

let customers: { history: CountedHistory; came: number; mean: number }[];
const fits = new Map<PurchaseModel, FittedPurchases>();
beforeAll(async () => {
  customers = [...(await readCustomers()).values()].map((by_day) => {
    const days = [...by_day.keys()].sort((a, b) => a - b);
    const history = historyAt(days, END) ?? { repeats: 0, last: 0, age: 0 };
    const repeats = days.slice(1).filter((day) => day <= END);
    const cents = repeats.reduce((sum, day) => sum + (by_day.get(day) ?? 0), 0);
    const came = days.filter((day) => day > END && day <= END + WEEKS * 7).length;
    return { history: { ...history, players: 1 }, came, mean: cents / 100 / Math.max(1, repeats.length) };
  });
  for (const model of ['bg', 'mbg'] as const) {
    fits.set(model, await fitPurchases(model, countHistories(customers.map(({ history }) => history))));
  }
});

const parameters = (model: PurchaseModel) => {
  const { r = 0, alpha = 0, a = 0, b = 0 } = fits.get(model)?.parameters ?? {};
  return { r, alpha, a, b };
};
const nearly = (values: readonly number[], decimals: number) =>
  values.map((value) => Number(value.toFixed(decimals)));

describe('the CDNOW sample', () => {
  it('has the published counts', () => {
    const repeats = customers.map(({ history }) => history.repeats);
    expect(customers.length).toBe(2_357);
    expect(repeats.filter((count) => count > 0).length).toBe(946);
    expect(repeats.reduce((sum, count) => sum + count, 0)).toBe(2_457);
    expect(customers.reduce((sum, { came }) => sum + came, 0)).toBe(1_882);
  });
});

describe('the fit', () => {
  it('of BG/NBD gives the published parameters and likelihood', () => {
    const { r, alpha, a, b } = parameters('bg');
    expect(nearly([r, alpha, a, b], 3)).toEqual([0.243, 4.414, 0.793, 2.426]);
    expect(fits.get('bg')?.log_likelihood).toBeCloseTo(-9_582.4, 1);
  });

  it('of MBG/NBD gives the published parameters', () => {
    const { r, alpha, a, b } = parameters('mbg');
    expect(nearly([r, alpha, a, b], 3)).toEqual([0.525, 6.183, 0.891, 1.614]);
  });

  it('of Gamma-Gamma gives the published parameters', async () => {
    const repeaters = customers.filter(({ history }) => history.repeats > 0);
    const spending = repeaters.map(({ history, mean }) => ({ days: history.repeats, mean }));
    const { p, q, v } = await fitSpending(spending);
    expect(nearly([p, q, v], 2)).toEqual([6.25, 3.74, 15.44]);
    expect(nearly([p, q, v], 3)).toEqual([6.25, 3.744, 15.444]);
    // The unit of the amounts does not matter.
    const cents = spending.map(({ days, mean }) => ({ days, mean: mean * 100 }));
    const of_cents = await fitSpending(cents);
    expect(nearly([of_cents.p, of_cents.q, of_cents.v / 100], 3)).toEqual([6.25, 3.744, 15.444]);
  });

  it('begins from earlier parameters, and ends at the same', async () => {
    const histories = countHistories(customers.map(({ history }) => history));
    const start = parameters('mbg');
    const again = await fitPurchases('mbg', histories, { start: { ...start, alpha: start.alpha * 3 } });
    expect(nearly(Object.values(again.parameters), 3)).toEqual(nearly(Object.values(start), 3));
  });
});

describe('predictions', () => {
  it('of BG/NBD: the published expectation of a customer, and of all', () => {
    const customer = { repeats: 2, last: 30.43, age: 38.86 };
    expect(expectedDays('bg', parameters('bg'), customer, WEEKS)).toBeCloseTo(1.226, 3);
    const all = customers.reduce(
      (sum, { history }) => sum + expectedDays('bg', parameters('bg'), history, WEEKS),
      0,
    );
    expect(all).toBeGreaterThan(1_600);
    expect(all).toBeLessThan(1_882);
  });

  it('of BG/NBD call everybody alive who came once', () => {
    expect(chanceAlive('bg', parameters('bg'), { repeats: 0, last: 0, age: 38 })).toBe(1);
    expect(chanceAlive('mbg', parameters('mbg'), { repeats: 0, last: 0, age: 38 })).toBeLessThan(0.5);
  });

  it('agree with a simulation of what the model says', () => {
    // The chance to return is the expectation over the rates and chances to leave of those who have the same history.
    const { r, alpha, a, b } = parameters('mbg');
    const history = { repeats: 3, last: 10, age: 20 };
    const random = generator(7);
    const weeks = 30 / 7;
    let weight = 0;
    let returned = 0;
    let expected = 0;
    for (let i = 0; i < 60_000; i++) {
      const rate = gamma(random, r + history.repeats) / alpha;
      const leaves = beta(random, a, b);
      const stayed = (1 - leaves) ** (history.repeats + 1);
      // Of the rates as drawn: the likelihood of the history is λ^x (…), and λ^x is in the draw.
      const still_here = stayed * Math.exp(-rate * history.age);
      const left = leaves * (1 - leaves) ** history.repeats * Math.exp(-rate * history.last);
      weight += still_here + left;
      returned += still_here * (1 - Math.exp(-rate * weeks));
      expected += (still_here * (1 - Math.exp(-leaves * rate * weeks))) / leaves;
    }
    expect(chanceOfReturn('mbg', { r, alpha, a, b }, history, weeks)).toBeCloseTo(returned / weight, 2);
    expect(expectedDays('mbg', { r, alpha, a, b }, history, weeks)).toBeCloseTo(expected / weight, 1);
  });

  it('stay within bounds for players of any history', () => {
    for (const repeats of [0, 1, 10, 400, 5_000]) {
      for (const [last, age] of [
        [0, 0],
        [0, 300],
        [repeats / 7, repeats / 7],
        [repeats / 7, repeats / 7 + 200],
      ] as const) {
        const history = { repeats, last, age };
        for (const model of ['bg', 'mbg'] as const) {
          const chance = chanceOfReturn(model, parameters(model), history, 30 / 7);
          expect(chance, JSON.stringify(history)).toBeGreaterThanOrEqual(0);
          expect(chance, JSON.stringify(history)).toBeLessThanOrEqual(1);
          const days = expectedDays(model, parameters(model), history, 365 / 7);
          expect(days, JSON.stringify(history)).toBeGreaterThanOrEqual(0);
          expect(days, JSON.stringify(history)).toBeLessThan(1e6);
        }
      }
    }
  });

  it('of amounts lie between the mean of the player and that of all', () => {
    const fitted = { p: 6.25, q: 3.744, v: 15.444 };
    const all = expectedAmount(fitted, { days: 0, mean: 0 });
    expect(all).toBeCloseTo(35.18, 1);
    const one = expectedAmount(fitted, { days: 1, mean: 100 });
    const many = expectedAmount(fitted, { days: 50, mean: 100 });
    expect([all < one, one < many, many < 100]).toEqual([true, true, true]);
  });
});

/** Random numbers in [0, 1) that are the same in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A draw from Gamma(shape, 1), by Marsaglia and Tsang. */
function gamma(random: () => number, shape: number): number {
  if (shape < 1) return gamma(random, shape + 1) * (1 - random()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(random);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

function beta(random: () => number, a: number, b: number): number {
  const x = gamma(random, a);
  return x / (x + gamma(random, b));
}
