import type { CronEntry } from '../platform/jobs/port.ts';
import type { Platform } from '../platform/platform.ts';
import { removeExpiredRecords } from './idempotency.ts';

export const CLEAN_UP_TASK = 'idempotency-clean-up';

/** Each new record removes old ones of its tenant; this daily job (03:30 UTC) cleans up tenants without new records. */
export const CLEAN_UP_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'idempotency clean-up',
    match: '30 3 * * *',
    backfill_ms: 0,
    job: { task: CLEAN_UP_TASK, payload: {}, max_attempts: 3, job_key: CLEAN_UP_TASK },
  },
];

/** The task: removes records older than 7 days. */
export async function runCleanUp(platform: Pick<Platform, 'postgres' | 'clock' | 'logger'>): Promise<void> {
  const removed = await removeExpiredRecords(platform);
  platform.logger.info({ removed }, 'removed expired idempotency records');
}
