import { localDate } from '../../platform/local-intervals.ts';
import type { TimeZone } from '../../platform/time-zone.ts';
import { HOURS, hourOf } from './pacing.ts';

/** The length of the intervals in which activity is counted: the clocks of every zone change at their ends. */
export const QUARTER_MS = 900_000;
/** Fewer days with activity, or less of it, do not show at what time players come. */
export const MIN_DAYS = 7;
export const MIN_PLAYERS = 1_000;

/** How many players were active in a quarter of an hour, which is numbered from the epoch. */
export interface ActiveQuarter {
  quarter: number;
  players: number;
}

/**
 * How active a project is in each hour of a local day: of 24 hours, the sum of the players in their quarters. Null when there is too
 * little activity: on fewer than 7 days, or below 1,000 in all.
 */
export function profileFrom(zone: TimeZone, quarters: readonly ActiveQuarter[]): number[] | null {
  const hours = Array.from({ length: HOURS }, () => 0);
  const days = new Set<string>();
  let all = 0;
  for (const { quarter, players } of quarters) {
    const at_ms = quarter * QUARTER_MS;
    const hour = hourOf(zone, at_ms);
    hours[hour] = (hours[hour] ?? 0) + players;
    days.add(localDate(zone, at_ms));
    all += players;
  }
  return days.size < MIN_DAYS || all < MIN_PLAYERS ? null : hours;
}
