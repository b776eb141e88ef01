import {
  readEventsToRewrite,
  readJourneysToMirror,
  readPlayersToMirror,
  readSendsToMirror,
} from '../analytics/backlog-queries.ts';
import { readStagesToPublish } from '../analytics/stage-queries.ts';
import { readEventsToPublish } from '../bonuses/grants/publish-queries.ts';
import { readDueGrants } from '../bonuses/grants/call-queries.ts';
import type { Role } from '../config.ts';
import { readQueuedMessages, readRangesToFanOut } from '../engage/campaigns/backlog-queries.ts';
import { readFactsToQueue } from '../engage/subscriptions/dispatch-queries.ts';
import { readDueNotices } from '../analytics/insights/notices/queries.ts';
import { readDueDeliveries } from '../engage/webhooks/claim-queries.ts';
import { readTierRequests } from '../players/tiers/job-queries.ts';
import { readPendingConversions, readRateChangesToApply } from '../ledger/fx/backlog-queries.ts';
import {
  exposeAge,
  exposeBacklogs,
  MAX_COUNTED,
  sinceLastEmpty,
  type Backlog,
  type BacklogSource,
  type QueueGauge,
} from '../platform/backlog-gauge.ts';
import { exposeConsumerLag, type ConsumerLag } from '../platform/event-log/lag-gauge.ts';
import type { RecordAges } from '../platform/event-log/record-ages.ts';
import { GROUPS, TOPICS } from '../platform/event-log/topics.ts';
import { limitTransaction } from '../platform/postgres/limits.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { readEntriesToEvaluate } from '../segments/dirty-player-queries.ts';
import { readChangesToPublish } from '../segments/membership-queries.ts';
import { oldestOpenErasure } from '../players/erasure/queries.ts';
import { readDueCalls, readLateCalls } from '../players/kyc/call-queries.ts';
import { readToPublish } from '../players/kyc/queries.ts';
import type { Platform } from '../platform/platform.ts';

/** Consumers of the event log. */
const CONSUMERS: readonly { role: Role; topic: string; group: string }[] = [
  { role: 'player-fold', topic: TOPICS.events, group: GROUPS.fold },
  { role: 'analytics-sink', topic: TOPICS.playerEvents, group: GROUPS.sink },
  { role: 'messenger', topic: TOPICS.playerEvents, group: GROUPS.trigger },
  { role: 'journey-runner', topic: TOPICS.playerEvents, group: GROUPS.journeyMatcher },
  { role: 'bonus-sender', topic: TOPICS.playerEvents, group: GROUPS.wagering },
];

interface Queue {
  role: Role;
  queue: string;
  read: (tx: Tx, most: number) => Promise<Backlog>;
  /** The rows have no time of their own from which on they wait. */
  has_rough_times?: boolean;
}

/** Queues in Postgres, under the role that empties them. */
const QUEUES: readonly Queue[] = [
  { role: 'player-mirror', queue: 'player-mirror', read: readPlayersToMirror, has_rough_times: true },
  { role: 'player-mirror', queue: 'send-mirror', read: readSendsToMirror, has_rough_times: true },
  { role: 'player-mirror', queue: 'journey-mirror', read: readJourneysToMirror, has_rough_times: true },
  { role: 'player-mirror', queue: 'message-events', read: readStagesToPublish },
  { role: 'event-rewriter', queue: 'event-rewriter', read: readEventsToRewrite },
  { role: 'fx-restater', queue: 'fx-restater', read: readRateChangesToApply },
  { role: 'fx-restater', queue: 'pending-conversions', read: readPendingConversions },
  { role: 'scheduler', queue: 'vip-tiers', read: readTierRequests },
  { role: 'segment-refresh', queue: 'dirty-players', read: readEntriesToEvaluate },
  { role: 'segment-refresh', queue: 'segment-changes', read: readChangesToPublish },
  { role: 'messenger', queue: 'fan-out', read: readRangesToFanOut },
  { role: 'messenger', queue: 'messages', read: readQueuedMessages },
  { role: 'webhook-deliverer', queue: 'webhooks', read: readDueDeliveries },
  { role: 'scheduler', queue: 'insight-notices', read: readDueNotices },
  { role: 'webhook-deliverer', queue: 'subscription-facts', read: readFactsToQueue },
  { role: 'webhook-deliverer', queue: 'kyc-calls', read: readDueCalls },
  { role: 'webhook-deliverer', queue: 'kyc-calls-late', read: readLateCalls },
  { role: 'webhook-deliverer', queue: 'kyc-events', read: readToPublish },
  { role: 'bonus-sender', queue: 'bonus-calls', read: readDueGrants },
  { role: 'bonus-sender', queue: 'bonus-events', read: readEventsToPublish },
];

/** What some queues are also called. */
const ALSO: readonly QueueGauge[] = [
  {
    name: 'mirror_lag_seconds',
    help: 'How long the oldest change that a mirror has not copied to ClickHouse has been waiting',
    queues: QUEUES.filter(({ has_rough_times }) => has_rough_times === true).map(({ queue }) => queue),
    label: 'mirror',
    value: 'age_s',
  },
  {
    name: 'pending_conversions',
    help: 'Amounts without a rate, 10000 at most',
    queues: ['pending-conversions'],
    value: 'items',
  },
];

/**
 * What a scrape may take: the longest query, which is also the longest wait for a lock; the longest wait for one queue;
 * and the time after which it asks for no further queue.
 */
export interface ScrapeLimits {
  query_ms: number;
  source_ms: number;
  total_ms: number;
}
export const LIMITS: ScrapeLimits = { query_ms: 500, source_ms: 1_000, total_ms: 4_000 };

/** Adds the metrics that say what waits for the processors of these roles, and for how long. */
export function exposeWaiting(
  platform: Platform,
  ages: RecordAges,
  roles: ReadonlySet<Role>,
  limits = LIMITS,
): void {
  const { clock, logger, eventLog } = platform;
  const { registry } = platform.metrics;
  const consumers = CONSUMERS.filter(({ role }) => roles.has(role));
  const lags = exposeConsumerLag({ registry, eventLog, logger, ages, consumers });
  const queues = QUEUES.filter(({ role }) => roles.has(role));
  const options = { registry, clock, logger, limits };
  exposeBacklogs({
    ...options,
    sources: [
      ...consumers.map(({ group }) => ({
        queue: group,
        read: async () => backlogOf(await lags(), group, ages, clock.now_ms()),
      })),
      ...queues.map((queue) => sourceOf(platform, queue, limits)),
    ],
    also: ALSO,
  });
  if (roles.has('scheduler')) {
    exposeAge(options, {
      name: 'erasure_oldest_open_seconds',
      help: 'How long ago the oldest erasure was asked for that is confirmed and not done',
      read: () => readBriefly(platform, limits, (tx) => oldestOpenErasure(tx)),
    });
  }
}

/**
 * Reads what of a tenant waits in each queue, as row-level security shows it; null for a queue that is not read in time.
 * Mirrors are omitted: their positions are of all tenants.
 */
export async function readTenantBacklogs(
  { postgres, logger }: Pick<Platform, 'postgres' | 'logger'>,
  tenant_id: string,
): Promise<{ queue: string; backlog: Backlog | null }[]> {
  const found: { queue: string; backlog: Backlog | null }[] = [];
  const deadline_ms = performance.now() + LIMITS.total_ms;
  for (const { queue, read, has_rough_times } of QUEUES) {
    if (has_rough_times === true) continue;
    let backlog: Backlog | null = null;
    try {
      if (performance.now() < deadline_ms) {
        backlog = await postgres.asTenant(tenant_id, async (tx) => {
          await limitTransaction(tx, LIMITS.query_ms);
          return read(tx, MAX_COUNTED);
        });
      }
    } catch (error) {
      logger.warn({ err: error, queue }, 'backlog of a tenant unknown');
    }
    found.push({ queue, backlog });
  }
  return found;
}

function sourceOf(
  platform: Platform,
  { queue, read, has_rough_times }: Queue,
  limits: ScrapeLimits,
): BacklogSource {
  const readNow = () => readBriefly(platform, limits, (tx) => read(tx, MAX_COUNTED));
  return { queue, read: has_rough_times === true ? sinceLastEmpty(platform.clock, readNow) : readNow };
}

/** Reads in a transaction whose statements are limited. */
export function readBriefly<T>(
  { postgres }: Platform,
  { query_ms }: ScrapeLimits,
  read: (tx: Tx) => Promise<T>,
) {
  return postgres.service.begin(async (tx) => {
    await limitTransaction(tx, query_ms);
    return read(tx);
  });
}

function backlogOf(lags: readonly ConsumerLag[], group: string, ages: RecordAges, now_ms: number): Backlog {
  const partitions = lags.find((lag) => lag.group === group)?.partitions ?? [];
  if (partitions.length === 0) throw new Error('the event log did not answer');
  const items = partitions.reduce(
    (sum, { next_offset, end_offset }) => sum + Number(end_offset - next_offset),
    0,
  );
  const waiting_ms = Math.max(...partitions.map((lag) => ages.waiting_ms(group, lag)));
  return { items, oldest_ms: items === 0 ? null : now_ms - waiting_ms };
}
