import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { retryPauseMs, type RetrySchedule } from '../../src/platform/retry-pause.ts';
import { runs } from '../engines/effort.ts';

const pausesOf = (schedule: RetrySchedule, count: number, rest = {}) =>
  Array.from({ length: count }, (_, n) => retryPauseMs(schedule, { attempt: n + 1, ...rest }));

it('pauses double up to the longest, however often an attempt fails', () => {
  const schedule = { first_ms: 100, longest_ms: 500 };
  expect(pausesOf(schedule, 5)).toEqual([100, 200, 400, 500, 500]);
  expect(retryPauseMs(schedule, { attempt: 1e6 })).toBe(500);
  expect(pausesOf({ first_ms: 700, longest_ms: 500 }, 2)).toEqual([500, 500]);
});

it('pauses grow by another factor, or as listed, and then the last one repeats', () => {
  expect(pausesOf({ first_ms: 10, longest_ms: 1_000, factor: 4 }, 5)).toEqual([10, 40, 160, 640, 1_000]);
  expect(pausesOf({ pauses_ms: [5, 50, 20] }, 5)).toEqual([5, 50, 20, 20, 20]);
});

it('a pause has its jitter, is a whole number, and is no shorter than what was asked for within the limit', () => {
  const schedule = { first_ms: 1_000, longest_ms: 9_000, jitter_percent: 20, longest_asked_ms: 5_000 };
  expect(pausesOf(schedule, 3, { jitter: 0 })).toEqual([800, 1_600, 3_200]);
  expect(pausesOf(schedule, 3, { jitter: 1 })).toEqual([1_200, 2_400, 4_800]);
  expect(pausesOf(schedule, 3, { asked_ms: 3_000 })).toEqual([3_000, 3_000, 4_000]);
  expect(pausesOf(schedule, 3, { asked_ms: 1e9 })).toEqual([5_000, 5_000, 5_000]);
  expect(pausesOf(schedule, 3, { asked_ms: null })).toEqual([1_000, 2_000, 4_000]);
  // Without a limit nothing can be asked for.
  expect(pausesOf({ first_ms: 10, longest_ms: 10 }, 1, { asked_ms: 1e9 })).toEqual([10]);
});

it('for every schedule, pauses never become shorter, stay within their bounds, and are whole', () => {
  const whole = (max: number) => fc.integer({ min: 1, max });
  const schedules = fc.record({
    first_ms: whole(3_600_000),
    longest_ms: whole(86_400_000),
    factor: fc.constantFrom(2, 3, 4),
    jitter_percent: fc.integer({ min: 0, max: 50 }),
    longest_asked_ms: whole(86_400_000),
  });
  const failures = fc.record({
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    asked_ms: fc.option(fc.integer({ min: 0, max: 1e9 })),
  });
  fc.assert(
    fc.property(schedules, failures, whole(2_000), (schedule, failed, attempt) => {
      const pause_ms = retryPauseMs(schedule, { ...failed, attempt });
      const { longest_ms, jitter_percent, longest_asked_ms } = schedule;
      expect(Number.isSafeInteger(pause_ms)).toBe(true);
      expect(retryPauseMs(schedule, { ...failed, attempt: attempt + 1 })).toBeGreaterThanOrEqual(pause_ms);
      const asked_ms = Math.min(failed.asked_ms ?? 0, longest_asked_ms);
      expect(pause_ms).toBeGreaterThanOrEqual(asked_ms);
      const own_ms = Math.round((longest_ms * (100 + jitter_percent)) / 100);
      expect(pause_ms).toBeLessThanOrEqual(Math.max(own_ms, asked_ms));
    }),
    { numRuns: runs(500) },
  );
});
