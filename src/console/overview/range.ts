import { validationError } from '../../errors.ts';
import type { Range, Steps } from './money-queries.ts';
import type { Interval, RangeQuery } from './schema.ts';

const DAY_MS = 86_400_000;
const MAX_RANGE_MS = 366 * DAY_MS;
const MAX_POINTS = 1_000;
/** Points by default. */
const DEFAULT_POINTS: Record<Interval, number> = { hour: 24, day: 30, week: 12 };
const STEP_MS: Record<Interval, number> = { hour: 3_600_000, day: DAY_MS, week: 7 * DAY_MS };
/** The epoch was a Thursday. */
const MONDAY_MS = 4 * DAY_MS;

/** The range of a query: by default the day of `now_ms` in UTC up to now. Throws VALIDATION_ERROR for an unusable one. */
export function rangeOf({ from, to }: RangeQuery, now_ms: number): Range {
  const to_ms = to === undefined ? now_ms : Date.parse(to);
  // A range that ends at midnight is the day before.
  const from_ms = from === undefined ? Math.floor((to_ms - 1) / DAY_MS) * DAY_MS : Date.parse(from);
  if (from_ms >= to_ms) throw validationError([{ path: 'from', message: 'must be before `to`' }]);
  if (to_ms - from_ms > MAX_RANGE_MS)
    throw validationError([{ path: 'from', message: 'must be at most 366 days before `to`' }]);
  return { from_ms, to_ms };
}

/** What a range is compared with: the same range a week earlier, or right before it where it is longer than a week. */
export function rangeBefore({ from_ms, to_ms }: Range): Range {
  const shift_ms = Math.max(7, Math.ceil((to_ms - from_ms) / DAY_MS)) * DAY_MS;
  return { from_ms: from_ms - shift_ms, to_ms: to_ms - shift_ms };
}

/** A range as one step. */
export function oneStep(range: Range): Steps {
  return { ...range, step_ms: range.to_ms - range.from_ms };
}

/**
 * The whole intervals from the one with `from` to the one before or with `to`. Throws VALIDATION_ERROR when there are more
 * than {@link MAX_POINTS}.
 */
export function stepsOf({ from, to }: RangeQuery, interval: Interval, now_ms: number): Steps {
  const step_ms = STEP_MS[interval];
  const origin_ms = interval === 'week' ? MONDAY_MS : 0;
  const floor = (at_ms: number) => Math.floor((at_ms - origin_ms) / step_ms) * step_ms + origin_ms;
  const end_ms = to === undefined ? now_ms : Date.parse(to);
  const to_ms = floor(end_ms - 1) + step_ms;
  const from_ms = from === undefined ? to_ms - DEFAULT_POINTS[interval] * step_ms : floor(Date.parse(from));
  if (from_ms >= to_ms) throw validationError([{ path: 'from', message: 'must be before `to`' }]);
  if ((to_ms - from_ms) / step_ms > MAX_POINTS)
    throw validationError([{ path: 'from', message: `the range has more than ${MAX_POINTS} intervals` }]);
  return { from_ms, to_ms, step_ms };
}
