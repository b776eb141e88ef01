import { inBatches } from '../../platform/in-batches.ts';
import type { Platform } from '../../platform/platform.ts';
import { removeOldCalls } from './call-queries.ts';

/** How long a call that was given up stays visible. */
const RETENTION_MS = 90 * 86_400_000;

/** Removes calls of platforms that were given up 90 days ago. Decisions are kept. */
export async function cleanUpKyc(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  stop?: AbortSignal,
): Promise<void> {
  const before = new Date(clock.now_ms() - RETENTION_MS);
  await inBatches((limit) => removeOldCalls(postgres.service, before, limit), stop);
}
