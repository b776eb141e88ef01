import { timerWork, TIMERS_CHANNEL } from '../../src/engage/journeys/runs/claim-queries.ts';
import { AudienceEntry, PLAN_EVERY_MS } from '../../src/engage/journeys/runs/audience-entry.ts';
import { AUDIENCES_CHANNEL, audienceWork } from '../../src/engage/journeys/runs/audience-queries.ts';
import { CHECKS_CHANNEL } from '../../src/engage/journeys/runs/entry-queries.ts';
import { Matcher } from '../../src/engage/journeys/runs/matcher.ts';
import { matchRestWork } from '../../src/engage/journeys/runs/match-rest-queries.ts';
import { PRUNE_EVERY_MS, RatedEvents } from '../../src/engage/journeys/runs/rated-events.ts';
import { SegmentEntry } from '../../src/engage/journeys/runs/segment-entry.ts';
import { Sweeper } from '../../src/engage/journeys/runs/sweeper.ts';
import { JourneyRunner, type RunnerDeps } from '../../src/engage/journeys/runs/runner.ts';
import { ratedWork } from '../../src/engage/triggers/unrated-queries.ts';
import { GROUPS, TOPICS } from '../../src/platform/event-log/topics.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import type { Notifications } from '../../src/platform/postgres/notifications.ts';
import type { Platform } from '../../src/platform/platform.ts';

/** Records of the log per batch. */
const MAX_RECORDS = 5_000;
/** The sweeper's pause after a page of running runs, so that millions that wait cost little, and after all of them. */
const PAGE_PAUSE_MS = 2_000;
const WALK_PAUSE_MS = 60_000;

/** The loops of a running journey-runner. */
export interface RunningJourneyRunner {
  close(): Promise<void>;
}

/**
 * journey-runner: timers that are due → steps, messages, changed players, new timers; events → runs that waited for them
 * or end by them; changed memberships → runs. Several may run: each batch
 * belongs to one of them, and after a crash everything that was not committed is due again.
 */
export async function startJourneyRunner(
  platform: RunnerDeps & Pick<Platform, 'workWatch'>,
  notifications: Notifications,
): Promise<RunningJourneyRunner> {
  const { logger, clock, workWatch } = platform;
  const timers = workWatch.watch(timerWork, clock);
  const runner = new JourneyRunner(platform);
  const loop = startPolling(
    { name: 'journey-runner', logger, idle_pause_ms: 250, longest_pause_ms: 5_000, work: timers },
    (stop) => runner.turn(stop),
  );
  const second = startPolling(
    { name: 'journey-runner second batch', logger, idle_pause_ms: 1_000, longest_pause_ms: 5_000 },
    () => runner.turnSecond(),
  );
  runner.onCrowd = () => second.wake();
  const matcher = new Matcher(platform);
  const checks = startPolling(
    { name: 'journey waits', logger, idle_pause_ms: 5_000, longest_pause_ms: 10_000 },
    () => matcher.check(),
  );
  runner.onWaiting = () => checks.wake();
  const rests = startMatchRests(matcher, platform);
  const wake = () => {
    runner.wake();
    loop.wake();
  };
  await notifications.on(TIMERS_CHANNEL, wake, wake);
  const check = () => checks.wake();
  await notifications.on(CHECKS_CHANNEL, check, check);
  const rates = startRating(platform, matcher);
  const entries = await startAudiences(platform, notifications);
  const sweeping = startSweeping(platform);
  const segments = new SegmentEntry(platform);
  const from_log = { max_records: MAX_RECORDS, linger_ms: 0 };
  const consumers = [
    await platform.eventLog.consume({
      ...from_log,
      topic: TOPICS.playerEvents,
      group: GROUPS.journeyMatcher,
      handle: (batch) => matcher.handle(batch),
    }),
    await platform.eventLog.consume({
      ...from_log,
      topic: TOPICS.segmentChanges,
      group: GROUPS.journeySegments,
      handle: (batch) => segments.handle(batch),
    }),
  ];
  return {
    async close() {
      await Promise.all(consumers.map((consumer) => consumer.close()));
      const loops = [loop, second, checks, rests, rates, entries, sweeping];
      const closed = loops.map((polling) => polling.close());
      runner.wake();
      await Promise.all(closed);
      await runner.close();
    },
  };
}

/** Enters the members of segments whose journeys were activated or are due by their schedule. */
async function startAudiences(
  platform: RunnerDeps & Pick<Platform, 'workWatch'>,
  notifications: Notifications,
): Promise<PollLoop> {
  const { logger, clock, workWatch } = platform;
  const audiences = new AudienceEntry(platform);
  const work = workWatch.watch(audienceWork, clock);
  const pauses = { idle_pause_ms: 1_000, longest_pause_ms: 10_000, longest_wait_ms: PLAN_EVERY_MS };
  const entries = startPolling({ name: 'journey audiences', logger, ...pauses, work }, () =>
    audiences.turn(),
  );
  const plan = () => {
    audiences.planSoon();
    entries.wake();
  };
  await notifications.on(AUDIENCES_CHANNEL, plan, plan);
  return entries;
}

/** Looks at the runs that the matcher has left behind a page of one event. */
function startMatchRests(
  matcher: Matcher,
  { logger, clock, workWatch }: Pick<Platform, 'logger' | 'clock' | 'workWatch'>,
): PollLoop {
  const work = workWatch.watch(matchRestWork, clock);
  const loop = startPolling(
    { name: 'journey matches', logger, idle_pause_ms: 1_000, longest_pause_ms: 10_000, work },
    () => matcher.finish(),
  );
  matcher.onRest = () => loop.wake();
  return loop;
}

/** Looks again at events whose rates have come. */
function startRating(platform: RunnerDeps & Pick<Platform, 'workWatch'>, matcher: Matcher): PollLoop {
  const { logger, clock, workWatch } = platform;
  const rated = new RatedEvents(platform, matcher);
  const work = workWatch.watch(ratedWork, clock);
  const pauses = { idle_pause_ms: 1_000, longest_pause_ms: 10_000, longest_wait_ms: PRUNE_EVERY_MS };
  return startPolling({ name: 'journey rates', logger, ...pauses, work }, () => rated.turn());
}

/** Walks over the running runs, page by page, again and again. */
function startSweeping(platform: RunnerDeps): PollLoop {
  const sweeper = new Sweeper(platform);
  let walks_again_ms = 0;
  return startPolling(
    {
      name: 'journey sweeper',
      logger: platform.logger,
      idle_pause_ms: PAGE_PAUSE_MS,
      longest_pause_ms: WALK_PAUSE_MS,
    },
    async () => {
      if (performance.now() < walks_again_ms) return false;
      if (!(await sweeper.turn())) walks_again_ms = performance.now() + WALK_PAUSE_MS;
      return false;
    },
  );
}
