import { CAMPAIGN_RANGES, FanOut } from '../../src/engage/campaigns/fan-out.ts';
import { Schedule } from '../../src/engage/campaigns/send.ts';
import { campaignTriggers } from '../../src/engage/campaigns/trigger.ts';
import { journeyTriggers } from '../../src/engage/journeys/runs/event-entry.ts';
import { MESSAGES_CHANNEL } from '../../src/engage/messaging/wake-queries.ts';
import {
  Messenger,
  type MessengerDeps,
  type MessengerSettings,
} from '../../src/engage/messaging/messenger.ts';
import { recordPushFeedback, writeReceipts } from '../../src/engage/messaging/push-feedback.ts';
import { TriggerDecider } from '../../src/engage/triggers/decider.ts';
import { recordTriggerEvents } from '../../src/engage/triggers/record.ts';
import { GROUPS, TOPICS } from '../../src/platform/event-log/topics.ts';
import { rangeWork } from '../../src/engage/member-ranges/range-queries.ts';
import { campaignWork } from '../../src/engage/campaigns/queries.ts';
import { messageWork } from '../../src/engage/messaging/queue-queries.ts';
import { triggerWork } from '../../src/engage/triggers/trigger-queries.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import { startTenantLoop } from '../../src/platform/tenant-loop.ts';
import type { Notifications } from '../../src/platform/postgres/notifications.ts';
import type { Platform } from '../../src/platform/platform.ts';

/** Events per batch, for triggered campaigns and for the feedback of push messages. */
const MAX_EVENTS = 5_000;
/** Ranges of members that become send rows concurrently. */
const FAN_OUT_LOOPS = 2;
/** Tenants whose reports on pushes are written at once, and the pause of one whose messages are locked. */
const MAX_RECEIPT_TENANTS = 4;
const RECEIPT_PAUSES = { first_ms: 2_000, longest_ms: 2_000 };

/** The loops of a running messenger. */
export interface RunningMessenger {
  close(): Promise<void>;
}

/**
 * messenger: due campaigns → sending; members → send rows; events that may fire campaigns → recorded → decided → send
 * rows; queued rows → gate → providers; players' feedback on push messages → recorded → their send rows. After a crash
 * each step is found again. Several messengers may run: only one at a time handles a range of members, and only one at a
 * time takes the messages of a project through the gate.
 */
export async function startMessenger(
  platform: MessengerDeps & Pick<Platform, 'clickhouse' | 'workWatch'>,
  notifications: Notifications,
  settings: MessengerSettings,
): Promise<RunningMessenger> {
  const { logger, clock, workWatch } = platform;
  const pauses = { logger, idle_pause_ms: 1_000, longest_pause_ms: 10_000 };
  // Their turns also extend claims, give up messages without one, tidy and set metrics.
  const with_housekeeping = { longest_wait_ms: 5_000 };
  const due = workWatch.watch(campaignWork, clock);
  const ranges = workWatch.watch(rangeWork(CAMPAIGN_RANGES), clock);
  const messages = workWatch.watch(messageWork, clock);
  const undecided = workWatch.watch(triggerWork, clock);
  const messenger = new Messenger(platform, settings);
  const loops: PollLoop[] = [];
  const wake = (queue_id?: string) => {
    messenger.wake(queue_id);
    for (const loop of loops) loop.wake();
  };
  await notifications.on(MESSAGES_CHANNEL, wake, () => wake());
  const schedule = new Schedule(platform);
  const fanOut = new FanOut(platform);
  const campaigns = startPolling({ name: 'campaigns', ...pauses, work: due }, () => schedule.turn());
  loops.push(
    campaigns,
    ...Array.from({ length: FAN_OUT_LOOPS }, () =>
      startPolling({ name: 'fan-out', ...pauses, work: ranges }, () => fanOut.turn()),
    ),
    startPolling({ name: 'messenger', ...pauses, ...with_housekeeping, work: messages }, async (stop) => {
      const has_more = await messenger.turn(stop);
      // The last message of a campaign may have been sent: the loop of campaigns then ends the campaign.
      if (has_more) campaigns.wake();
      return has_more;
    }),
  );
  const kinds = [campaignTriggers(platform), journeyTriggers(platform)];
  const decider = new TriggerDecider(platform, kinds);
  const triggers = startPolling(
    { name: 'triggers', ...pauses, ...with_housekeeping, work: undecided },
    (stop) => decider.turn(stop),
  );
  const receipts = startTenantLoop(platform, {
    name: 'push-receipts',
    table: 'push_receipts',
    max_running: MAX_RECEIPT_TENANTS,
    failure_pauses: RECEIPT_PAUSES,
    serve: (tenant_id) => writeReceipts(platform, tenant_id),
  });
  const trigger = await platform.eventLog.consume({
    topic: TOPICS.playerEvents,
    group: GROUPS.trigger,
    max_records: MAX_EVENTS,
    linger_ms: 0,
    async handle(batch) {
      if ((await recordPushFeedback(platform, batch.records)) > 0) receipts.wake();
      if ((await recordTriggerEvents(platform, kinds, batch)) > 0) triggers.wake();
    },
  });
  return {
    async close() {
      await trigger.close();
      await receipts.close();
      await triggers.close();
      await decider.close();
      const closed = loops.map((loop) => loop.close());
      messenger.wake();
      await Promise.all(closed);
      await messenger.close();
    },
  };
}
