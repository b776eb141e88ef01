import { evaluateDirtyPlayers } from '../../src/segments/evaluate-dirty.ts';
import { sweepWindows } from '../../src/segments/sweep.ts';
import { publishMembershipChanges } from '../../src/segments/publish-changes.ts';
import {
  oldestDirtyMs,
  selectDirtyProjects,
  DIRTY_PLAYERS_CHANNEL,
} from '../../src/segments/dirty-player-queries.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import type { Notifications } from '../../src/platform/postgres/notifications.ts';
import type { Platform } from '../../src/wiring/platform.ts';

/** A window that passes must show within a minute; this leaves room for the evaluation. */
const SWEEP_EVERY_MS = 15_000;

/** The loops of a running segment-refresh. */
export interface SegmentRefresh {
  close(): Promise<void>;
}

/**
 * segment-refresh: dirty players → memberships of realtime segments; changed memberships → ClickHouse and the log;
 * passing windows → dirty players. Each step is a transaction of its own and is found again after a crash. Several
 * processes may run it: only one at a time works on a project. A loop of its own publishes the changes, so that
 * evaluations do not wait for it.
 */
export async function startSegmentRefresh(
  platform: Platform,
  notifications: Notifications,
): Promise<SegmentRefresh> {
  const { logger, clock } = platform;
  // Polling is needed beside notifications: one is lost while the connection is down, and the dirty players of a
  // segment that is being refreshed are evaluated later.
  const pauses = { logger, idle_pause_ms: 1_000, longest_pause_ms: 10_000 };
  const loops: PollLoop[] = [];
  const wake = () => loops.forEach((loop) => loop.wake());
  await notifications.on(DIRTY_PLAYERS_CHANNEL, wake, wake);
  let next_sweep_ms = 0;
  loops.push(
    startPolling({ name: 'segment-refresh', ...pauses }, async () => {
      if (clock.now_ms() >= next_sweep_ms) {
        await sweepWindows(platform, SWEEP_EVERY_MS);
        next_sweep_ms = clock.now_ms() + SWEEP_EVERY_MS;
      }
      return evaluateOnce(platform);
    }),
    startPolling({ name: 'segment-changes publisher', ...pauses }, () => publishMembershipChanges(platform)),
  );
  return {
    async close() {
      await Promise.all(loops.map((loop) => loop.close()));
    },
  };
}

/**
 * Evaluates the dirty players of each project once; true when there may be more to do. A failure in one project does
 * not stop the others: the first failure is thrown after the last project, so that the poll loop pauses and retries.
 */
export async function evaluateOnce(platform: Platform): Promise<boolean> {
  const { postgres, clock, metrics } = platform;
  let passed = false;
  let failure: unknown;
  for (const project of await selectDirtyProjects(postgres.service)) {
    const done = metrics.segmentEvaluationSeconds.startTimer();
    try {
      if (await evaluateDirtyPlayers(platform, project)) {
        passed = true;
        done();
      }
    } catch (error) {
      failure ??= error;
    }
  }
  const oldest_ms = await oldestDirtyMs(postgres.service);
  metrics.segmentDirtyAge.set(oldest_ms === undefined ? 0 : Math.max(clock.now_ms() - oldest_ms, 0) / 1_000);
  if (failure !== undefined) throw failure;
  return passed;
}
