import type { TimeZone } from './time-zone.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Of a month: the longest. */
const LENGTH_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 31 * DAY_MS } as const;
/** The epoch was a Thursday. */
const MONDAY_MS = 4 * DAY_MS;

/** The interval before, the one itself, and those behind it, of which clocks may skip one. */
const NEIGHBOURS = [-1, 0, 1, 2] as const;

export type LocalInterval = keyof typeof LENGTH_MS;

/**
 * When the hour, day, week or month begins that is going on at `at_ms` by the clocks of the zone, in milliseconds since the epoch.
 * A day begins at its first local midnight, or behind the gap that skips midnight: it has 23 or 25 hours where clocks
 * change. A week begins with its Monday. An hour that the clocks show twice is two hours.
 */
export function startOfLocal(zone: TimeZone, interval: LocalInterval, at_ms: number): number {
  const starts = startsAround(zone, interval, at_ms).filter((start_ms) => start_ms <= at_ms);
  return Math.max(...starts);
}

/** When the hour, day, week or month after the one of `at_ms` begins; see {@link startOfLocal}. */
export function nextLocal(zone: TimeZone, interval: LocalInterval, at_ms: number): number {
  const starts = startsAround(zone, interval, at_ms).filter((start_ms) => start_ms > at_ms);
  return Math.min(...starts);
}

/** When the interval begins that is `count` ones before the one of `at_ms`; see {@link startOfLocal}. */
export function startBefore(zone: TimeZone, interval: LocalInterval, at_ms: number, count: number): number {
  let start_ms = startOfLocal(zone, interval, at_ms);
  for (let n = 0; n < count; n++) start_ms = startOfLocal(zone, interval, start_ms - 1);
  return start_ms;
}

/** The local date at a time, `YYYY-MM-DD`. */
export function localDate(zone: TimeZone, at_ms: number): string {
  return new Date(zone.localMs(at_ms)).toISOString().slice(0, 10);
}

/** The local date and time of day at a time, `YYYY-MM-DD HH:MM`. */
export function localTimeText(zone: TimeZone, at_ms: number): string {
  return new Date(zone.localMs(at_ms)).toISOString().slice(0, 16).replace('T', ' ');
}

/** The beginnings of the interval of a time and of its neighbours; a skipped one begins when the next one does. */
function startsAround(zone: TimeZone, interval: LocalInterval, at_ms: number): number[] {
  const local_ms = zone.localMs(at_ms);
  // Far from a change the clocks are ahead by the same at each of these times.
  const reach_ms = 3 * LENGTH_MS[interval] + DAY_MS;
  if (zone.changeBetween(at_ms - reach_ms, at_ms + reach_ms) === undefined) {
    return NEIGHBOURS.map((n) => shownStart(interval, local_ms, n) - (local_ms - at_ms));
  }
  return NEIGHBOURS.flatMap((n) => {
    const { first_ms, second_ms } = zone.momentsOf(shownStart(interval, local_ms, n));
    return interval === 'hour' ? [first_ms, second_ms] : [first_ms];
  });
}

/** What clocks show when the interval begins that is `n` ones after the one of a shown time. */
function shownStart(interval: LocalInterval, local_ms: number, n: number): number {
  if (interval === 'month') {
    const shown = new Date(local_ms);
    return Date.UTC(shown.getUTCFullYear(), shown.getUTCMonth() + n, 1);
  }
  const length_ms = LENGTH_MS[interval];
  const origin_ms = interval === 'week' ? MONDAY_MS : 0;
  return Math.floor((local_ms - origin_ms) / length_ms) * length_ms + origin_ms + n * length_ms;
}
