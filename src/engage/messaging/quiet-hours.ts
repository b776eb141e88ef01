import { TimeZone, UTC_ZONE } from '../../platform/time-zone.ts';

/** A daily window in the player's local time, `HH:MM`: `start` is included, `end` is not. Equal: there is no window. */
export interface QuietHours {
  start: string;
  end: string;
}

const MINUTES_A_DAY = 1440;
const MINUTE_MS = 60_000;

/**
 * Whether the local time in `time_zone` is within the window at `at_ms`; a window whose end is before its start goes
 * over midnight. When clocks are put back, an hour in the window is quiet twice; when they are put forward, the skipped
 * minutes do not occur. A zone that does not exist is taken as UTC.
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

/**
 * When the quiet hours in which `at_ms` lies end in the zone, in milliseconds since the epoch: the first minute that is
 * not quiet. Between two changes of the zone's clocks are weeks, so at most one lies before the end.
 */
export function quietUntilMs(rules: QuietHours, time_zone: string, at_ms: number): number {
  const from = Math.floor(at_ms / MINUTE_MS);
  const end = from + minutesLeft(rules, time_zone, from);
  const change_ms = zoneOf(time_zone).changeBetween(from * MINUTE_MS, end * MINUTE_MS);
  if (change_ms === undefined) return end * MINUTE_MS;
  // The change may skip the end, or the whole pause between two days' windows; then the next day's window counts.
  if (!isQuiet(rules, time_zone, change_ms)) return change_ms;
  return change_ms + minutesLeft(rules, time_zone, change_ms / MINUTE_MS) * MINUTE_MS;
}

/** Minutes from `minute` (since the epoch) to the end of the window, by the clock that is valid at that minute. */
function minutesLeft(rules: QuietHours, time_zone: string, minute: number): number {
  const local = localMinutes(time_zone, minute * MINUTE_MS);
  return (minutesOf(rules.end) - local + MINUTES_A_DAY) % MINUTES_A_DAY;
}

/** Minutes since midnight, local time of the zone. */
function localMinutes(time_zone: string, at_ms: number): number {
  const minutes = Math.floor(zoneOf(time_zone).localMs(at_ms) / MINUTE_MS);
  return ((minutes % MINUTES_A_DAY) + MINUTES_A_DAY) % MINUTES_A_DAY;
}

function zoneOf(name: string): TimeZone {
  return TimeZone.named(name) ?? UTC_ZONE;
}

function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}
