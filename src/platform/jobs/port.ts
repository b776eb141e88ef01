import type { Tx } from '../postgres/port.ts';

/**
 * A job kept in Postgres: any worker process runs it, soon or at a given time. When a process dies, another one runs
 * its jobs again, so every task must be idempotent.
 */
export interface NewJob {
  task: string;
  /** Must be representable in JSON, and must hold no secrets. */
  payload: Record<string, unknown>;
  /** How many times the job is attempted at most; the pauses between attempts grow from 2.7 s to 6 h. */
  max_attempts: number;
  /**
   * A job with this key that is waiting, or that has used up its attempts, is replaced by the new one. A running job
   * with this key continues but is not retried.
   */
  job_key?: string;
  /** Jobs of one queue run one at a time, with up to 5 s between them. There are few queues, with fixed names. */
  queue?: string;
  /** Of the jobs that are due, those with a smaller number run first. Absent: 0. */
  priority?: number;
  /** Absent: now. */
  run_at?: Date;
}

/** A job that is added at each matching time, once for all processes together; times are UTC. */
export interface CronEntry {
  /** Unique, and never changed: under it Postgres records the last time for which the job was added. */
  identifier: string;
  /** Crontab pattern: minute, hour, day of the month, month, day of the week. */
  match: string;
  /** A run that was missed because no worker was running is added later, if it was due at most this long ago. */
  backfill_ms: number;
  job: Omit<NewJob, 'run_at' | 'priority'>;
}

/** Does one job. If it rejects, the job is retried later. It should end soon after `stop` is aborted. */
export type Task = (payload: unknown, stop: AbortSignal) => Promise<void>;

/** The worker of this process. */
export interface JobWorker {
  /** Takes no more jobs and waits for the running ones; after a while it aborts them, and other workers retry them. */
  close(): Promise<void>;
}

/** Jobs in Postgres. */
export interface Jobs {
  /** Adds a job; inside a transaction, it becomes visible to workers when the transaction commits. */
  add(sql: Tx, job: NewJob): Promise<void>;
  /** Runs jobs of these tasks until the worker is closed. Rejects when Postgres does not answer at the start. */
  work(tasks: Readonly<Record<string, Task>>, crontab: readonly CronEntry[]): Promise<JobWorker>;
}
