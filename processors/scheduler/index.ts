import {
  BONUS_RECONCILE_CRONTAB,
  BONUS_RECONCILE_TASK,
  runBonusReconcileJob,
} from '../../src/bonuses/reconcile/reconcile-job.ts';
import { PROFILES_CRONTAB, PROFILES_TASK, runProfilesJob } from '../../src/bonuses/campaigns/profile-job.ts';
import { runWarningsJob, WARNINGS_TASK } from '../../src/bonuses/templates/warnings-job.ts';
import type { Platforms } from '../../src/adapters/platforms.ts';
import { cleanUpAdapters } from '../../src/adapters/clean-up.ts';
import { cleanUpWagering } from '../../src/bonuses/wagering/clean-up.ts';
import {
  BREAKS_TASK,
  cleanUpSubscriptions,
  PURGE_TASK as SUBSCRIPTION_PURGE_TASK,
  runBreaksJob,
  runReplayJob,
  runSubscriptionPurge,
} from '../../src/engage/subscriptions/jobs.ts';
import { REPLAY_TASK } from '../../src/engage/subscriptions/queries.ts';
import { cleanUpDeliveries } from '../../src/engage/webhooks/clean-up.ts';
import { cleanUpJourneys } from '../../src/engage/journeys/runs/archive.ts';
import type { FxUrls } from '../../src/config.ts';
import { cleanUpRejections } from '../../src/ingest/rejected/clean-up.ts';
import { cleanUpFold } from '../../src/ledger/fold/clean-up.ts';
import { FETCH_CRONTAB, FETCH_TASK, runFetchJob } from '../../src/ledger/fx/fetch-job.ts';
import { PROVIDER_DEFAULTS } from '../../src/ledger/fx/rate-provider.ts';
import {
  CANCEL_RUNS_TASK,
  RESUME_RUNS_TASK,
  runCancelJob,
  runResumeJob,
} from '../../src/engage/journeys/runs-job.ts';
import { RETRY_TASK, runRetryJob } from '../../src/engage/campaigns/retry-failed.ts';
import { CLEAN_UP_CRONTAB, CLEAN_UP_TASK, runCleanUp } from '../../src/http/idempotency.ts';
import { ERASE_CRONTAB, ERASE_TASK, runEraseJob, type EraseDeps } from '../../src/players/erasure/job.ts';
import { removeExpiredExports } from '../../src/platform/export-files/export-file.ts';
import { EXPORT_TASK, runExportJob, type ExportDeps } from '../../src/players/export/job.ts';
import { PLAYER_EXPORTS } from '../../src/players/export/queries.ts';
import { cleanUpKyc } from '../../src/players/kyc/calls.ts';
import {
  RETIER_TASK,
  runRetierJob,
  runSweepJob,
  SWEEP_TASK,
  TIER_CRONTAB,
} from '../../src/players/tiers/jobs.ts';
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
import {
  FIT_TASK,
  runFitJob,
  runScheduleJob as runScoresScheduleJob,
  SCHEDULE_TASK as SCORES_SCHEDULE_TASK,
  SCORES_CRONTAB,
} from '../../src/players/scores/nightly/job.ts';
import { runSendTimeJob, SEND_TIME_TASK } from '../../src/players/scores/send-time/job.ts';
import { runSizesJob, SIZES_CRONTAB, SIZES_TASK } from '../../src/segments/sizes.ts';
import type { Platform } from '../../src/platform/platform.ts';
import {
  FIRST_DEPOSITS_CRONTAB,
  FIRST_DEPOSITS_TASK,
  runFirstDepositsJob,
} from '../../src/analytics/first-deposit-job.ts';
import {
  LICENCE_HISTORY_CRONTAB,
  LICENCE_HISTORY_TASK,
  runLicenceHistoryJob,
} from '../../src/ledger/licence-history/job.ts';
import { FREEZE_TASK, runFreezeJob } from '../../src/analytics/insights/saving/frozen-job.ts';
import {
  INSIGHT_EXPORT_TASK,
  removeExpiredInsightExports,
  runInsightExportJob,
} from '../../src/analytics/insights/exports/job.ts';
import { cleanUpNotices } from '../../src/analytics/insights/notices/clean-up.ts';
import { InsightRunner } from '../../src/analytics/insights/runner.ts';

/**
 * scheduler: runs the jobs in Postgres: those that its crontabs add when they are due, and those of other processes.
 */
export function startScheduler(
  platform: Platform,
  urls: FxUrls,
  openBonusPlatforms: () => Promise<Platforms>,
  privacy: Omit<EraseDeps & ExportDeps, keyof Platform>,
): Promise<JobWorker> {
  const exporting = { ...platform, ...privacy, runner: new InsightRunner(platform) };
  const fetching = { ...platform, ...PROVIDER_DEFAULTS, urls };
  const tasks = {
    [FETCH_TASK]: (payload: unknown, stop: AbortSignal) => runFetchJob(fetching, payload, stop),
    [REFRESH_TASK]: (payload: unknown) => runRefreshJob(platform, payload),
    [PURGE_TASK]: (payload: unknown) => runPurgeJob(platform, payload),
    [SCHEDULE_TASK]: () => runScheduleJob(platform),
    [SIZES_TASK]: (_payload: unknown, stop: AbortSignal) => runSizesJob(platform, stop),
    [SCORES_SCHEDULE_TASK]: (_payload: unknown, stop: AbortSignal) => runScoresScheduleJob(platform, stop),
    [FIT_TASK]: (payload: unknown, stop: AbortSignal) => runFitJob(platform, payload, stop),
    [SEND_TIME_TASK]: (payload: unknown, stop: AbortSignal) => runSendTimeJob(platform, payload, stop),
    [CANCEL_RUNS_TASK]: (payload: unknown, stop: AbortSignal) => runCancelJob(platform, payload, stop),
    [RESUME_RUNS_TASK]: (payload: unknown, stop: AbortSignal) => runResumeJob(platform, payload, stop),
    [RETRY_TASK]: (payload: unknown) => runRetryJob(platform, payload),
    [REPLAY_TASK]: (payload: unknown, stop: AbortSignal) => runReplayJob(platform, payload, stop),
    [SUBSCRIPTION_PURGE_TASK]: (payload: unknown, stop: AbortSignal) =>
      runSubscriptionPurge(platform, payload, stop),
    [BREAKS_TASK]: (payload: unknown) => runBreaksJob(platform, payload),
    [RETIER_TASK]: (payload: unknown, stop: AbortSignal) => runRetierJob(platform, payload, stop),
    [SWEEP_TASK]: async (_payload: unknown, stop: AbortSignal) => void (await runSweepJob(platform, stop)),
    [WARNINGS_TASK]: (payload: unknown, stop: AbortSignal) => runWarningsJob(platform, payload, stop),
    [BONUS_RECONCILE_TASK]: async (payload: unknown, stop: AbortSignal) =>
      runBonusReconcileJob({ ...platform, platforms: await openBonusPlatforms() }, payload, stop),
    [FIRST_DEPOSITS_TASK]: (_payload: unknown, stop: AbortSignal) => runFirstDepositsJob(platform, stop),
    [LICENCE_HISTORY_TASK]: (_payload: unknown, stop: AbortSignal) => runLicenceHistoryJob(platform, stop),
    [PROFILES_TASK]: (_payload: unknown, stop: AbortSignal) => runProfilesJob(platform, stop),
    [ERASE_TASK]: (_payload: unknown, stop: AbortSignal) => runEraseJob({ ...platform, ...privacy }, stop),
    [EXPORT_TASK]: (payload: unknown, stop: AbortSignal) =>
      runExportJob({ ...platform, ...privacy }, payload, stop),
    [FREEZE_TASK]: (payload: unknown) => runFreezeJob(platform, payload),
    [INSIGHT_EXPORT_TASK]: (payload: unknown, stop: AbortSignal) =>
      runInsightExportJob(exporting, payload, stop),
    [CLEAN_UP_TASK]: async (_payload: unknown, stop: AbortSignal) => {
      await runCleanUp(platform);
      await cleanUpDeliveries(platform);
      await cleanUpSubscriptions(platform, stop);
      await cleanUpFold(platform, stop);
      await cleanUpRejections(platform, stop);
      await cleanUpAdapters(platform, stop);
      await cleanUpWagering(platform, stop);
      await cleanUpKyc(platform, stop);
      await cleanUpJourneys(platform, stop);
      await removeExpiredExports(platform, PLAYER_EXPORTS, stop);
      await removeExpiredInsightExports(platform, stop);
      await cleanUpNotices(platform, stop);
    },
  };
  const crontab = [
    ...FETCH_CRONTAB,
    ...CLEAN_UP_CRONTAB,
    ...SEGMENT_CRONTAB,
    ...SIZES_CRONTAB,
    ...SCORES_CRONTAB,
    ...TIER_CRONTAB,
    ...BONUS_RECONCILE_CRONTAB,
    ...PROFILES_CRONTAB,
    ...FIRST_DEPOSITS_CRONTAB,
    ...LICENCE_HISTORY_CRONTAB,
    ...ERASE_CRONTAB,
  ];
  return platform.jobs.work(tasks, crontab);
}
