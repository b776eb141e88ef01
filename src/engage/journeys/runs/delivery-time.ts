import { longestDeliveryPauseMs } from '../../webhooks/retry-schedule.ts';
import type { CallWebhookNode } from '../graph/shapes.ts';

/**
 * How long after its step a webhook's last attempt may end at the latest: every attempt takes its whole time, and every
 * pause is the longest possible (its back-off, or what the receiver may ask for). Time in which attempts wait for their
 * turn is not in it.
 */
export function lastAttemptMs({ timeout_ms, retry }: Pick<CallWebhookNode, 'timeout_ms' | 'retry'>): number {
  let total_ms = retry.max_attempts * timeout_ms;
  for (let failed = 1; failed < retry.max_attempts; failed++) {
    total_ms += longestDeliveryPauseMs(retry.backoff_ms, failed);
  }
  return total_ms;
}
