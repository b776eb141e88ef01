import type { CallWebhookNode } from '../journeys/graph/shapes.ts';
import { CALL_PAUSES, retryPauseMs } from '../../platform/retry-pause.ts';

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];

/** The schedule of a webhook whose run does not wait for the outcome: together 27.6 hours. */
const LONG = {
  ...CALL_PAUSES,
  pauses_ms: [
    5 * SECOND_MS,
    5 * MINUTE_MS,
    30 * MINUTE_MS,
    2 * HOUR_MS,
    5 * HOUR_MS,
    10 * HOUR_MS,
    10 * HOUR_MS,
  ],
};

/** How often a webhook is attempted whose run does not wait for the outcome. */
export const LONG_ATTEMPTS = LONG.pauses_ms.length + 1;

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
export function deliveryPauseMs({ backoff_ms, failed, retry_after_ms }: Failure, jitter: number): number {
  const schedule =
    backoff_ms === null
      ? LONG
      : { ...CALL_PAUSES, first_ms: backoff_ms, longest_ms: 24 * HOUR_MS, factor: 4 };
  return retryPauseMs(schedule, { attempt: failed, jitter, asked_ms: retry_after_ms });
}

/**
 * How long after its step a webhook's last attempt may end at the latest: every attempt takes its whole time, and every
 * pause is the longest possible (its back-off, or what the receiver may ask for). Time in which attempts wait for their
 * turn is not in it.
 */
export function lastAttemptMs({ timeout_ms, retry }: Pick<CallWebhookNode, 'timeout_ms' | 'retry'>): number {
  const { backoff_ms } = retry;
  let total_ms = retry.max_attempts * timeout_ms;
  for (let failed = 1; failed < retry.max_attempts; failed++) {
    total_ms += deliveryPauseMs({ backoff_ms, failed, retry_after_ms: CALL_PAUSES.longest_asked_ms }, 1);
  }
  return total_ms;
}
