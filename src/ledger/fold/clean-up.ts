import { inBatches } from '../../platform/in-batches.ts';
import type { Platform } from '../../platform/platform.ts';
import { removeOldLetterCounts } from './duplicate-letters-queries.ts';
import { removeOldEventIds } from './event-ids-queries.ts';
import { removeOldSentIds } from './sent-ids-queries.ts';

/** How long an event without a reference counts once by its `dedupe_id`, at least (docs/feeds.md, Ids and times). */
const EVENT_IDS_MS = 90 * 86_400_000;

/** Removes `dedupe_id`s after 90 days, names of events when their time is over, and the numbers of letters of past days. */
export async function cleanUpFold(
  { postgres, clock, logger }: Pick<Platform, 'postgres' | 'clock' | 'logger'>,
  stop?: AbortSignal,
): Promise<void> {
  const now_ms = clock.now_ms();
  const { service } = postgres;
  const before = new Date(now_ms - EVENT_IDS_MS);
  const event_ids = await inBatches((limit) => removeOldEventIds(service, before, limit), stop);
  const sent_ids = await inBatches((limit) => removeOldSentIds(service, new Date(now_ms), limit), stop);
  const days = await inBatches((limit) => removeOldLetterCounts(service, now_ms, limit), stop);
  logger.info({ event_ids, sent_ids, days }, 'removed old ids of events');
}
