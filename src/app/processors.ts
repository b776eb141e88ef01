import type { Config, Role } from '../config.ts';
import { loadCredentialsKeys } from '../engage/providers/credentials.ts';
import { receivedAtOf } from '../ingest/events/envelope.ts';
import { loadErasureKey } from '../protection/exclusions/erasure-key.ts';
import type { EventLog } from '../platform/event-log/port.ts';
import { RecordAges } from '../platform/event-log/record-ages.ts';
import type { Notifications } from '../platform/postgres/notifications.ts';
import type { Platform } from '../platform/platform.ts';
import type { ShutdownStack } from './wiring/shutdown-stack.ts';
import { exposeWaiting } from './backlogs.ts';
import { exposeReadings } from './readings.ts';
import type { OpenPlatforms } from './bonus-platforms.ts';
import { loadMessagingSecrets } from './messaging-secrets.ts';

/** The arguments of a processor's start. */
interface Start {
  config: Config;
  platform: Platform;
  /** The same platform; metrics show the age of the records that are consumed through it. */
  watched: Platform;
  notifications: Notifications;
  openBonusPlatforms: OpenPlatforms;
}

/** A running processor. */
interface Running {
  close(): Promise<void>;
}

interface Processor {
  role: Role;
  name: string;
  /** Also imports the code, so that a process loads only the code of its roles. */
  start: (options: Start) => Promise<Running>;
}

/** Against the flow of data. They are closed from the last one on, so each after those that produce its input. */
const PROCESSORS: readonly Processor[] = [
  {
    role: 'scheduler',
    name: 'scheduler',
    async start({ platform, config, openBonusPlatforms }) {
      const { startScheduler } = await import('../../processors/scheduler/index.ts');
      const { PLAYER_DEPENDENTS } = await import('./player-dependents.ts');
      const { PLAYER_ERASERS } = await import('./player-erasers.ts');
      const { PLAYER_FILES } = await import('./player-files.ts');
      return startScheduler(platform, config.fx, openBonusPlatforms, {
        dependents: PLAYER_DEPENDENTS,
        erasers: PLAYER_ERASERS,
        erasure_key: await loadErasureKey(config),
        files: PLAYER_FILES,
        credentials_keys: await loadCredentialsKeys(config),
      });
    },
  },
  {
    role: 'scheduler',
    name: 'alerts',
    async start({ platform, config }) {
      const { startAlerts } = await import('../../processors/alerts/index.ts');
      return startAlerts(platform, {
        credentials_keys: await loadCredentialsKeys(config),
        public_url: config.public_url,
      });
    },
  },
  {
    role: 'scheduler',
    name: 'kyc-lapser',
    async start({ platform }) {
      const { startKycLapser } = await import('../../processors/kyc/index.ts');
      return startKycLapser(platform);
    },
  },
  {
    role: 'scheduler',
    name: 'tier-recomputer',
    async start({ platform, notifications }) {
      const { startTierRecomputer } = await import('../../processors/tier-recomputer/index.ts');
      return startTierRecomputer(platform, notifications);
    },
  },
  {
    role: 'messenger',
    name: 'messenger',
    async start({ config, watched, notifications }) {
      const { startMessenger } = await import('../../processors/messenger/index.ts');
      const secrets = await loadMessagingSecrets(config, watched);
      return startMessenger(watched, notifications, { ...secrets, public_url: config.public_url });
    },
  },
  {
    role: 'bonus-sender',
    name: 'bonus-sender',
    async start({ watched, openBonusPlatforms }) {
      const { startBonusSender } = await import('../../processors/bonus-sender/index.ts');
      return startBonusSender({ ...watched, platforms: await openBonusPlatforms() });
    },
  },
  {
    role: 'journey-runner',
    name: 'journey-runner',
    async start({ config, platform, notifications }) {
      const { startJourneyRunner } = await import('../../processors/journey-runner/index.ts');
      const erasure_key = await loadErasureKey(config);
      return startJourneyRunner({ ...platform, erasure_key }, notifications);
    },
  },
  {
    role: 'webhook-deliverer',
    name: 'webhook-deliverer',
    async start({ config, platform, notifications }) {
      const { startWebhookDeliverer } = await import('../../processors/webhook-deliverer/index.ts');
      return startWebhookDeliverer(platform, notifications, await loadCredentialsKeys(config));
    },
  },
  {
    role: 'webhook-deliverer',
    name: 'kyc',
    async start({ platform, openBonusPlatforms }) {
      const { startKyc } = await import('../../processors/kyc/index.ts');
      return startKyc(platform, await openBonusPlatforms());
    },
  },
  {
    role: 'segment-refresh',
    name: 'segment-refresh',
    async start({ platform, notifications }) {
      const { startSegmentRefresh } = await import('../../processors/segment-refresh/index.ts');
      return startSegmentRefresh(platform, notifications);
    },
  },
  {
    role: 'event-rewriter',
    name: 'event-rewriter',
    async start({ platform }) {
      const { startEventRewriter } = await import('../../processors/event-rewriter/index.ts');
      return startEventRewriter(platform);
    },
  },
  {
    role: 'fx-restater',
    name: 'fx-restater',
    async start({ platform, notifications }) {
      const { startFxRestater } = await import('../../processors/fx-restater/index.ts');
      return startFxRestater(platform, notifications);
    },
  },
  {
    role: 'player-mirror',
    name: 'player-mirror',
    async start({ platform }) {
      const { startPlayerMirror } = await import('../../processors/player-mirror/index.ts');
      return startPlayerMirror(platform);
    },
  },
  {
    role: 'player-mirror',
    name: 'horizon watch',
    async start({ platform: { postgres, logger, metrics } }) {
      const { startHorizonWatch } = await import('../platform/postgres/horizon.ts');
      return startHorizonWatch({ sql: postgres.service, logger, gauge: metrics.horizonAge });
    },
  },
  {
    role: 'player-mirror',
    name: 'send-mirror',
    async start({ platform }) {
      const { startSendMirror } = await import('../../processors/send-mirror/index.ts');
      return startSendMirror(platform);
    },
  },
  {
    role: 'player-mirror',
    name: 'journey-mirror',
    async start({ platform }) {
      const { startJourneyMirror } = await import('../../processors/journey-mirror/index.ts');
      return startJourneyMirror(platform);
    },
  },
  {
    role: 'analytics-sink',
    name: 'analytics-sink',
    async start({ watched }) {
      const { startAnalyticsSink } = await import('../../processors/analytics-sink/index.ts');
      return startAnalyticsSink(watched);
    },
  },
  {
    role: 'player-fold',
    name: 'player-fold',
    async start({ watched, notifications }) {
      const { startPlayerFold } = await import('../../processors/player-fold/index.ts');
      const { ThresholdCache } = await import('../ledger/tier-thresholds/threshold-cache.ts');
      const { clock, postgres } = watched;
      const thresholds = new ThresholdCache({ sql: postgres.service, clock });
      await thresholds.follow(notifications);
      return startPlayerFold(watched, thresholds);
    },
  },
];

/** Starts the processors of the configured roles, and exposes what waits for them as metrics. */
export async function startProcessors(
  config: Config,
  platform: Platform,
  notifications: Notifications,
  { shutdown, openBonusPlatforms }: { shutdown: ShutdownStack; openBonusPlatforms: OpenPlatforms },
): Promise<void> {
  const { roles } = config;
  const ages = new RecordAges({ clock: platform.clock, receivedAt: receivedAtOf });
  const waking = { ...platform, eventLog: wakeAfterBatches(platform) };
  const watched = { ...platform, eventLog: ages.watch(waking.eventLog) };
  exposeWaiting(platform, ages, roles);
  exposeReadings(config, platform);
  const wanted = PROCESSORS.filter(({ role }) => roles.has(role));
  // Concurrently, because each may wait until the log has admitted it to its consumer group.
  const outcomes = await Promise.allSettled(
    wanted.map(({ start }) =>
      start({ config, platform: waking, watched, notifications, openBonusPlatforms }),
    ),
  );
  shutdown.addAll(
    wanted.flatMap(({ name }, i) => {
      const outcome = outcomes[i];
      return outcome?.status === 'fulfilled' ? [{ name, close: () => outcome.value.close() }] : [];
    }),
  );
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Wraps the log: `consume` also wakes the watch of work after each batch, because its writes can be work for loops. */
function wakeAfterBatches({ eventLog, workWatch }: Platform): EventLog {
  const consume: EventLog['consume'] = (options) =>
    eventLog.consume({
      ...options,
      handle: async (batch) => {
        await options.handle(batch);
        workWatch.wake();
      },
    });
  return Object.assign(Object.create(eventLog) as EventLog, { consume });
}
