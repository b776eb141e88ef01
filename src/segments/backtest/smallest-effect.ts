/** Quantiles of the normal distribution for 5 % false alarms on both sides, and for finding an effect in 80 of 100 cases. */
const BOTH_ERRORS = 1.959964 + 0.841621;

/**
 * The smallest difference of rates that a holdout can show, as a share: 0.025 is 2.5 points. `share` of the members are held
 * out. Null: an arm has nobody, or all players do the same.
 */
export function smallestEffect(members: number, base_rate: number, share: number): number | null {
  const held_out = Math.round(members * share);
  const treated = members - held_out;
  const spread = base_rate * (1 - base_rate);
  if (held_out < 1 || treated < 1 || !(spread > 0)) return null;
  return BOTH_ERRORS * Math.sqrt(spread * (1 / held_out + 1 / treated));
}
