import type { FxUrls } from '../../src/config.ts';
import { FETCH_CRONTAB, FETCH_TASK, runFetchJob } from '../../src/ledger/fx/fetch-job.ts';
import { PROVIDER_DEFAULTS } from '../../src/ledger/fx/rate-provider.ts';
import { CLEAN_UP_CRONTAB, CLEAN_UP_TASK, runCleanUp } from '../../src/http/idempotency-job.ts';
import type { JobWorker } from '../../src/platform/jobs/port.ts';
import {
  PURGE_TASK,
  REFRESH_TASK,
  runPurgeJob,
  runRefreshJob,
  runScheduleJob,
  SCHEDULE_TASK,
  SEGMENT_CRONTAB,
} from '../../src/segments/refresh-job.ts';
import type { Platform } from '../../src/wiring/platform.ts';

/**
 * scheduler: runs the jobs in Postgres: those that its crontabs add when they are due, and those of other processes.
 */
export function startScheduler(platform: Platform, urls: FxUrls): Promise<JobWorker> {
  const fetching = { ...platform, ...PROVIDER_DEFAULTS, urls };
  const tasks = {
    [FETCH_TASK]: (payload: unknown, stop: AbortSignal) => runFetchJob(fetching, payload, stop),
    [REFRESH_TASK]: (payload: unknown) => runRefreshJob(platform, payload),
    [PURGE_TASK]: (payload: unknown) => runPurgeJob(platform, payload),
    [SCHEDULE_TASK]: () => runScheduleJob(platform),
    [CLEAN_UP_TASK]: () => runCleanUp(platform),
  };
  return platform.jobs.work(tasks, [...FETCH_CRONTAB, ...CLEAN_UP_CRONTAB, ...SEGMENT_CRONTAB]);
}
