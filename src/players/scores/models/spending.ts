import { logGamma } from '../../../platform/statistics/log-gamma.ts';
import { minimise, type SearchOptions } from './minimise.ts';

/** How much a player spends on a day: the number of days, and their mean, which is positive. */
export interface Spending {
  days: number;
  mean: number;
}

/** The parameters of Gamma-Gamma (Fader and Hardie, 2013): amounts are Gamma(p, ν), ν is Gamma(q, v). */
export interface SpendingParameters {
  p: number;
  q: number;
  v: number;
}

const START = [2, 3, 1];
const BOUNDS = [
  { low: 1e-2, high: 1e4 },
  // At 1 and below, the mean over all players is infinite.
  { low: 1.01, high: 1e4 },
  { low: 1e-4, high: 1e6 },
];

/** The logarithm of the likelihood of what players spend. */
export function spendingLogLikelihood({ p, q, v }: SpendingParameters, players: readonly Spending[]): number {
  const constant = q * Math.log(v) - logGamma(q);
  const by_days: number[] = [];
  let sum = 0;
  for (const { days: x, mean } of players) {
    const ones = (by_days[x] ??= logGamma(p * x + q) - logGamma(p * x) + p * x * Math.log(x) + constant);
    sum += ones + (p * x - 1) * Math.log(mean) - (p * x + q) * Math.log(x * mean + v);
  }
  return sum;
}

/** The parameters under which what players spend is most likely. Amounts may be in any unit; `v` is in the same. */
export async function fitSpending(
  players: readonly Spending[],
  options?: SearchOptions,
): Promise<SpendingParameters> {
  const unit = players.reduce((sum, { mean }) => sum + mean, 0) / Math.max(1, players.length);
  const scaled = players.map(({ days, mean }) => ({ days, mean: mean / unit }));
  const { point } = await minimise(
    (at) => -spendingLogLikelihood(parametersOf(at), scaled),
    START,
    BOUNDS,
    options,
  );
  const { p, q, v } = parametersOf(point);
  return { p, q, v: v * unit };
}

function parametersOf([p = 0, q = 0, v = 0]: readonly number[]): SpendingParameters {
  return { p, q, v };
}

/** The expected amount of a day of the player; of a player without days, that of all. */
export function expectedAmount({ p, q, v }: SpendingParameters, { days, mean }: Spending): number {
  return (p * (v + days * mean)) / (p * days + q - 1);
}
