import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import type { SubscriptionRef } from '../webhooks/subscription-ref.ts';
import { countPending, dropOldest, noteCounted } from './bound-queries.ts';
import { lockSubscription } from './queries.ts';

/** How many events may wait, and how many more may be queued before they are counted again. */
export interface QueueLimits {
  max_pending: number;
  step: number;
}
export const LIMITS: QueueLimits = { max_pending: 1_000_000, step: 10_000 };

/** Events that one transaction removes. */
const MAX_DROPPED = 2_000;

/**
 * Removes the oldest events of a subscription beyond those that may wait, and counts them in `dropped`. To count a million rows
 * takes a tenth of a second: it is done when so many were queued since the last time that there may be too many.
 */
export async function boundQueue(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  ref: SubscriptionRef,
  { max_pending, step }: QueueLimits,
): Promise<void> {
  for (let has_more = true; has_more;) {
    has_more = await retryConflicts(() =>
      postgres.service.begin(async (tx) => {
        const row = await lockSubscription(tx, ref);
        if (row === undefined || row.last_sequence < row.counted_at_sequence) return false;
        const excess = (await countPending(tx, row, max_pending + step)) - max_pending;
        const dropped =
          excess > 0 ? await dropOldest(tx, row, Math.min(excess, MAX_DROPPED), new Date(clock.now_ms())) : 0;
        // Beyond `step` they are not counted. Where none is dropped, those that are left are under way.
        if (dropped > 0 && (excess > MAX_DROPPED || excess === step)) return true;
        await noteCounted(tx, row, row.last_sequence + BigInt(Math.max(step, -excess)));
        return false;
      }),
    );
  }
}
