import { IANAZone } from 'luxon';

/** A daily window in the player's local time, `HH:MM`: `start` is included, `end` is not. Equal: there is no window. */
export interface QuietHours {
  start: string;
  end: string;
}

const MINUTES_A_DAY = 1440;

/**
 * Whether the local time in `time_zone` is within the window at `at_ms`; a window whose end is before its start goes
 * over midnight. When clocks are put back, an hour in the window is quiet twice; when they are put forward, the skipped
 * minutes do not occur. A zone that this machine does not know is taken as UTC.
 */
export function isQuiet(rules: QuietHours, time_zone: string, at_ms: number): boolean {
  const start = minutesOf(rules.start);
  const end = minutesOf(rules.end);
  if (start === end) return false;
  const now = localMinutes(time_zone, at_ms);
  return start < end ? start <= now && now < end : now >= start || now < end;
}

/** The zones among these in which it is quiet at `at_ms`. */
export function quietZones(rules: QuietHours, at_ms: number, zones: readonly string[]): string[] {
  return zones.filter((zone) => isQuiet(rules, zone, at_ms));
}

/** Minutes since midnight, local time of the zone. */
function localMinutes(time_zone: string, at_ms: number): number {
  // The library caches a formatter per spelling of a name; lower case limits the cache to one per zone.
  const offset = IANAZone.create(time_zone.toLowerCase()).offset(at_ms);
  const minutes = Math.floor(at_ms / 60_000 + (Number.isNaN(offset) ? 0 : offset));
  return ((minutes % MINUTES_A_DAY) + MINUTES_A_DAY) % MINUTES_A_DAY;
}

function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}
