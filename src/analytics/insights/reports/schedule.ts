import type { TimeZone } from '../../../platform/time-zone.ts';
import type { Schedule } from './schema.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The first time of a schedule after `after_ms`, in milliseconds since the epoch: when the clocks of the zone first show the
 * hour on one of its dates, or, where they skip it, when they have skipped it. A date that they skip whole has no time.
 */
export function nextTime(zone: TimeZone, schedule: Schedule, after_ms: number): number {
  for (let date_ms = dateOf(zone, after_ms) - DAY_MS; ; date_ms += DAY_MS) {
    const at_ms = timeOn(zone, schedule, date_ms);
    if (at_ms !== undefined && at_ms > after_ms) return at_ms;
  }
}

/** The last time of a schedule that is not after `until_ms`; see {@link nextTime}. */
export function lastTime(zone: TimeZone, schedule: Schedule, until_ms: number): number {
  for (let date_ms = dateOf(zone, until_ms) + DAY_MS; ; date_ms -= DAY_MS) {
    const at_ms = timeOn(zone, schedule, date_ms);
    if (at_ms !== undefined && at_ms <= until_ms) return at_ms;
  }
}

/** The local date at a time, as midnight of UTC. */
function dateOf(zone: TimeZone, at_ms: number): number {
  return Math.floor(zone.localMs(at_ms) / DAY_MS) * DAY_MS;
}

/** The time of a schedule on a date; undefined: it has none. */
function timeOn(zone: TimeZone, schedule: Schedule, date_ms: number): number | undefined {
  if (!isDateOf(schedule, date_ms)) return undefined;
  const [begins_ms, ends_ms] = [date_ms, date_ms + DAY_MS].map((local) => zone.momentsOf(local).first_ms);
  if (begins_ms === ends_ms) return undefined;
  return zone.momentsOf(date_ms + schedule.hour * HOUR_MS).first_ms;
}

function isDateOf(schedule: Schedule, date_ms: number): boolean {
  const date = new Date(date_ms);
  switch (schedule.every) {
    case 'day':
      return true;
    case 'week':
      return (date.getUTCDay() || 7) === schedule.weekday;
    case 'month': {
      const day = date.getUTCDate();
      // The last day of a month that is shorter.
      const is_last = new Date(date_ms + DAY_MS).getUTCDate() === 1;
      return day === schedule.day || (is_last && day < schedule.day);
    }
  }
}
