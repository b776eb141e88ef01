import { validationError } from '../../errors.ts';
import { nextLocal, startBefore, startOfLocal } from '../../platform/local-intervals.ts';
import { UTC_ZONE, type TimeZone } from '../../platform/time-zone.ts';
import type { Range, Steps } from './money-queries.ts';
import type { Interval, RangeQuery } from './schema.ts';

const DAY_MS = 86_400_000;
const MAX_RANGE_MS = 366 * DAY_MS;
const MAX_POINTS = 1_000;
/** Points by default. */
const DEFAULT_POINTS: Record<Interval, number> = { hour: 24, day: 30, week: 12 };

/**
 * The range of a query: by default the day of `now_ms` in the zone up to now. Throws VALIDATION_ERROR for an unusable one.
 */
export function rangeOf(query: RangeQuery, now_ms: number, zone: TimeZone): Range {
  const to_ms = endOf(query, now_ms);
  const from_ms = beginningOf(query, now_ms, zone) ?? startOfLocal(zone, 'day', to_ms - 1);
  if (from_ms >= to_ms) throw validationError([{ path: 'from', message: 'must be before `to`' }]);
  if (lengthOf({ from_ms, to_ms }, zone) > MAX_RANGE_MS)
    throw validationError([{ path: 'from', message: 'must be at most 366 days before `to`' }]);
  return { from_ms, to_ms };
}

/**
 * What a range is compared with: the same range of local times a week earlier, or right before it where it is longer than
 * a week.
 */
export function rangeBefore(range: Range, zone: TimeZone = UTC_ZONE): Range {
  const shift_ms = Math.max(7, Math.ceil(lengthOf(range, zone) / DAY_MS)) * DAY_MS;
  const before = (at_ms: number) => zone.momentsOf(zone.localMs(at_ms) - shift_ms).first_ms;
  const from_ms = before(range.from_ms);
  // Within an hour that the clocks show twice, the end may show an earlier time than the beginning.
  return { from_ms, to_ms: Math.max(from_ms, before(range.to_ms)) };
}

/** How long the clocks show that a range is: days are equal where clocks change, too. */
function lengthOf({ from_ms, to_ms }: Range, zone: TimeZone): number {
  return zone.localMs(to_ms) - zone.localMs(from_ms);
}

/**
 * The whole local intervals from the one with `from` to the one before or with `to`. Throws VALIDATION_ERROR when there are
 * more than {@link MAX_POINTS}.
 */
export function stepsOf(query: RangeQuery, interval: Interval, now_ms: number, zone: TimeZone): Steps {
  const to_ms = nextLocal(zone, interval, endOf(query, now_ms) - 1);
  const begin_ms = beginningOf(query, now_ms, zone);
  const from_ms =
    begin_ms === undefined
      ? startBefore(zone, interval, to_ms, DEFAULT_POINTS[interval])
      : startOfLocal(zone, interval, begin_ms);
  if (from_ms >= to_ms) throw validationError([{ path: 'from', message: 'must be before `to`' }]);
  const starts_ms: number[] = [];
  for (let at_ms = from_ms; at_ms < to_ms; at_ms = nextLocal(zone, interval, at_ms)) {
    starts_ms.push(at_ms);
    if (starts_ms.length > MAX_POINTS)
      throw validationError([{ path: 'from', message: `the range has more than ${MAX_POINTS} intervals` }]);
  }
  return { from_ms, to_ms, starts_ms };
}

function endOf({ to }: RangeQuery, now_ms: number): number {
  return to === undefined ? now_ms : Date.parse(to);
}

/** When the range of a query begins; undefined: it does not say. Throws VALIDATION_ERROR when it says so twice. */
function beginningOf(query: RangeQuery, now_ms: number, zone: TimeZone): number | undefined {
  const { from, days } = query;
  if (days === undefined) return from === undefined ? undefined : Date.parse(from);
  if (from !== undefined) throw validationError([{ path: 'days', message: 'is instead of `from`' }]);
  // A range that ends at midnight is of the day before.
  return startBefore(zone, 'day', endOf(query, now_ms) - 1, days - 1);
}
