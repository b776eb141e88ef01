import { inBatches } from '../../platform/in-batches.ts';
import type { Platform } from '../../platform/platform.ts';
import { removeOldRejections } from './queries.ts';

/** How long a refusal is shown after it came last. */
const KEPT_MS = 7 * 86_400_000;

/** Removes what came last over 7 days ago. */
export async function cleanUpRejections(
  { postgres, clock, logger }: Pick<Platform, 'postgres' | 'clock' | 'logger'>,
  stop?: AbortSignal,
): Promise<void> {
  const before = new Date(clock.now_ms() - KEPT_MS);
  const rejections = await inBatches((limit) => removeOldRejections(postgres.service, before, limit), stop);
  logger.info({ rejections }, 'removed old rejected events');
}
