import { normalBeyond, normalTails, whereTailsAre } from './distributions.ts';
import { excludesZero, type Interval } from './interval.ts';

/** How many players of an arm there are, and how many of them converted. */
export interface Counted {
  players: number;
  converted: number;
}

/** The share that converted; 0 of nobody. */
export function rateOf({ players, converted }: Counted): number {
  return players === 0 ? 0 : converted / players;
}

/** Wilson's interval of a rate, `z` standard errors wide on each side; everything for nobody. */
function wilson({ players, converted }: Counted, z: number): Interval {
  if (players === 0) return [0, 1];
  const rate = converted / players;
  const centre = 2 * converted + z * z;
  const spread = z * Math.sqrt(z * z + 4 * converted * (1 - rate));
  const below = 2 * (players + z * z);
  return [Math.max((centre - spread) / below, 0), Math.min((centre + spread) / below, 1)];
}

function differenceAt(one: Counted, other: Counted, z: number): Interval {
  const [rate, base] = [rateOf(one), rateOf(other)];
  const [low, high] = wilson(one, z);
  const [base_low, base_high] = wilson(other, z);
  const difference = rate - base;
  return [
    difference - Math.hypot(rate - low, base_high - base),
    difference + Math.hypot(high - rate, base - base_low),
  ];
}

/**
 * Newcombe's interval of the difference of two rates, `one` minus `other` (1998, method 10: from Wilson's intervals, without
 * a correction). It covers the difference in 1 − `alpha` of all experiments.
 */
export function newcombe(one: Counted, other: Counted, alpha: number): Interval {
  return differenceAt(one, other, normalBeyond(alpha));
}

/** The largest `alpha` at which {@link newcombe}'s interval does not exclude 0: the p-value that agrees with it. */
export function newcombeP(one: Counted, other: Counted): number {
  if (one.players === 0 || other.players === 0 || rateOf(one) === rateOf(other)) return 1;
  // The interval grows with z: where it begins to hold 0.
  const z = whereTailsAre(0.5, (at) => (excludesZero(differenceAt(one, other, at)) ? 1 : 0));
  return normalTails(z);
}
