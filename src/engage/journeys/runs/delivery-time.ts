import {
  BACKOFF_FACTOR,
  JITTER_PERCENT,
  MAX_PAUSE_MS,
  MAX_RETRY_AFTER_MS,
} from '../../webhooks/retry-schedule.ts';
import type { CallWebhookNode } from '../graph/shapes.ts';

/**
 * How long after its step a webhook's last attempt may end at the latest: every attempt takes its whole time, and every
 * pause is the longest possible (its back-off, or what the receiver may ask for). Time in which attempts wait for their
 * turn is not in it.
 */
export function lastAttemptMs({ timeout_ms, retry }: Pick<CallWebhookNode, 'timeout_ms' | 'retry'>): number {
  let total_ms = retry.max_attempts * timeout_ms;
  for (let n = 0; n < retry.max_attempts - 1; n++) {
    const usual_ms = Math.min(retry.backoff_ms * BACKOFF_FACTOR ** n, MAX_PAUSE_MS);
    const backoff_ms = (usual_ms * (100 + JITTER_PERCENT)) / 100;
    total_ms += Math.max(backoff_ms, MAX_RETRY_AFTER_MS);
  }
  return Math.ceil(total_ms);
}
