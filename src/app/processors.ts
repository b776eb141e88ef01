import type { Config, Role } from '../config.ts';
import { receivedAtOf } from '../ingest/events/envelope.ts';
import { exposeConsumerLag } from '../platform/event-log/lag-gauge.ts';
import { RecordAges } from '../platform/event-log/record-ages.ts';
import { GROUPS, TOPICS } from '../platform/event-log/topics.ts';
import type { Notifications } from '../platform/postgres/notifications.ts';
import type { Platform } from '../wiring/platform.ts';
import type { ShutdownStack } from '../wiring/shutdown-stack.ts';
import { loadMessagingSecrets } from './messaging-secrets.ts';

/** What a processor is started with. */
interface Start {
  config: Config;
  platform: Platform;
  /** The platform again; how old the records are that are read through it shows in the metrics. */
  watched: Platform;
  notifications: Notifications;
}

/** A processor at work. */
interface Running {
  close(): Promise<void>;
}

interface Processor {
  role: Role;
  name: string;
  /** Imports the code as well: a process holds in memory what its roles need, and no more. */
  start: (options: Start) => Promise<Running>;
}

/** In the order in which data flows, so that they are closed against it. */
const PROCESSORS: readonly Processor[] = [
  {
    role: 'scheduler',
    name: 'scheduler',
    async start({ platform, config }) {
      const { startScheduler } = await import('../../processors/scheduler/index.ts');
      return startScheduler(platform, config.fx);
    },
  },
  {
    role: 'messenger',
    name: 'messenger',
    async start({ config, platform, notifications }) {
      const { startMessenger } = await import('../../processors/messenger/index.ts');
      const secrets = await loadMessagingSecrets(config, platform);
      return startMessenger(platform, notifications, { ...secrets, public_url: config.public_url });
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
    name: 'send-mirror',
    async start({ platform }) {
      const { startSendMirror } = await import('../../processors/send-mirror/index.ts');
      return startSendMirror(platform);
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
    async start({ watched }) {
      const { startPlayerFold } = await import('../../processors/player-fold/index.ts');
      return startPlayerFold(watched);
    },
  },
];

/** Starts the processors of these roles, and reports at every scrape how far behind they are. */
export async function startProcessors(
  config: Config,
  platform: Platform,
  notifications: Notifications,
  shutdown: ShutdownStack,
): Promise<void> {
  const { roles } = config;
  const ages = new RecordAges({ clock: platform.clock, receivedAt: receivedAtOf });
  const watched = { ...platform, eventLog: ages.watch(platform.eventLog) };
  exposeLag(platform, ages, roles);
  const wanted = PROCESSORS.filter(({ role }) => roles.has(role));
  // All at once: each waits for the log to let it in.
  const outcomes = await Promise.allSettled(
    wanted.map(({ start }) => start({ config, platform, watched, notifications })),
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

function exposeLag(
  { metrics, eventLog, logger }: Platform,
  ages: RecordAges,
  roles: ReadonlySet<Role>,
): void {
  const consumers = [
    { role: 'player-fold', topic: TOPICS.events, group: GROUPS.fold },
    { role: 'analytics-sink', topic: TOPICS.playerEvents, group: GROUPS.sink },
  ] as const;
  exposeConsumerLag({
    registry: metrics.registry,
    eventLog,
    logger,
    ages,
    consumers: consumers.filter(({ role }) => roles.has(role)),
  });
}
