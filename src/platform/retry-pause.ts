import { bucketOf } from './bucket.ts';

/** How the pauses between attempts at the same work grow: by a factor, or as listed. */
export type RetrySchedule = (
  | {
      first_ms: number;
      longest_ms: number;
      /** Each pause is so many times the one before it; by default 2. */
      factor?: number;
    }
  /** The pauses after the first attempts; the last one repeats. */
  | { pauses_ms: readonly number[] }
) & {
  /** How many percent longer or shorter a pause may be; by default none. */
  jitter_percent?: number;
  /** The longest pause that the other side may ask for; by default none. */
  longest_asked_ms?: number;
};

/** The limits of pauses between calls to other systems: webhooks, casino platforms. */
export const CALL_PAUSES = { jitter_percent: 20, longest_asked_ms: 3_600_000 };

const JITTER_STEPS = 1_001;

/**
 * The jitter of the pause after an attempt. It follows from `key`, which names what the attempts are about, so that calls
 * which failed together do not come back together.
 */
export function jitterOf(key: string, attempt: number): number {
  return bucketOf(`${key}:${attempt}`, JITTER_STEPS) / (JITTER_STEPS - 1);
}

/** What a pause follows. */
export interface FailedAttempt {
  /** The number of attempts that have failed, at least 1. */
  attempt: number;
  /** From 0 (the shortest pause) to 1 (the longest); by default in the middle. */
  jitter?: number;
  /** The pause that the other side asked for; null: none. */
  asked_ms?: number | null;
}

/**
 * The pause before the next attempt, in whole milliseconds: the schedule's own with its jitter, or the one that was asked
 * for when that is longer.
 */
export function retryPauseMs(
  schedule: RetrySchedule,
  { attempt, jitter = 0.5, asked_ms = null }: FailedAttempt,
): number {
  const { jitter_percent = 0, longest_asked_ms = 0 } = schedule;
  const own_ms = (ownMs(schedule, attempt) * (100 + jitter_percent * (2 * jitter - 1))) / 100;
  return Math.round(Math.max(own_ms, Math.min(asked_ms ?? 0, longest_asked_ms)));
}

function ownMs(schedule: RetrySchedule, attempt: number): number {
  if ('pauses_ms' in schedule) return schedule.pauses_ms[attempt - 1] ?? schedule.pauses_ms.at(-1) ?? 0;
  const { first_ms, longest_ms, factor = 2 } = schedule;
  return Math.min(first_ms * factor ** (attempt - 1), longest_ms);
}
