import { logGamma } from '../../../platform/statistics/log-gamma.ts';
import { hypergeometric, logOnePlusExp } from './special-functions.ts';
import { minimise, type SearchOptions } from './minimise.ts';

/**
 * What the models know of a player. Both times are in weeks since the day of the first deposit.
 */
export interface History {
  /** Days with a deposit after the first one. */
  repeats: number;
  /** The last day with a deposit; 0: there was none after the first. */
  last: number;
  /** The end of what was observed. */
  age: number;
}

/** Histories that are equal, and how many players have them. */
export interface CountedHistory extends History {
  players: number;
}

/**
 * The parameters of BG/NBD and MBG/NBD: rates of deposit-days are distributed Gamma(r, alpha), chances to leave after one
 * Beta(a, b).
 */
export interface PurchaseParameters {
  r: number;
  alpha: number;
  a: number;
  b: number;
}

/**
 * Two models of when players come back. BG/NBD (Fader, Hardie and Lee, 2005): a player may leave after each repeated
 * deposit-day. MBG/NBD (Batislam, Denizel and Filiztekin, 2007): after the first one, too.
 */
export type PurchaseModel = 'bg' | 'mbg';

/** A fit: the parameters, and the logarithm of their likelihood. */
export interface FittedPurchases {
  parameters: PurchaseParameters;
  log_likelihood: number;
}

const START = [1, 5, 1, 1];
const BOUNDS = [
  { low: 1e-3, high: 1e3 },
  { low: 1e-2, high: 1e5 },
  { low: 1e-3, high: 1e3 },
  { low: 1e-3, high: 1e4 },
];

/** The logarithm of the likelihood of histories. */
export function purchaseLogLikelihood(
  model: PurchaseModel,
  { r, alpha, a, b }: PurchaseParameters,
  histories: readonly CountedHistory[],
): number {
  const may_leave_at_once = model === 'mbg' ? 1 : 0;
  const constant = r * Math.log(alpha) - logGamma(r) + logGamma(a + b) - logGamma(b);
  // What depends on the number of days alone: few players have many.
  const by_repeats: number[] = [];
  let sum = 0;
  for (const { repeats: x, last, age, players } of histories) {
    const stays = x + may_leave_at_once;
    const ones = (by_repeats[x] ??=
      logGamma(r + x) + logGamma(b + stays) - logGamma(a + b + stays) + constant);
    const alive = -(r + x) * Math.log(alpha + age);
    const left = logOddsToHaveLeft(model, { r, alpha, a, b }, { repeats: x, last, age });
    sum += players * (ones + alive + (left === undefined ? 0 : logOnePlusExp(left)));
  }
  return sum;
}

/** The parameters under which the histories are most likely. Times must be in weeks. */
export async function fitPurchases(
  model: PurchaseModel,
  histories: readonly CountedHistory[],
  options?: SearchOptions & { start?: PurchaseParameters },
): Promise<FittedPurchases> {
  const { r, alpha, a, b } = options?.start ?? {};
  const start = [r ?? START[0], alpha ?? START[1], a ?? START[2], b ?? START[3]] as number[];
  const { point, value } = await minimise(
    (at) => -purchaseLogLikelihood(model, parametersOf(at), histories),
    start,
    BOUNDS,
    options,
  );
  return { parameters: parametersOf(point), log_likelihood: -value };
}

function parametersOf([r = 0, alpha = 0, a = 0, b = 0]: readonly number[]): PurchaseParameters {
  return { r, alpha, a, b };
}

/** ln of the odds that a player has left; undefined: the model says that the player cannot have left yet. */
function logOddsToHaveLeft(
  model: PurchaseModel,
  { r, alpha, a, b }: PurchaseParameters,
  { repeats: x, last, age }: History,
): number | undefined {
  const stayed = b + x - (model === 'bg' ? 1 : 0);
  if (model === 'bg' && x === 0) return undefined;
  return Math.log(a / stayed) + (r + x) * Math.log((alpha + age) / (alpha + last));
}

/** The chance that a player has not left for good. */
export function chanceAlive(model: PurchaseModel, parameters: PurchaseParameters, history: History): number {
  const left = logOddsToHaveLeft(model, parameters, history);
  return left === undefined ? 1 : 1 / (1 + Math.exp(left));
}

/** The chance of at least one deposit-day within `weeks` from now on. */
export function chanceOfReturn(
  model: PurchaseModel,
  parameters: PurchaseParameters,
  history: History,
  weeks: number,
): number {
  const { r, alpha } = parameters;
  const { repeats, age } = history;
  const none = Math.exp((r + repeats) * Math.log((alpha + age) / (alpha + age + weeks)));
  return chanceAlive(model, parameters, history) * (1 - none);
}

/** How near `a` may come to 1, where the formula is 0 ÷ 0. */
const NEAR_ONE = 1e-6;

/**
 * The expected number of deposit-days within `weeks` from now on. Euler's transformation of the hypergeometric function keeps
 * its terms small for players with many days.
 */
export function expectedDays(
  model: PurchaseModel,
  parameters: PurchaseParameters,
  history: History,
  weeks: number,
): number {
  const { r, alpha, b } = parameters;
  const a = Math.abs(parameters.a - 1) < NEAR_ONE ? 1 + NEAR_ONE : parameters.a;
  const { repeats: x, age } = history;
  const c = a + b + x - (model === 'bg' ? 1 : 0);
  const z = weeks / (alpha + age + weeks);
  const first = model === 'bg' ? a + b - 1 - r : a + b - r;
  const decay = Math.exp((a - 1) * Math.log1p(-z)) * hypergeometric(first, a - 1, c, z);
  return (c / (a - 1)) * (1 - decay) * chanceAlive(model, parameters, history);
}
