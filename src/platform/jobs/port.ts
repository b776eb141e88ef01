import type { Tx } from '../postgres/port.ts';

/**
 * Work to be done once by whichever process works: soon, or at a time. It is kept in Postgres. A process that dies
 * leaves its job to another one, so a task must bear being done again.
 */
export interface NewJob {
  task: string;
  /** Whatever JSON holds; it is not secret. */
  payload: Record<string, unknown>;
  /** How often it may be tried at most; the pauses in between grow from 2.7 s to 6 h. */
  max_attempts: number;
  /** A job with this key that waits, or that failed for good, is replaced; one under way goes on, but for the last time. */
  job_key?: string;
  /** Jobs of one queue run one after the other, with up to 2 s between them. Queues are few and have fixed names. */
  queue?: string;
  /** Absent: now. */
  run_at?: Date;
}

/** A job that is added again and again, once for all processes; the times are UTC. */
export interface CronEntry {
  /** Tells the entry from others for good: by it each process knows what was added already. */
  identifier: string;
  /** Minute, hour, day of the month, month, day of the week. */
  match: string;
  /** A run that was missed by less, because nobody worked then, is made up for. */
  backfill_ms: number;
  job: Omit<NewJob, 'run_at'>;
}

/** Does one job. Rejecting has it tried again later; it should end soon once `stop` is aborted. */
export type Task = (payload: unknown, stop: AbortSignal) => Promise<void>;

/** A process at work on jobs. */
export interface JobWorker {
  /** Takes no more jobs and lets those under way end; after a while they are aborted and left to others. */
  close(): Promise<void>;
}

/** Jobs in Postgres. */
export interface Jobs {
  /** Adds a job; in a transaction it is there for others once that commits. */
  add(sql: Tx, job: NewJob): Promise<void>;
  /** Works on jobs of these tasks until closed. Rejects when Postgres does not answer at the start. */
  work(tasks: Readonly<Record<string, Task>>, crontab: readonly CronEntry[]): Promise<JobWorker>;
}
