import { validationError } from '../../errors.ts';
import { nextLocal, startBefore, startOfLocal } from '../../platform/local-intervals.ts';
import type { TimeZone } from '../../platform/time-zone.ts';
import type { ComparedSteps, Steps } from './kind.ts';
import { MAX_DAYS, MAX_POINTS } from './limits.ts';
import type { Comparison, InsightQuery, Interval } from './schema.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

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
 * What a range is compared with, an interval for each of its own: those right before it; those a week earlier by the clocks;
 * or a year earlier, of weeks and shorter intervals 52 weeks, so that weekdays are compared with themselves. Hours are
 * compared with the same hours by the clocks, however many hours a day has: an hour that was shown twice is one where the range has
 * it once, and one that the clocks skip in the range belongs to no interval of it, only to the whole. Throws VALIDATION_ERROR
 * where a week earlier is no interval of its own.
 */
export function comparedSteps(steps: Steps, compare: Comparison, zone: TimeZone): ComparedSteps {
  const { interval, starts_ms, from_ms, to_ms } = steps;
  if (interval === 'month') {
    if (compare === 'week')
      throw validationError([{ path: 'compare', message: 'months cannot be compared with a week earlier' }]);
    const [count, end_ms] =
      compare === 'previous' ? [starts_ms.length, from_ms] : [12, startBefore(zone, interval, to_ms, 12)];
    return inTurn(between(startBefore(zone, interval, from_ms, count), end_ms, interval, zone));
  }
  if (compare === 'previous' && interval !== 'hour') {
    const first_ms = startBefore(zone, interval, from_ms, starts_ms.length);
    return inTurn(between(first_ms, from_ms, interval, zone));
  }
  // An hour that the clocks skip right before the range is what the range begins with: a day that begins at 01:00 is a whole day.
  const shown_from_ms = Math.min(zone.localMs(from_ms), zone.localMs(from_ms - 1) + 1);
  const shift_ms = {
    previous: zone.localMs(to_ms) - shown_from_ms,
    week: 7 * DAY_MS,
    year: 364 * DAY_MS,
  }[compare];
  // What the clocks show when an interval begins, or would if they did not skip it.
  const shown = (at_ms: number) => floorTo(zone.localMs(at_ms), interval === 'hour' ? HOUR_MS : DAY_MS);
  const before = (at_ms: number) => zone.momentsOf(shown(at_ms) - shift_ms).first_ms;
  const first_ms = zone.momentsOf(shown_from_ms - shift_ms).first_ms;
  const end_ms = compare === 'previous' ? from_ms : before(to_ms);
  if (interval !== 'hour')
    return inTurn({ interval, from_ms: first_ms, to_ms: end_ms, starts_ms: starts_ms.map(before) });
  const hours = between(first_ms, end_ms, interval, zone);
  const of_before = byShown(hours.starts_ms, (at_ms) => shown(at_ms) + shift_ms);
  const of_range = byShown(starts_ms, shown);
  const pairs_ms = starts_ms.map((at_ms) => {
    const place = of_range.get(shown(at_ms))?.indexOf(at_ms) ?? 0;
    return of_before.get(shown(at_ms))?.[place];
  });
  const isOwn = (at_ms: number) => {
    const shown_ms = shown(at_ms) + shift_ms;
    return pairs_ms.includes(at_ms) || of_before.get(shown_ms)?.[0] === at_ms;
  };
  return { ...hours, starts_ms: hours.starts_ms.filter(isOwn), pairs_ms };
}

/** Intervals of which each is compared with the one in its place. */
function inTurn(steps: Steps): ComparedSteps {
  return { ...steps, pairs_ms: steps.starts_ms };
}

/** Times by what the clocks show: two of an hour that they show twice. */
function byShown(starts_ms: readonly number[], shown: (at_ms: number) => number): Map<number, number[]> {
  const by_shown = new Map<number, number[]>();
  for (const at_ms of starts_ms) by_shown.set(shown(at_ms), [...(by_shown.get(shown(at_ms)) ?? []), at_ms]);
  return by_shown;
}

function floorTo(local_ms: number, length_ms: number): number {
  return Math.floor(local_ms / length_ms) * length_ms;
}

function between(from_ms: number, to_ms: number, interval: Interval, zone: TimeZone): Steps {
  const starts_ms: number[] = [];
  for (let at_ms = from_ms; at_ms < to_ms; at_ms = nextLocal(zone, interval, at_ms)) starts_ms.push(at_ms);
  return { from_ms, to_ms, starts_ms, interval };
}
