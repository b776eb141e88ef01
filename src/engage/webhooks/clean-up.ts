import { inBatches } from '../../platform/in-batches.ts';
import type { Platform } from '../../platform/platform.ts';
import { giveUpExpired, removeEnded } from './clean-up-queries.ts';

/** How long deliveries are kept that have ended. */
const RETENTION_MS = 30 * 86_400_000;

/** Gives up pending deliveries after a week, and removes ended ones after 30 days. */
export async function cleanUpDeliveries({
  postgres,
  clock,
  logger,
}: Pick<Platform, 'postgres' | 'clock' | 'logger'>): Promise<void> {
  const now_ms = clock.now_ms();
  const expired = await inBatches((limit) => giveUpExpired(postgres.service, new Date(now_ms), limit));
  const removed = await inBatches((limit) =>
    removeEnded(postgres.service, new Date(now_ms - RETENTION_MS), limit),
  );
  logger.info({ expired, removed }, 'removed old webhook deliveries');
}
