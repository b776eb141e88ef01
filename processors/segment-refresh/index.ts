import { passOverTouches } from '../../src/segments/pass.ts';
import { sweepWindows } from '../../src/segments/sweep.ts';
import { tellChanges } from '../../src/segments/tell-changes.ts';
import { oldestTouchMs, selectTouchedProjects, TOUCHES_CHANNEL } from '../../src/segments/touch-queries.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import type { Notifications } from '../../src/platform/postgres/notifications.ts';
import type { Platform } from '../../src/wiring/platform.ts';

/** Well below the minute in which a passing window shows. */
const SWEEP_EVERY_MS = 15_000;

/**
 * segment-refresh: touched players → memberships of realtime segments; changed memberships → ClickHouse and the log;
 * passing windows → touched players. Each is a transaction of its own and is found again after a crash. Several may
 * run: each project is worked on by one at a time.
 */
export async function startSegmentRefresh(
  platform: Platform,
  notifications: Notifications,
): Promise<PollLoop> {
  // A message may be lost while the connection is, and a segment that is being refreshed is looked at later.
  const pauses = { idle_pause_ms: 1_000, longest_pause_ms: 10_000 };
  let loop: PollLoop | undefined;
  const wake = () => loop?.wake();
  await notifications.on(TOUCHES_CHANNEL, wake, wake);
  let next_sweep_ms = 0;
  loop = startPolling({ name: 'segment-refresh', logger: platform.logger, ...pauses }, async () => {
    if (platform.clock.now_ms() >= next_sweep_ms) {
      await sweepWindows(platform, SWEEP_EVERY_MS);
      next_sweep_ms = platform.clock.now_ms() + SWEEP_EVERY_MS;
    }
    return followOnce(platform);
  });
  return loop;
}

/** Tells what has changed, and looks once at the touched players of each project; whether there may be more to do. */
export async function followOnce(platform: Platform): Promise<boolean> {
  const told = await tellChanges(platform);
  const { postgres, clock, metrics } = platform;
  let passed = false;
  for (const place of await selectTouchedProjects(postgres.service)) {
    const done = metrics.segmentPassSeconds.startTimer();
    if (await passOverTouches(platform, place)) {
      passed = true;
      done();
    }
  }
  const oldest_ms = await oldestTouchMs(postgres.service);
  metrics.segmentTouchAge.set(oldest_ms === undefined ? 0 : Math.max(clock.now_ms() - oldest_ms, 0) / 1_000);
  return told || passed;
}
