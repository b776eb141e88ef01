import { alertEvaluator } from '../../src/analytics/insights/alerts/evaluate.ts';
import { ALERTS, REPORTS, workOf } from '../../src/analytics/insights/due/queries.ts';
import { noticeWork } from '../../src/analytics/insights/notices/queries.ts';
import { NoticeSender } from '../../src/analytics/insights/notices/sender.ts';
import { reportEvaluator } from '../../src/analytics/insights/reports/evaluate.ts';
import { InsightRunner } from '../../src/analytics/insights/runner.ts';
import type { EncryptionKeys } from '../../src/platform/encryption.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';

/** The loops of alerts and reports that run. */
export interface RunningAlerts {
  close(): Promise<void>;
}

/**
 * alerts: intervals that are over → decisions → firings and notices; reports that are due → notices; notices that are due →
 * mail and signed webhooks. Several may run: an alert, a report and a notice belong to one of them at a time, and after a
 * crash another takes them over.
 */
export function startAlerts(
  platform: Platform,
  settings: { credentials_keys: EncryptionKeys; public_url: string },
): RunningAlerts {
  const { logger, clock, workWatch } = platform;
  const pauses = { logger, idle_pause_ms: 1_000, longest_pause_ms: 30_000 };
  const { public_url } = settings;
  const evaluating = { ...platform, public_url, runner: new InsightRunner(platform) };
  const evaluator = alertEvaluator(evaluating);
  const alerts = startPolling(
    { name: 'alerts', ...pauses, work: workWatch.watch(workOf(ALERTS), clock) },
    (stop) => evaluator.turn(stop),
  );
  const maker = reportEvaluator(evaluating);
  const reports = startPolling(
    { name: 'reports', ...pauses, work: workWatch.watch(workOf(REPORTS), clock) },
    (stop) => maker.turn(stop),
  );
  const sender = new NoticeSender(platform, settings, () => notices.wake());
  const notices: PollLoop = startPolling(
    { name: 'notices', ...pauses, work: workWatch.watch(noticeWork, clock) },
    (stop) => sender.turn(stop),
  );
  return {
    async close() {
      await Promise.all([alerts.close(), reports.close(), notices.close()]);
      await Promise.all([evaluator.close(), maker.close(), sender.close()]);
    },
  };
}
