import type { FastifyInstance } from 'fastify';
import { startAnalyticsSink } from '../../processors/analytics-sink/index.ts';
import { startEventRewriter } from '../../processors/event-rewriter/index.ts';
import { startFxRestater } from '../../processors/fx-restater/index.ts';
import { startMessenger } from '../../processors/messenger/index.ts';
import { startPlayerFold } from '../../processors/player-fold/index.ts';
import { startPlayerMirror } from '../../processors/player-mirror/index.ts';
import { startSegmentRefresh } from '../../processors/segment-refresh/index.ts';
import { startScheduler } from '../../processors/scheduler/index.ts';
import { startSendMirror } from '../../processors/send-mirror/index.ts';
import type { ApiKeyAuthenticator } from '../auth/api-key.ts';
import { openApiKeys, openAuthenticators, type Authenticators } from '../auth/authenticators.ts';
import { loadInternalSecret } from '../auth/internal-secret.ts';
import type { Config, Role } from '../config.ts';
import { receivedAtOf } from '../ingest/events/envelope.ts';
import { closeServer } from '../http/close-server.ts';
import { buildApiApp } from './api-app.ts';
import { buildHealthApp } from './health-app.ts';
import { buildIntakeApp } from './intake-app.ts';
import { AppendBatcher } from '../ingest/intake/append-batcher.ts';
import { loadCredentialsKeys } from '../engage/providers/credentials.ts';
import { loadLinkKey } from '../engage/messaging/link-key.ts';
import { exposeConsumerLag } from '../platform/event-log/lag-gauge.ts';
import { RecordAges } from '../platform/event-log/record-ages.ts';
import { GROUPS, TOPICS } from '../platform/event-log/topics.ts';
import { openNotifications, type Notifications } from '../platform/postgres/notifications.ts';
import { openTenantCapabilities, type TenantCapabilityCache } from '../tenants/config/capability-cache.ts';
import { ShutdownStack } from '../wiring/shutdown-stack.ts';
import type { Platform } from '../wiring/platform.ts';

/** The roles of this process, running. */
export interface Service {
  /** Where the base API listens; absent without the role `api`. */
  base_url: string | undefined;
  /** Where the ingestion API listens; absent without the role `intake`. */
  ingest_url: string | undefined;
  /** Where `/healthz`, `/readyz` and `/metrics` are: on the base API, or without it on a listener of their own. */
  health_url: string;
  /** Present with the role `api`. */
  auth: Authenticators | undefined;
  notifications: Notifications;
  /** Stops taking work, lets running work end, then closes the platform. */
  close(): Promise<void>;
}

/** What both hosts know callers and tenants by, shared when they run in one process. */
interface Front {
  api_keys: ApiKeyAuthenticator;
  capabilities: TenantCapabilityCache;
}

interface StartOptions {
  /** Ends the start half-way, with everything closed again. */
  stopping?: AbortSignal;
  /** What is left to do once every listener listens; `/readyz` says "starting" until it is done. */
  announce?: (service: Service) => Promise<void>;
}

/**
 * Starts the configured roles on an open platform; on failure everything started is closed again, the platform
 * with it.
 */
export async function startService(
  config: Config,
  platform: Platform,
  { stopping, announce }: StartOptions = {},
): Promise<Service> {
  const shutdown = new ShutdownStack(platform.logger, stopping);
  let started = false;
  const isStarted = () => started;
  const has = (role: Role) => config.roles.has(role);
  const listen = (app: FastifyInstance, port: number) => listenOn(app, config.host, port, shutdown);
  try {
    shutdown.add('platform', () => platform.close());
    const { postgres, clock } = platform;
    const notifications = openNotifications(postgres.service, platform.logger);
    // Consumers are opened first and so closed last: what intake accepts until its end is still worked on.
    await startProcessors(config, platform, notifications, shutdown);
    const keys = { config, clock, sql: postgres.service, notifications };
    const front = has('api') || has('intake') ? await openFront(keys) : undefined;
    let auth: Authenticators | undefined;
    if (front !== undefined && has('api')) {
      const internal_secret = await loadInternalSecret(config);
      auth = await openAuthenticators({ ...keys, api_keys: front.api_keys, internal_secret });
    }
    let ingest_url: string | undefined;
    if (front !== undefined && has('intake')) {
      ingest_url = await listen(openIntake(config, platform, front, shutdown), config.ingest_port);
    }
    // Last, because whoever waits for this service asks here whether it is ready.
    const health_url = await listen(
      auth === undefined || front === undefined
        ? buildHealthApp(platform, isStarted)
        : buildApiApp(platform, config, {
            auth,
            notifications,
            capabilities: front.capabilities,
            ...(await openSecrets(config, platform)),
            isStarted,
          }),
      config.port,
    );
    const base_url = auth === undefined ? undefined : health_url;
    const close = () => shutdown.close();
    const service: Service = { base_url, ingest_url, health_url, auth, notifications, close };
    await announce?.(service);
    stopping?.throwIfAborted();
    started = true;
    return service;
  } catch (error) {
    await shutdown.close();
    throw error;
  }
}

async function openFront(options: Parameters<typeof openApiKeys>[0]): Promise<Front> {
  return { api_keys: await openApiKeys(options), capabilities: await openTenantCapabilities(options) };
}

function openIntake(
  config: Config,
  platform: Platform,
  { api_keys, capabilities }: Front,
  shutdown: ShutdownStack,
): FastifyInstance {
  const batcher = new AppendBatcher(platform.eventLog, TOPICS.events, platform.metrics);
  shutdown.add('intake appends', () => batcher.drain());
  const deps = {
    ...platform,
    apiKeys: api_keys,
    capabilities,
    defaultPolicy: { name: 'ingest', ...config.rates.ingest },
    batcher,
  };
  return buildIntakeApp(deps, platform.logger);
}

/** Starts the consumers of these roles, and says at every scrape how far behind they are. */
async function startProcessors(
  config: Config,
  platform: Platform,
  notifications: Notifications,
  shutdown: ShutdownStack,
): Promise<void> {
  const { roles, fx } = config;
  const ages = new RecordAges({ clock: platform.clock, receivedAt: receivedAtOf });
  const watched = { ...platform, eventLog: ages.watch(platform.eventLog) };
  exposeLag(platform, ages, roles);
  // In the order in which data flows, so that they are closed against it.
  const processors: [Role, name: string, start: () => Running | Promise<Running>][] = [
    ['scheduler', 'scheduler', () => startScheduler(platform, fx)],
    ['messenger', 'messenger', () => startMessengerOf(config, platform, notifications)],
    ['segment-refresh', 'segment-refresh', () => startSegmentRefresh(platform, notifications)],
    ['event-rewriter', 'event-rewriter', () => startEventRewriter(platform)],
    ['fx-restater', 'fx-restater', () => startFxRestater(platform, notifications)],
    ['player-mirror', 'player-mirror', () => startPlayerMirror(platform)],
    ['player-mirror', 'send-mirror', () => startSendMirror(platform)],
    ['analytics-sink', 'analytics-sink', () => startAnalyticsSink(watched)],
    ['player-fold', 'player-fold', () => startPlayerFold(watched)],
  ];
  const wanted = processors.filter(([role]) => roles.has(role));
  // All at once: each waits for the log to let it in.
  const outcomes = await Promise.allSettled(wanted.map(async ([, , start]) => start()));
  shutdown.addAll(
    wanted.flatMap(([, name], i) => {
      const outcome = outcomes[i];
      return outcome?.status === 'fulfilled' ? [{ name, close: () => outcome.value.close() }] : [];
    }),
  );
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** A processor at work. */
interface Running {
  close(): Promise<void>;
}

/** What messages are sent and signed with. */
async function openSecrets(config: Config, { postgres, logger }: Platform) {
  const credentials_keys = await loadCredentialsKeys(config);
  return { credentials_keys, link_key: await loadLinkKey(postgres.service, credentials_keys, logger) };
}

async function startMessengerOf(
  config: Config,
  platform: Platform,
  notifications: Notifications,
): Promise<Running> {
  const { public_url } = config;
  const secrets = await openSecrets(config, platform);
  return startMessenger(platform, notifications, { ...secrets, public_url });
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

async function listenOn(
  app: FastifyInstance,
  host: string,
  port: number,
  shutdown: ShutdownStack,
): Promise<string> {
  shutdown.add('http server', () => closeServer(app));
  const url = await app.listen({ host, port });
  return url.replace('[::1]', 'localhost');
}
