import { BoundedCache } from '../../../platform/bounded-cache.ts';
import { TimeZone, UTC_ZONE } from '../../../platform/time-zone.ts';
import type { WaitUntil } from './shapes.ts';

/** A `wait_until` for a local time or a daily window. */
export type LocalWait = Extract<WaitUntil, { until: 'time' | 'window' }>;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** From the day before, which may last over midnight, to the same day of the next week. */
const DAYS = Array.from({ length: 10 }, (_, n) => n - 1);

/**
 * The first moment from `now_ms` on that the wait is for, in milliseconds since the epoch: `now_ms` itself while the
 * minute of the local time runs, or inside the window. A window whose end is not after its start goes over midnight and
 * is of the day on which it begins.
 *
 * When clocks are put forward, a local time that is skipped (also the beginning of a window) comes at the first moment
 * after the gap. When they are put back, a local time that comes twice counts the first time only, and what is within a
 * window is within it both times.
 *
 * The zone is `own_zone` (the player's) if the wait is for the player's time, or if its own zone does not
 * exist; UTC where neither does.
 */
export function nextLocalMs(wait: LocalWait, own_zone: string, now_ms: number): number {
  const wanted = wait.timezone === 'player' ? own_zone : wait.timezone;
  const clock = TimeZone.named(wanted) ?? TimeZone.named(own_zone) ?? UTC_ZONE;
  const minute_ms = Math.floor(now_ms / MINUTE_MS) * MINUTE_MS;
  const key = `${clock.name} ${wait.until} ${minutesOf(wait)} ${wait.days.join()} ${minute_ms}`;
  let next_ms = NEXT.get(key);
  if (next_ms === undefined) {
    next_ms = wait.until === 'time' ? nextTime(clock, wait, minute_ms) : nextInside(clock, wait, minute_ms);
    NEXT.set(key, next_ms);
  }
  return Math.max(next_ms, now_ms);
}

/**
 * When the clocks of the zone (UTC where it does not exist) show a time, given as if it were UTC: the first
 * moment after the gap where it is skipped, the first of two where it comes twice.
 */
export function localMomentMs(shown_ms: number, zone: string): number {
  return (TimeZone.named(zone) ?? UTC_ZONE).momentsOf(shown_ms).first_ms;
}

/** Thousands of runs of a batch ask for the same. */
const NEXT = new BoundedCache<string, number>({ max: 10_000 });

function minutesOf(wait: LocalWait): string {
  return wait.until === 'time' ? String(wait.minute) : `${wait.from_minute}-${wait.to_minute}`;
}

type TimeWait = Extract<WaitUntil, { until: 'time' }>;
type WindowWait = Extract<WaitUntil, { until: 'window' }>;

/** `minute_ms`, here and below: the beginning of the running minute. */
function nextTime(clock: TimeZone, wait: TimeWait, minute_ms: number): number {
  const times = beginnings(clock, wait, wait.minute, minute_ms).map(({ first_ms }) => first_ms);
  return Math.min(...times.filter((at_ms) => at_ms >= minute_ms));
}

function nextInside(clock: TimeZone, wait: WindowWait, minute_ms: number): number {
  if (isInside(clock, wait, minute_ms)) return minute_ms;
  const openings = beginnings(clock, wait, wait.from_minute, minute_ms)
    .flatMap(({ first_ms, second_ms }) => [first_ms, second_ms])
    .filter((at_ms) => at_ms >= minute_ms);
  const opening_ms = Math.min(...openings);
  // Where clocks are put back, they may be put back into the window.
  for (let from_ms = minute_ms; from_ms < opening_ms; from_ms += DAY_MS) {
    const change_ms = clock.changeBetween(from_ms, Math.min(from_ms + DAY_MS, opening_ms));
    if (change_ms !== undefined && isInside(clock, wait, change_ms)) return change_ms;
  }
  return opening_ms;
}

/** Whether the local clock shows a minute of a window, or its beginning has been skipped just before. */
function isInside(clock: TimeZone, wait: WindowWait, minute_ms: number): boolean {
  const { from_minute, to_minute } = wait;
  const local_ms = clock.localMs(minute_ms);
  const midnight_ms = Math.floor(local_ms / DAY_MS) * DAY_MS;
  const minute = (local_ms - midnight_ms) / MINUTE_MS;
  const is_over_midnight = from_minute >= to_minute;
  const is_of_today = minute >= from_minute && (is_over_midnight || minute < to_minute);
  if (is_of_today && isOn(wait, midnight_ms)) return true;
  if (is_over_midnight && minute < to_minute && isOn(wait, midnight_ms - DAY_MS)) return true;
  return beginnings(clock, wait, from_minute, minute_ms).some(({ first_ms }) => first_ms === minute_ms);
}

/** When a minute of the day comes on the allowed days from yesterday on. */
function beginnings(
  clock: TimeZone,
  wait: LocalWait,
  minute: number,
  minute_ms: number,
): { first_ms: number; second_ms: number }[] {
  const midnight_ms = Math.floor(clock.localMs(minute_ms) / DAY_MS) * DAY_MS;
  return DAYS.map((day) => midnight_ms + day * DAY_MS)
    .filter((day_ms) => isOn(wait, day_ms))
    .map((day_ms) => clock.momentsOf(day_ms + minute * MINUTE_MS));
}

/** Whether the day that begins at this local time is one of the wait's. */
function isOn({ days }: LocalWait, midnight_ms: number): boolean {
  // 1970-01-01 was a Thursday.
  const weekday = ((((midnight_ms / DAY_MS + 3) % 7) + 7) % 7) + 1;
  return days.length === 0 || days.includes(weekday);
}
