import type { Arms } from '../../../platform/statistics/smallest-effect.ts';
import { normalTails } from './distributions.ts';
import { newcombe } from './rates.ts';

/** The share of experiments without an effect in which one is found. */
export const ALPHA = 0.05;
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
