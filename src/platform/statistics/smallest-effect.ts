/** Standard errors that an effect must have: for 5 % false alarms on both sides, and to be found in 80 of 100 cases. */
const BOTH_ERRORS = 1.959964 + 0.841621;

/** The players of both arms. */
export interface Arms {
  treated: number;
  held_out: number;
}

/**
 * The smallest difference of rates that an experiment is planned for, as a share: 0.025 is 2.5 points. It is so many standard
 * errors, as usual; in how many cases it is found, `powerOf` of experiments says: 72 to 80 of 100. Null when an arm has
 * nobody, or the base rate is 0 or 1 so that nothing is known about its spread. `base_rate`: of those who are held out.
 */
export function smallestRateEffect(base_rate: number, { treated, held_out }: Arms): number | null {
  const spread = base_rate * (1 - base_rate);
  if (!(spread > 0) || treated <= 0 || held_out <= 0) return null;
  return BOTH_ERRORS * Math.sqrt(spread * (1 / treated + 1 / held_out));
}
