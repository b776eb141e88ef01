import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import type { Jobs } from './port.ts';
import { startWorker } from './worker.ts';

interface JobsOptions {
  /** The service's Postgres URL; only `work` opens connections to it. */
  url: string;
  logger: Logger;
  metrics: Metrics;
}

/** Opens jobs kept by graphile-worker; its schema must have been migrated. */
export function openJobs(options: JobsOptions): Jobs {
  return {
    async add(
      sql,
      { task, payload, max_attempts, job_key = null, queue = null, run_at = null, priority = 0 },
    ) {
      const text = JSON.stringify(payload);
      await sql`
        select queue_job(${task}, ${text}::text::json, ${max_attempts}, ${job_key}, ${queue}, ${run_at}, ${priority})`;
    },
    work: (tasks, crontab) => startWorker({ ...options, tasks, crontab }),
  };
}
