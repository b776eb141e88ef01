import type { CronEntry } from '../platform/jobs/port.ts';
import type { Platform } from '../platform/platform.ts';
import { retryConflicts } from '../platform/postgres/retry.ts';
import { countFirstDeposits, endFirstDeposits } from './first-deposit-queries.ts';

/** Counts when players first deposited who were there before that was kept. */
export const FIRST_DEPOSITS_TASK = 'first-deposits';

/** Rows of the ledger that one transaction reads; each may change the totals of a player. */
const PAGE = 2_000;

/** Rows that one run reads: the changed players share the mirror with all others, so that it is never long behind. */
const MAX_ROWS = 100_000;

/** Every minute: after an upgrade it goes on where it was, otherwise there is nothing to count. */
export const FIRST_DEPOSITS_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'first deposits due',
    match: '* * * * *',
    backfill_ms: 0,
    job: { task: FIRST_DEPOSITS_TASK, payload: {}, max_attempts: 1, job_key: FIRST_DEPOSITS_TASK },
  },
];

/** The task `first-deposits`: counts deposits page by page, each in a transaction of its own, and goes on in its next run. */
export async function runFirstDepositsJob(
  { postgres: { service } }: Pick<Platform, 'postgres'>,
  stop: AbortSignal,
  page = PAGE,
): Promise<void> {
  for (let rows = 0; rows < MAX_ROWS; rows += page) {
    if (!(await retryConflicts(() => service.begin((tx) => countFirstDeposits(tx, page))))) break;
    stop.throwIfAborted();
  }
  await service.begin((tx) => endFirstDeposits(tx));
}
