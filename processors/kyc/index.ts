import type { Platforms } from '../../src/adapters/platforms.ts';
import { KycCaller } from '../../src/players/kyc/calls.ts';
import { lapseOnce } from '../../src/players/kyc/lapse.ts';
import { kycCallWork } from '../../src/players/kyc/call-queries.ts';
import { KYC_EVENTS } from '../../src/players/kyc/publish.ts';
import { selectToPublish } from '../../src/players/kyc/queries.ts';
import { publishOutbox } from '../../src/platform/outbox.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import type { Platform } from '../../src/platform/platform.ts';

/** The running loops. */
export interface RunningKyc {
  close(): Promise<void>;
}

/**
 * kyc: decisions about KYC → `player-events`, and → the platform, if it was not informed at once. Several may run:
 * a call belongs to one of them until its claim is over, and one at a time appends events.
 */
export function startKyc(platform: Platform, platforms: Platforms): RunningKyc {
  const { logger, clock, workWatch } = platform;
  const caller = new KycCaller({ ...platform, platforms }, () => calls.wake());
  const pauses = { idle_pause_ms: 250, longest_pause_ms: 5_000 };
  const to_publish = workWatch.watch((sql) => selectToPublish(sql, 1), clock);
  const due = workWatch.watch(kycCallWork, clock);
  const publisher = startPolling({ name: 'kyc-publisher', logger, ...pauses, work: to_publish }, () =>
    publishOutbox(platform, KYC_EVENTS),
  );
  const calls: PollLoop = startPolling({ name: 'kyc-caller', logger, ...pauses, work: due }, (stop) =>
    caller.turn(stop),
  );
  return {
    async close() {
      await Promise.all([publisher.close(), calls.close()]);
      await caller.close();
    },
  };
}

/** kyc-lapser: approvals whose end has passed → expired, within 15 s. Each is judged under its player's lock. */
export function startKycLapser(platform: Platform): PollLoop {
  const pauses = { idle_pause_ms: 15_000, longest_pause_ms: 30_000 };
  return startPolling({ name: 'kyc-lapser', logger: platform.logger, ...pauses }, async (stop) => {
    await lapseOnce(platform, stop);
    return false;
  });
}
