import { parseTimestamp } from '../../../platform/timestamp.ts';
import { localMomentMs } from './local-time.ts';

/** A time without an offset, as callers write what players see on their clocks. */
const LOCAL = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const EPOCH = /^-?\d{9,14}$/;

/** A smaller number is not a time since the epoch, but an amount or a count. In seconds: from March 1973 on. */
const LEAST_S = 100_000_000;
/** From here on a number counts milliseconds: as seconds it would be after the year 5000. */
const LEAST_MS = 100_000_000_000;
/** The most digits of {@link EPOCH}: a larger number counts microseconds or less, which are not moments here. */
const MOST_MS = 99_999_999_999_999;

/**
 * The moment that a value of a run's context or player names, in milliseconds since the epoch: a time with an offset, a
 * time without one (that of the clocks in `zone`), a date (its midnight in UTC), or seconds or milliseconds since the epoch,
 * as a number or as digits. `missing`: there is no value. `unreadable`: there is one that does not name a moment.
 */
export function namedMomentMs(value: unknown, zone: string): number | 'missing' | 'unreadable' {
  if (value === undefined || value === null || value === '') return 'missing';
  if (typeof value === 'number' || typeof value === 'bigint') return epochMs(Number(value));
  if (typeof value !== 'string') return 'unreadable';
  if (EPOCH.test(value)) return epochMs(Number(value));
  // A space in place of the T, as databases write it.
  const text = value.charAt(10) === ' ' ? `${value.slice(0, 10)}T${value.slice(11)}` : value;
  if (DATE.test(text)) return parseTimestamp(`${text}T00:00:00Z`) ?? 'unreadable';
  if (!LOCAL.test(text)) return parseTimestamp(text) ?? 'unreadable';
  const shown_ms = parseTimestamp(`${text}Z`);
  return shown_ms === undefined ? 'unreadable' : localMomentMs(shown_ms, zone);
}

function epochMs(value: number): number | 'unreadable' {
  const size = Math.abs(value);
  if (!(size >= LEAST_S && size <= MOST_MS)) return 'unreadable';
  return Math.floor(size < LEAST_MS ? value * 1_000 : value);
}
