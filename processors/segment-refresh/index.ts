import { evaluateDirtyPlayers, evaluateQuarantined } from '../../src/segments/evaluate-dirty.ts';
import { selectDueSweeps, sweepOne, sweepQueue } from '../../src/segments/sweep.ts';
import { publishMembershipChanges } from '../../src/segments/publish-changes.ts';
import {
  dirtyWork,
  oldestDirtyMs,
  selectDirtyProjects,
  selectQuarantined,
  DIRTY_PLAYERS_CHANNEL,
} from '../../src/segments/dirty-player-queries.ts';
import { countQuarantined, type SegmentRef } from '../../src/segments/queries.ts';
import { publisherWork } from '../../src/segments/membership-queries.ts';
import { RoundRobin } from '../../src/platform/round-robin.ts';
import { startPolling } from '../../src/platform/poll-loop.ts';
import type { Notifications } from '../../src/platform/postgres/notifications.ts';
import type { ProjectRef } from '../../src/tenants/project-ref.ts';
import type { Platform } from '../../src/platform/platform.ts';

/** A window that passes must show within a minute; this leaves room for the evaluation. */
const SWEEP_EVERY_MS = 15_000;
/** Projects that are evaluated at once, and segments that are evaluated alone at once. */
const MAX_PROJECTS = 4;
const MAX_ALONE = 1;
/** Segments that are quarantined, read at once. */
const MAX_QUARANTINED = 100;

/** The loops of a running segment-refresh. */
export interface SegmentRefresh {
  close(): Promise<void>;
}

/**
 * segment-refresh: dirty players → memberships of realtime segments; changed memberships → ClickHouse and the log;
 * passing windows → dirty players. Each step is found again after a crash. Several processes may run it: only one at a
 * time works on a project. Projects take turns, several at once, each with its own back-off. Loops of their own sweep
 * windows and publish the changes, so that evaluations do not wait for them.
 */
export async function startSegmentRefresh(
  platform: Platform,
  notifications: Notifications,
): Promise<SegmentRefresh> {
  const { logger, clock, workWatch } = platform;
  // Polling is needed in addition to notifications: one is lost while the connection is down, and the dirty players of a
  // segment that is being refreshed are evaluated later.
  const pauses = { logger, idle_pause_ms: 1_000, longest_pause_ms: 10_000 };
  const dirty = workWatch.watch(dirtyWork, clock);
  const changes = workWatch.watch(publisherWork, clock);
  const evaluations = evaluationQueues(platform, {
    onEnd: (worked) => {
      if (worked) evaluation.wake();
    },
  });
  const sweeps = sweepQueue(platform);
  const evaluation = startPolling({ name: 'segment-refresh', ...pauses, work: dirty }, async () => {
    const due = await dueWork(platform);
    void offer(platform, due, evaluations);
    return false;
  });
  const sweeping = startPolling(
    { name: 'segment-windows', ...pauses, idle_pause_ms: SWEEP_EVERY_MS, longest_pause_ms: SWEEP_EVERY_MS },
    async () => {
      const due = await selectDueSweeps(platform, SWEEP_EVERY_MS);
      void sweeps.offer(due, (sweep) => sweepOne(platform, sweep, SWEEP_EVERY_MS));
      for (const { step, count } of await countQuarantined(platform.postgres.service)) {
        platform.metrics.segmentsQuarantined.set({ step }, Number(count));
      }
      return false;
    },
  );
  const publishing = startPolling({ name: 'segment-changes publisher', ...pauses, work: changes }, () =>
    publishMembershipChanges(platform),
  );
  const wakeAll = () => [evaluation, publishing].forEach((loop) => loop.wake());
  await notifications.on(DIRTY_PLAYERS_CHANNEL, wakeAll, wakeAll);
  return {
    async close() {
      await Promise.all([evaluation, sweeping, publishing].map((loop) => loop.close()));
      await Promise.all([evaluations.projects, evaluations.alone, sweeps].map((queue) => queue.close()));
    },
  };
}

/** Called when an evaluation has ended, with whether there was work; also when it failed. */
interface EvaluationEnds {
  onEnd: (worked: boolean) => void;
  onFailure?: (error: unknown) => void;
}

function evaluationQueues({ logger }: Platform, { onEnd, onFailure }: EvaluationEnds) {
  const failed = ({ project_id }: ProjectRef, error: unknown) => {
    logger.warn({ err: error, project_id }, 'an evaluation failed; it is repeated');
    onFailure?.(error);
  };
  return {
    projects: new RoundRobin<ProjectRef>({
      keysOf: ({ tenant_id, project_id }) => [tenant_id, project_id],
      max_running: [MAX_PROJECTS, MAX_PROJECTS, 1],
      onFailure: failed,
      onEnd,
    }),
    alone: new RoundRobin<SegmentRef>({
      keysOf: ({ tenant_id, segment_id }) => [tenant_id, segment_id],
      max_running: [MAX_ALONE, MAX_ALONE, 1],
      onFailure: failed,
      onEnd,
    }),
  };
}

/** The projects with dirty players, and the segments that were quarantined and may be tried again. */
async function dueWork({ postgres, clock, metrics }: Platform) {
  const now_ms = clock.now_ms();
  const projects = await selectDirtyProjects(postgres.service);
  const alone = await selectQuarantined(postgres.service, new Date(now_ms), MAX_QUARANTINED);
  const oldest_ms = await oldestDirtyMs(postgres.service);
  metrics.segmentDirtyAge.set(oldest_ms === undefined ? 0 : Math.max(now_ms - oldest_ms, 0) / 1_000);
  return { projects, alone };
}

/** Resolves when none of these is evaluated any more. */
async function offer(
  platform: Platform,
  due: Awaited<ReturnType<typeof dueWork>>,
  queues: ReturnType<typeof evaluationQueues>,
): Promise<void> {
  await Promise.all([
    queues.projects.offer(due.projects, (project) => evaluateProject(platform, project)),
    queues.alone.offer(due.alone, (ref) => evaluateQuarantined(platform, ref)),
  ]);
}

async function evaluateProject(platform: Platform, project: ProjectRef): Promise<boolean> {
  const done = platform.metrics.segmentEvaluationSeconds.startTimer();
  const worked = await evaluateDirtyPlayers(platform, project);
  if (worked) done();
  return worked;
}

/**
 * Evaluates the dirty players of each project once, and each segment that was quarantined; true when there may be more to
 * do. A failure in one project does not stop the others: the first failure is thrown after the last project.
 */
export async function evaluateOnce(platform: Platform): Promise<boolean> {
  const failures: unknown[] = [];
  let has_worked = false;
  const queues = evaluationQueues(platform, {
    onEnd: (worked) => (has_worked ||= worked),
    onFailure: (error) => failures.push(error),
  });
  await offer(platform, await dueWork(platform), queues);
  if (failures.length > 0) throw failures[0];
  return has_worked;
}
