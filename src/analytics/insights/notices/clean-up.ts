import type { Platform } from '../../../platform/platform.ts';
import { removeFirings } from '../alerts/queries.ts';
import { removeNotices } from './queries.ts';

/** Firings and notices are kept for so long. */
const KEPT_MS = 90 * 86_400_000;
const ROWS_AT_ONCE = 1_000;

/** Removes firings of alerts, and notices, that are older than 90 days. */
export async function cleanUpNotices(
  { postgres: { service }, clock }: Pick<Platform, 'postgres' | 'clock'>,
  stop?: AbortSignal,
): Promise<void> {
  const before = new Date(clock.now_ms() - KEPT_MS);
  for (const remove of [removeFirings, removeNotices]) {
    for (let removed = ROWS_AT_ONCE; removed === ROWS_AT_ONCE;) {
      stop?.throwIfAborted();
      removed = await remove(service, before, ROWS_AT_ONCE);
    }
  }
}
