import type { LocalWait } from '../../../../src/engage/journeys/graph/local-time.ts';

// An oracle for local times, by Intl alone: what clocks show in each minute, and when a wait goes on.

const MINUTE_MS = 60_000;
/** So often the oracle asks Intl; in between the clock advances evenly if it does at both ends, else it asks for each minute. */
const SAMPLE = 60;

/** What clocks show in a zone, by Intl alone: minutes since 1970-01-01 00:00 of the local calendar. */
export function wallClock(zone: string): (utc_minute: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  return (utc_minute) => {
    const text = format.format(utc_minute * MINUTE_MS);
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = (text.match(/\d+/g) ?? []).map(Number);
    return Date.UTC(year, month - 1, day, hour, minute) / MINUTE_MS;
  };
}

/** What clocks show in each minute from `first` on. */
export function table(clock: (minute: number) => number, first: number, length: number): number[] {
  const shown: number[] = [];
  let there = clock(first);
  for (let minute = first; minute < first + length; minute += SAMPLE) {
    const here = there;
    there = clock(minute + SAMPLE);
    for (let n = 0; n < SAMPLE; n++) shown.push(there - here === SAMPLE ? here + n : clock(minute + n));
  }
  return shown;
}

/** Day of the week of a local calendar day, 1 to 7. The first day of 1970 was a Thursday. */
export const weekday = (local_day: number) => ((local_day + 3) % 7) + 1;

/** For each minute of the table, the first from it on at which the wait goes on. */
export function goingOn(shown: readonly number[], wait: LocalWait): number[] {
  const begin = wait.until === 'time' ? wait.minute : wait.from_minute;
  const lasts = wait.until === 'time' ? 1 : (wait.to_minute - wait.from_minute + 1_440) % 1_440 || 1_440;
  const isOn = (day: number) => wait.days.length === 0 || wait.days.includes(weekday(day));
  const goes = shown.map((now) => {
    const today = Math.floor(now / 1_440);
    const since = (day: number) => now - day * 1_440 - begin;
    const isWithin = (day: number) => since(day) >= 0 && since(day) < lasts && isOn(day);
    return isWithin(today) || isWithin(today - 1);
  });
  const seen = new Set<number>();
  for (const [n, now] of shown.entries()) {
    const before = shown[n - 1] ?? now - 1;
    // A time that comes again is no time to go on; one that is left out is made up for.
    if (wait.until === 'time' && seen.has(now)) goes[n] = false;
    seen.add(now);
    for (let skipped = before + 1; skipped < now; skipped++) {
      const [day, minute] = [Math.floor(skipped / 1_440), skipped % 1_440];
      if (minute === begin && isOn(day)) goes[n] = true;
    }
  }
  const next = Array.from<number>({ length: shown.length });
  for (let n = shown.length - 1; n >= 0; n--) next[n] = goes[n] ? n : (next[n + 1] ?? Number.NaN);
  return next;
}
