import { CALL_PAUSES, jitterOf, retryPauseMs, type RetrySchedule } from '../platform/retry-pause.ts';

// When a call of a platform that had no usable answer is made again (bonuses part 9): grants, cancellations, KYC.

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];

/** The pauses after the first calls that had no usable answer; then one every hour. */
const USUAL = {
  ...CALL_PAUSES,
  pauses_ms: [SECOND_MS, 5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS],
};

/** The shortest ones, for when the platform takes other calls again: what it refuses each time is called ever more rarely. */
const EARLY = { ...USUAL, pauses_ms: USUAL.pauses_ms.map((ms) => ms / 10) };

/**
 * The pause after a call, in milliseconds, or what the platform has asked for when that is longer. `calls` counts from 1;
 * `key` names what they are about.
 */
export const callPauseMs = (key: string, calls: number, retry_after_ms = 0): number =>
  pauseOf(USUAL, key, calls, retry_after_ms);

/** The same when the platform takes other calls again meanwhile: a tenth, but never less than it has asked for. */
export const earlyCallPauseMs = (key: string, calls: number, retry_after_ms = 0): number =>
  pauseOf(EARLY, key, calls, retry_after_ms);

const pauseOf = (schedule: RetrySchedule, key: string, attempt: number, asked_ms: number): number =>
  retryPauseMs(schedule, { attempt, jitter: jitterOf(key, attempt), asked_ms });
