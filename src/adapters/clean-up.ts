import { inBatches } from '../platform/in-batches.ts';
import type { Platform } from '../platform/platform.ts';
import { removeOldWebhooks } from './ledger-queries.ts';
import { removeExpiredSecrets } from './secret-queries.ts';

/** How long the ledger of webhooks is kept. */
const RETENTION_MS = 400 * 86_400_000;

/** Removes webhooks of platforms from the ledger after 400 days, and secrets that have expired. */
export async function cleanUpAdapters(
  { postgres, clock, logger }: Pick<Platform, 'postgres' | 'clock' | 'logger'>,
  stop?: AbortSignal,
): Promise<void> {
  const now_ms = clock.now_ms();
  const { service } = postgres;
  const webhooks = await inBatches(
    (limit) => removeOldWebhooks(service, new Date(now_ms - RETENTION_MS), limit),
    stop,
  );
  const secrets = await inBatches((limit) => removeExpiredSecrets(service, new Date(now_ms), limit), stop);
  logger.info({ webhooks, secrets }, 'removed old webhooks of adapters and expired secrets');
}
