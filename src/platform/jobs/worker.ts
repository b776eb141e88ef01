import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  parseCronItems,
  run,
  type CronItem,
  type Runner,
  type TaskList,
  type WorkerEvents,
} from 'graphile-worker';
import type { Pool } from 'pg';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import { watchWorkerLiveness } from './worker-liveness.ts';
import { connectJobs, JOB_LIMITS, libraryLogger } from './connections.ts';
import type { CronEntry, JobWorker, Task } from './port.ts';

const CONCURRENCY = 4;
/** One that listens for new jobs, and one for the short statements of the library: the jobs use the service's pools. */
const POOL_SIZE = 2;
/** A notification announces each new job. A job that is scheduled or repeated starts up to this late. */
const POLL_MS = 5_000;
/** How long running jobs may continue after `close` before they are aborted. */
const ABORT_AFTER_MS = 5_000;
/** How long `close` waits at most. */
const CLOSE_TIMEOUT_MS = 15_000;
const RESTART_PAUSE_MS = 5_000;

export interface WorkerOptions {
  url: string;
  logger: Logger;
  metrics: Metrics;
  tasks: Readonly<Record<string, Task>>;
  crontab: readonly CronEntry[];
}

/** Starts a worker; rejects when Postgres does not answer. A worker that fails later is restarted. */
export async function startWorker(options: WorkerOptions): Promise<JobWorker> {
  const { logger } = options;
  const stop = new AbortController();
  const first = await startShift(options);
  const done = keepWorking(first, options, stop.signal);
  return {
    async close() {
      stop.abort();
      const waited = new AbortController();
      const late = sleep(CLOSE_TIMEOUT_MS, 'late' as const, { signal: waited.signal }).catch(() => undefined);
      if ((await Promise.race([done, late])) === 'late') {
        logger.warn('running jobs did not end in time; another worker will take them over');
      }
      waited.abort();
    },
  };
}

/** One run of the library, on connections of its own. */
interface Shift {
  worker_id: string;
  runner: Runner;
  pool: Pool;
}

/** Runs one shift after another until `stop` is aborted; never rejects. */
async function keepWorking(first: Shift, options: WorkerOptions, stop: AbortSignal): Promise<void> {
  for (let shift: Shift | undefined = first; ; shift = await startAgain(options)) {
    if (shift !== undefined) await workShift(shift, options, stop);
    if (stop.aborted) return;
    await sleep(RESTART_PAUSE_MS, undefined, { signal: stop }).catch(() => undefined);
    if (stop.aborted) return;
  }
}

async function startAgain(options: WorkerOptions): Promise<Shift | undefined> {
  try {
    return await startShift(options);
  } catch (error) {
    options.logger.warn({ err: error }, 'jobs: the worker cannot start; it tries again');
    return undefined;
  }
}

/** Resolves when the shift has ended: because `stop` was aborted, or because the library gave up. Never rejects. */
async function workShift(
  { worker_id, runner, pool }: Shift,
  { url, logger }: WorkerOptions,
  stop: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const liveness = watchWorkerLiveness({ url, worker_id, logger }, over.signal);
  const ended = runner.promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  await Promise.race([ended, aborted(stop)]);
  if (!stop.aborted) logger.error({ err: await ended }, 'jobs: the worker ended by itself; it starts again');
  // A runner that failed has stopped already; stopping it again rejects.
  await runner.stop().catch(() => undefined);
  await ended;
  over.abort();
  await liveness;
  await pool.end().catch((error: unknown) => logger.debug({ err: error }, 'jobs: connections did not end'));
}

async function startShift({ url, logger, metrics, tasks, crontab }: WorkerOptions): Promise<Shift> {
  const pool = connectJobs(url, POOL_SIZE, logger, JOB_LIMITS);
  const events: WorkerEvents = new EventEmitter();
  report(events, logger, metrics);
  let worker_id = '';
  events.on('pool:create', ({ workerPool }) => (worker_id = workerPool.id));
  try {
    const runner = await run({
      pgPool: pool,
      taskList: taskListOf(tasks),
      parsedCronItems: parseCronItems(crontab.map(cronItemOf)),
      logger: libraryLogger(logger),
      events,
      concurrency: CONCURRENCY,
      pollInterval: POLL_MS,
      noHandleSignals: true,
      gracefulShutdownAbortTimeout: ABORT_AFTER_MS,
      // 0: the outcome of each job is written at once. The library's batched writing of outcomes does not handle
      // connection failures.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    });
    return { worker_id, runner, pool };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

/** Reports the outcome of each job in the log and in metrics. */
function report(events: WorkerEvents, logger: Logger, { jobs }: Metrics): void {
  events.on('job:success', ({ job }) => jobs.inc({ task: job.task_identifier, outcome: 'done' }));
  events.on('job:error', ({ job, error }) => {
    const { task_identifier: task, id: job_id, attempts: attempt, max_attempts } = job;
    const given_up = attempt >= max_attempts;
    jobs.inc({ task, outcome: given_up ? 'given_up' : 'failed' });
    const fields = { err: error, task, job_id, attempt, max_attempts };
    if (given_up) logger.error(fields, 'job failed; it is not tried again');
    else logger.warn(fields, 'job failed; it is tried again later');
  });
}

function taskListOf(tasks: Readonly<Record<string, Task>>): TaskList {
  return Object.fromEntries(
    Object.entries(tasks).map(([name, task]): [string, TaskList[string]] => [
      name,
      (payload, { abortSignal }) => task(withoutCron(payload), abortSignal),
    ]),
  );
}

/** Removes `_cron`, in which the crontab passes the time at which the job was due: tasks do not need it. */
function withoutCron(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null) return payload;
  const { _cron, ...rest } = payload as Record<string, unknown>;
  return rest;
}

function cronItemOf({ identifier, match, backfill_ms, job }: CronEntry): CronItem {
  const { task, payload, max_attempts: maxAttempts, queue: queueName, job_key: jobKey } = job;
  return {
    task,
    match,
    identifier,
    payload,
    options: {
      backfillPeriod: backfill_ms,
      maxAttempts,
      ...(queueName === undefined ? {} : { queueName }),
      ...(jobKey === undefined ? {} : { jobKey }),
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
