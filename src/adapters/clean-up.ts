import type { Platform } from '../platform/platform.ts';
import { removeOldWebhooks } from './ledger-queries.ts';
import { removeExpiredSecrets } from './secret-queries.ts';

/** How long the ledger of webhooks is kept. */
const RETENTION_MS = 400 * 86_400_000;
/** Rows per statement. */
const MAX_BATCH = 1_000;

/** Removes webhooks of platforms from the ledger after 400 days, and secrets that have expired. */
export async function cleanUpAdapters(
  { postgres, clock, logger }: Pick<Platform, 'postgres' | 'clock' | 'logger'>,
  stop?: AbortSignal,
): Promise<void> {
  const now_ms = clock.now_ms();
  const all = async (step: (limit: number) => Promise<number>) => {
    for (let done = 0; ;) {
      const count = await step(MAX_BATCH);
      done += count;
      if (count < MAX_BATCH || stop?.aborted === true) return done;
    }
  };
  const { service } = postgres;
  const webhooks = await all((limit) => removeOldWebhooks(service, new Date(now_ms - RETENTION_MS), limit));
  const secrets = await all((limit) => removeExpiredSecrets(service, new Date(now_ms), limit));
  logger.info({ webhooks, secrets }, 'removed old webhooks of adapters and expired secrets');
}
