/** The pause before each further attempt is so many times the one before it. */
export const BACKOFF_FACTOR = 4;
/** By how many percent of itself a pause may be longer or shorter. */
export const JITTER_PERCENT = 20;
/** The longest pause that a back-off grows to. */
export const MAX_PAUSE_MS = 24 * 3_600_000;
/** The longest `Retry-After` that is honoured. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];

/** The pauses of a webhook whose run does not wait for the outcome: together 27.6 hours. */
export const LONG_PAUSES_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
];

/** When a delivery is attempted again. */
export interface Failure {
  /** The first pause; null: the long schedule. */
  backoff_ms: number | null;
  /** Attempts that have failed, at least 1. */
  failed: number;
  /** What the receiver asked for; null: nothing. */
  retry_after_ms: number | null;
}

/** The pause before the next attempt, in milliseconds; `jitter` is a number from 0 to 1. */
export function pauseMs({ backoff_ms, failed, retry_after_ms }: Failure, jitter: number): number {
  const usual_ms =
    backoff_ms === null
      ? (LONG_PAUSES_MS[Math.min(failed, LONG_PAUSES_MS.length) - 1] ?? 0)
      : Math.min(backoff_ms * BACKOFF_FACTOR ** (failed - 1), MAX_PAUSE_MS);
  const jittered_ms = (usual_ms * (100 + JITTER_PERCENT * (2 * jitter - 1))) / 100;
  return Math.round(Math.max(jittered_ms, Math.min(retry_after_ms ?? 0, MAX_RETRY_AFTER_MS)));
}
