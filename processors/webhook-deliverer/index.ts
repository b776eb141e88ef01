import { Deliverer, type DelivererDeps } from '../../src/engage/webhooks/deliverer.ts';
import { DELIVERIES_CHANNEL } from '../../src/engage/webhooks/wake-queries.ts';
import type { EncryptionKeys } from '../../src/platform/encryption.ts';
import { deliveryWork } from '../../src/engage/webhooks/claim-queries.ts';
import { noteEnds, queueFacts } from '../../src/engage/subscriptions/dispatch.ts';
import { breakWork } from '../../src/engage/subscriptions/dispatch-queries.ts';
import { startTenantLoop } from '../../src/platform/tenant-loop.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import type { Notifications } from '../../src/platform/postgres/notifications.ts';
import type { Platform } from '../../src/platform/platform.ts';

/** Tenants whose facts are queued at once. */
const MAX_TENANTS = 4;

/** The loops of a running webhook-deliverer. */
export interface RunningDeliverer {
  close(): Promise<void>;
}

/**
 * webhook-deliverer: facts → deliveries of the subscriptions that ask for them, tenants in turn; deliveries that are due →
 * signed requests to tenants' systems → results, and runs that go on.
 * Several may run: each attempt belongs to one of them, and after a crash it is made again.
 */
export async function startWebhookDeliverer(
  platform: DelivererDeps & Pick<Platform, 'workWatch'>,
  notifications: Notifications,
  credentials_keys: EncryptionKeys,
): Promise<RunningDeliverer> {
  const { logger, workWatch } = platform;
  const due = workWatch.watch(deliveryWork, platform.clock);
  const deliverer = new Deliverer(platform, credentials_keys, () => loop.wake());
  const loop: PollLoop = startPolling(
    { name: 'webhook-deliverer', logger, idle_pause_ms: 250, longest_pause_ms: 5_000, work: due },
    (stop) => deliverer.turn(stop),
  );
  const wake = () => loop.wake();
  await notifications.on(DELIVERIES_CHANNEL, wake, wake);
  const facts = startTenantLoop(platform, {
    name: 'subscription-facts',
    table: 'subscription_facts',
    max_running: MAX_TENANTS,
    serve: (tenant_id) => queueFacts(platform, tenant_id),
  });
  const breaks = startPolling(
    {
      name: 'subscription-breaks',
      logger,
      idle_pause_ms: 1_000,
      longest_pause_ms: 10_000,
      work: workWatch.watch(breakWork, platform.clock),
    },
    () => noteEnds(platform),
  );
  return {
    async close() {
      await Promise.all([facts.close(), breaks.close()]);
      await loop.close();
      await deliverer.close();
    },
  };
}
