import { validationError } from '../../errors.ts';
import { nextLocal, startBefore, startOfLocal } from '../../platform/local-intervals.ts';
import type { TimeZone } from '../../platform/time-zone.ts';
import type { Steps } from './kind.ts';
import { MAX_DAYS, MAX_POINTS } from './limits.ts';
import type { Comparison, InsightQuery, Interval } from './schema.ts';

const DAY_MS = 86_400_000;

/**
 * The whole local intervals from the one with the beginning of the range to the one before or with its end. Throws
 * VALIDATION_ERROR when the range is reversed, longer than 800 days, or has more than 1,000 intervals.
 */
export function stepsOf(
  { range, interval }: Pick<InsightQuery, 'range' | 'interval'>,
  now_ms: number,
  zone: TimeZone,
): Steps {
  const ends = 'last' in range ? lastDays(range.last.days, now_ms, zone) : timesOf(range);
  if (ends.from_ms >= ends.to_ms) throw refused('from', 'must be before `to`');
  if (zone.localMs(ends.to_ms) - zone.localMs(ends.from_ms) > MAX_DAYS * DAY_MS)
    throw refused('from', `must be at most ${MAX_DAYS} days before \`to\``);
  const from_ms = startOfLocal(zone, interval, ends.from_ms);
  const to_ms = nextLocal(zone, interval, ends.to_ms - 1);
  const starts_ms: number[] = [];
  for (let at_ms = from_ms; at_ms < to_ms; at_ms = nextLocal(zone, interval, at_ms)) {
    starts_ms.push(at_ms);
    if (starts_ms.length > MAX_POINTS)
      throw refused('from', `the range has more than ${MAX_POINTS} intervals`);
  }
  return { from_ms, to_ms, starts_ms, interval };
}

function refused(path: string, message: string) {
  return validationError([{ path: `range.${path}`, message }]);
}

function timesOf({ from, to }: { from: string; to: string }) {
  return { from_ms: Date.parse(from), to_ms: Date.parse(to) };
}

function lastDays(days: number, now_ms: number, zone: TimeZone) {
  // The moment now is in the range.
  return { from_ms: startBefore(zone, 'day', now_ms, days - 1), to_ms: now_ms + 1 };
}

/**
 * What a range is compared with, an interval for each of its own: as many right before it; those a week earlier by the
 * clocks; or a year earlier, of weeks and shorter intervals 52 weeks, so that weekdays are compared with themselves. Throws
 * VALIDATION_ERROR where a week earlier is no interval of its own.
 */
export function comparedSteps(steps: Steps, compare: Comparison, zone: TimeZone): Steps {
  const { interval, starts_ms, from_ms, to_ms } = steps;
  if (compare === 'previous') {
    const first_ms = startBefore(zone, interval, from_ms, starts_ms.length);
    return between(first_ms, from_ms, interval, zone);
  }
  if (interval === 'month') {
    if (compare === 'week')
      throw validationError([{ path: 'compare', message: 'months cannot be compared with a week earlier' }]);
    return between(
      startBefore(zone, interval, from_ms, 12),
      startBefore(zone, interval, to_ms, 12),
      interval,
      zone,
    );
  }
  const shift_ms = (compare === 'week' ? 7 : 364) * DAY_MS;
  const before = (at_ms: number) => zone.momentsOf(zone.localMs(at_ms) - shift_ms).first_ms;
  return { interval, from_ms: before(from_ms), to_ms: before(to_ms), starts_ms: starts_ms.map(before) };
}

function between(from_ms: number, to_ms: number, interval: Interval, zone: TimeZone): Steps {
  const starts_ms: number[] = [];
  for (let at_ms = from_ms; at_ms < to_ms; at_ms = nextLocal(zone, interval, at_ms)) starts_ms.push(at_ms);
  return { from_ms, to_ms, starts_ms, interval };
}
