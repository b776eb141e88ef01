import { bucketOf } from '../platform/bucket.ts';
import { retryPauseMs, type RetrySchedule } from '../platform/retry-pause.ts';

// When a call of a platform that had no usable answer is made again (bonuses part 9): grants, cancellations, KYC.

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];

/** The pauses after the first calls that had no usable answer; then one every hour. */
const USUAL = {
  pauses_ms: [SECOND_MS, 5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS],
  jitter_percent: 20,
  longest_asked_ms: HOUR_MS,
};

/** By how much a pause is shorter when the platform takes other calls again. */
const HURRIED_PART = 10;
const HURRIED = { ...USUAL, pauses_ms: USUAL.pauses_ms.map((ms) => ms / HURRIED_PART) };

const STEPS = 1_001;

/**
 * The pause after a call, in milliseconds. `calls` counts from 1. The jitter follows from `key`, which names what
 * the calls are about, so that calls which failed together do not come back together.
 */
export function callPauseMs(key: string, calls: number, retry_after_ms = 0): number {
  return pauseOf(USUAL, key, calls, retry_after_ms);
}

/**
 * The pause after a call when the platform takes others again meanwhile, in milliseconds: a tenth, so that what it refuses
 * each time is still called ever more rarely, or what the platform has asked for.
 */
export function hurriedCallPauseMs(key: string, calls: number, retry_after_ms = 0): number {
  return pauseOf(HURRIED, key, calls, retry_after_ms);
}

function pauseOf(schedule: RetrySchedule, key: string, calls: number, asked_ms: number): number {
  const jitter = bucketOf(`${key}:${calls}`, STEPS) / (STEPS - 1);
  return retryPauseMs(schedule, { attempt: calls, jitter, asked_ms });
}
