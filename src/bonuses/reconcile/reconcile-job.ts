import type { CronEntry, Jobs, NewJob } from '../../platform/jobs/port.ts';
import { reconcileBonuses, type BonusReconcileDeps } from './reconcile.ts';
import { selectCutLanes } from './reconcile-queries.ts';

export const BONUS_RECONCILE_TASK = 'bonus-reconcile';

/** One after the other, and each as long as this: then a job of its own goes on. */
const JOB = { task: BONUS_RECONCILE_TASK, max_attempts: 3, queue: BONUS_RECONCILE_TASK } as const;
const JOB_MS = 10 * 60_000;
const REST: NewJob = { ...JOB, payload: { is_rest: true }, job_key: `${BONUS_RECONCILE_TASK} rest` };

/** Every day at 04:10 UTC; one that was missed is made up for, as far as it is a day old. */
export const BONUS_RECONCILE_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'bonus reconciliation',
    match: '10 4 * * *',
    backfill_ms: 24 * 3_600_000,
    job: { ...JOB, payload: {}, job_key: BONUS_RECONCILE_TASK },
  },
];

/** Compares bonuses with their platforms for a while, and adds the job that goes on with what is left. */
export async function runBonusReconcileJob(
  deps: BonusReconcileDeps & { jobs: Jobs },
  payload: unknown,
  stop: AbortSignal,
): Promise<void> {
  const is_rest = (payload as { is_rest?: boolean } | null)?.is_rest === true;
  await reconcileBonuses(deps, { scope: is_rest ? 'rest' : 'next', limit_ms: JOB_MS, stop });
  const { service } = deps.postgres;
  if ((await selectCutLanes(service, undefined, 1)).length > 0) await deps.jobs.add(service, REST);
}
