import type { Platform } from '../../platform/platform.ts';
import { removeOldCalls } from './call-queries.ts';

/** How long a call that was given up stays visible. */
const RETENTION_MS = 90 * 86_400_000;
/** Rows per statement. */
const MAX_BATCH = 1_000;

/** Removes calls of platforms that were given up 90 days ago. Decisions are kept. */
export async function cleanUpKyc(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  stop?: AbortSignal,
): Promise<void> {
  const before = new Date(clock.now_ms() - RETENTION_MS);
  for (;;) {
    const removed = await removeOldCalls(postgres.service, before, MAX_BATCH);
    if (removed < MAX_BATCH || stop?.aborted === true) return;
  }
}
