import { IANAZone } from 'luxon';

/** `start` belongs to the window, `end` does not; `HH:MM` on the player's clock. Equal: there is no window. */
export interface QuietHours {
  start: string;
  end: string;
}

const MINUTES_A_DAY = 1440;

/**
 * Whether the clock in `time_zone` shows a time within the window at `at_ms`; a window whose end is before its start
 * goes over midnight. What counts is what the clock shows: where it is put back, an hour in the window is quiet twice;
 * where it is put forward, the minutes it leaves out are nobody's. A zone unknown to this machine is taken as UTC.
 */
export function isQuiet(rules: QuietHours, time_zone: string, at_ms: number): boolean {
  const start = minutesOf(rules.start);
  const end = minutesOf(rules.end);
  if (start === end) return false;
  const now = localMinutes(time_zone, at_ms);
  return start < end ? start <= now && now < end : now >= start || now < end;
}

/** Those of the zones in which it is quiet at `at_ms`. */
export function quietZones(rules: QuietHours, at_ms: number, zones: readonly string[]): string[] {
  return zones.filter((zone) => isQuiet(rules, zone, at_ms));
}

/** Minutes since midnight on the zone's clock. */
function localMinutes(time_zone: string, at_ms: number): number {
  // The library keeps a formatter per name it was asked for: in one spelling, there are no more of them than zones.
  const offset = IANAZone.create(time_zone.toLowerCase()).offset(at_ms);
  const minutes = Math.floor(at_ms / 60_000 + (Number.isNaN(offset) ? 0 : offset));
  return ((minutes % MINUTES_A_DAY) + MINUTES_A_DAY) % MINUTES_A_DAY;
}

function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}
