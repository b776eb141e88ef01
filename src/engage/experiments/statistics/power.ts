import { normalBeyond, normalTails } from './distributions.ts';
import { newcombe } from './rates.ts';

/** The share of experiments without an effect in which one is found. */
export const ALPHA = 0.05;
/** The share of experiments with the smallest visible effect in which it is found. */
export const POWER = 0.8;

/** The players of both arms. */
export interface Arms {
  treated: number;
  held_out: number;
}

/**
 * The smallest difference of rates that an experiment is planned for, as a share: 0.025 is 2.5 points. It is that many standard
 * errors, as usual; in how many cases it is found, {@link powerOf} says: 72 to 80 of 100. Null when an
 * arm has nobody, or the base rate is 0 or 1 so that nothing is known about its spread. `base_rate`: of those who are held
 * out.
 */
export function smallestRateEffect(base_rate: number, { treated, held_out }: Arms): number | null {
  const spread = base_rate * (1 - base_rate);
  if (!(spread > 0) || treated <= 0 || held_out <= 0) return null;
  return bothErrors() * Math.sqrt(spread * (1 / treated + 1 / held_out));
}

/** Halvings of an interval that begins 20 standard errors wide. */
const HALVINGS = 50;
const FARTHEST = 10;

/**
 * In how many experiments, as a share, Newcombe's interval shows that the rate of the treated is higher, when it is so by
 * `effect` > 0. It takes the rates at which the interval ends at 0, and of these the ones that are likeliest to be seen: how
 * far they are from the true ones, in standard errors, is a quantile of the normal distribution.
 */
export function powerOf(base_rate: number, effect: number, { treated, held_out }: Arms): number {
  const rate = base_rate + effect;
  const [own, base] = [(rate * (1 - rate)) / treated, (base_rate * (1 - base_rate)) / held_out];
  const error = Math.sqrt(own + base);
  const shows = (at: number) => {
    const seen = { players: treated, converted: (rate - (at * own) / error) * treated };
    const seen_base = { players: held_out, converted: (base_rate + (at * base) / error) * held_out };
    if (seen.converted < 0 || seen_base.converted > held_out) return false;
    if (seen.converted > treated || seen_base.converted < 0) return true;
    return newcombe(seen, seen_base, ALPHA)[0] > 0;
  };
  let [low, high] = [-FARTHEST, FARTHEST];
  for (let n = 0; n < HALVINGS; n++) {
    const middle = (low + high) / 2;
    if (shows(middle)) low = middle;
    else high = middle;
  }
  return low > 0 ? 1 - normalTails(low) / 2 : normalTails(low) / 2;
}

/** The same of a mean, in the unit of its standard deviation. */
export function smallestMeanEffect(deviation: number, { treated, held_out }: Arms): number | null {
  if (!(deviation > 0) || treated <= 0 || held_out <= 0) return null;
  return bothErrors() * deviation * Math.sqrt(1 / treated + 1 / held_out);
}

/**
 * How many players there must be together, of whom `holdout_share` are held out, for an effect to be found in 80 of 100
 * cases. Null when it never can be.
 */
export function playersFor(base_rate: number, effect: number, holdout_share: number): number | null {
  const shares = holdout_share * (1 - holdout_share);
  if (!(shares > 0) || effect === 0) return null;
  const spread = base_rate * (1 - base_rate);
  return Math.ceil((bothErrors() ** 2 * spread) / shares / effect ** 2);
}

/** How many standard errors an effect must have: beyond the level in the share of cases that the power says. */
function bothErrors(): number {
  return normalBeyond(ALPHA) + normalBeyond(2 * (1 - POWER));
}
