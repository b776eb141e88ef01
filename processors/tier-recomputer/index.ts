import { TIER_REQUESTS_CHANNEL } from '../../src/ledger/tier-thresholds/queries.ts';
import { RoundRobin } from '../../src/platform/round-robin.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import type { Notifications } from '../../src/platform/postgres/notifications.ts';
import { selectWaitingTenants, tierWork } from '../../src/players/tiers/job-queries.ts';
import { serveRequests } from '../../src/players/tiers/jobs.ts';
import type { Platform } from '../../src/platform/platform.ts';

/** Tenants whose players are computed at once. */
const MAX_RUNNING = 2;
/** Tenants that are read at once. */
const MAX_TENANTS = 1_000;

/**
 * tier-recomputer: players whose totals crossed a tier's requirements → their tier. It is woken when players are queued;
 * tenants take turns, each with its own back-off. Several processes may run it.
 */
export async function startTierRecomputer(
  { postgres, clock, logger, workWatch }: Platform,
  notifications: Notifications,
): Promise<PollLoop> {
  const queue = new RoundRobin<string>({
    keysOf: (tenant_id) => [tenant_id],
    max_running: [MAX_RUNNING, 1],
    onFailure: (tenant_id, error) =>
      logger.warn({ err: error, tenant_id }, 'tiers could not be computed; the players stay queued'),
    // Without work the tenant's players were taken by another process, which must not be waited for in a busy loop.
    onEnd: (worked) => {
      if (worked) loop.wake();
    },
  });
  // A notification is lost while the connection is down: then the watch finds the players, at most one pause later.
  const pauses = { idle_pause_ms: 1_000, longest_pause_ms: 10_000 };
  const work = workWatch.watch(tierWork, clock);
  const loop = startPolling({ name: 'tier-recomputer', logger, ...pauses, work }, async () => {
    const tenants = await selectWaitingTenants(postgres.service, MAX_TENANTS);
    void queue.offer(tenants, (tenant_id) => serveRequests({ postgres, clock }, tenant_id));
    return false;
  });
  const wake = () => loop.wake();
  await notifications.on(TIER_REQUESTS_CHANNEL, wake, wake);
  return {
    wake,
    async close() {
      await loop.close();
      await queue.close();
    },
  };
}
