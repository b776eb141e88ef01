import { TIER_REQUESTS_CHANNEL } from '../../src/ledger/tier-thresholds/queries.ts';
import type { PollLoop } from '../../src/platform/poll-loop.ts';
import type { Notifications } from '../../src/platform/postgres/notifications.ts';
import { startTenantLoop } from '../../src/platform/tenant-loop.ts';
import { serveRequests } from '../../src/players/tiers/jobs.ts';
import type { Platform } from '../../src/platform/platform.ts';

/** Tenants whose players are computed at once. */
const MAX_RUNNING = 2;

/**
 * tier-recomputer: players whose totals crossed a tier's requirements → their tier. It is woken when players are queued;
 * tenants take turns, each with its own back-off. Several processes may run it.
 */
export async function startTierRecomputer(
  platform: Platform,
  notifications: Notifications,
): Promise<PollLoop> {
  const loop = startTenantLoop(platform, {
    name: 'tier-recomputer',
    table: 'tier_requests',
    max_running: MAX_RUNNING,
    serve: (tenant_id) => serveRequests(platform, tenant_id),
  });
  const wake = () => loop.wake();
  // A notification is lost while the connection is down: then the watch finds the players, at most one pause later.
  await notifications.on(TIER_REQUESTS_CHANNEL, wake, wake);
  return loop;
}
