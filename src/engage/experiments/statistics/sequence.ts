import type { Interval } from './interval.ts';
import type { Difference } from './means.ts';

/**
 * With how many players the interval is to be narrowest compared with one that is looked at once. Chosen before any look;
 * the same as GrowthBook's.
 */
const TUNED_FOR = 5_000;

/**
 * The ends at this look of an asymptotic confidence sequence: in 1 − `alpha` of all experiments it covers the difference at
 * every look, however often it is looked at (Waudby-Smith and others 2021, equations 9 and 161). `players`: of both arms.
 */
export function sequenceInterval(
  { difference, standard_error }: Pick<Difference, 'difference' | 'standard_error'>,
  players: number,
  alpha: number,
): Interval {
  const doubt = -2 * Math.log(alpha);
  const grown = (players * (doubt + Math.log(doubt + 1))) / TUNED_FOR;
  const width =
    standard_error * Math.sqrt((2 * (grown + 1) * Math.log(Math.sqrt(grown + 1) / alpha)) / grown);
  return [difference - width, difference + width];
}
