import type { FastifyInstance } from 'fastify';
import type { ApiKeyAuthenticator } from '../auth/api-key.ts';
import type { Authenticators } from '../auth/authenticators.ts';
import { loadInternalSecret } from '../auth/internal-secret.ts';
import type { Config, Role } from '../config.ts';
import { closeServer } from '../http/close-server.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import { openNotifications, type Notifications } from '../platform/postgres/notifications.ts';
import type { Db } from '../platform/postgres/port.ts';
import { openTenantCapabilities, type TenantCapabilityCache } from '../tenants/config/capability-cache.ts';
import { ShutdownStack } from '../wiring/shutdown-stack.ts';
import type { Platform } from '../wiring/platform.ts';
import type { ApiDeps } from './api-app.ts';
import { buildHealthApp } from './health-app.ts';
import { loadMessagingSecrets } from './messaging-secrets.ts';
import { startProcessors } from './processors.ts';

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

/** API keys and tenants' capabilities, which both hosts need and share when they run in one process. */
interface Front {
  api_keys: ApiKeyAuthenticator;
  capabilities: TenantCapabilityCache;
}

interface FrontOptions {
  config: Config;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  /** The service role. */
  sql: Db;
  notifications: Notifications;
}

interface StartOptions {
  /** Aborts the start; everything opened is closed again. */
  stopping?: AbortSignal;
  /** Runs when every listener listens; `/readyz` answers "starting" until it resolves. */
  announce?: (service: Service) => Promise<void>;
}

/**
 * Starts the configured roles on an open platform. On failure it closes everything again, including the platform, and
 * rejects.
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
    const { postgres, clock, logger, metrics } = platform;
    const notifications = openNotifications(postgres.service, platform.logger);
    // Consumers are opened before the listeners and closed after them: they process what intake accepts until its end.
    await startProcessors(config, platform, notifications, shutdown);
    const keys = { config, clock, logger, metrics, sql: postgres.service, notifications };
    const front = has('api') || has('intake') ? await openFront(keys) : undefined;
    let auth: Authenticators | undefined;
    if (front !== undefined && has('api')) {
      const internal_secret = await loadInternalSecret(config);
      const { openAuthenticators } = await import('../auth/authenticators.ts');
      auth = await openAuthenticators({ ...keys, api_keys: front.api_keys, internal_secret });
    }
    let ingest_url: string | undefined;
    if (front !== undefined && has('intake')) {
      ingest_url = await listen(await openIntake(config, platform, front), config.ingest_port);
    }
    // Last, because orchestrators ask this listener whether the service is ready.
    const health_url = await listen(
      auth === undefined || front === undefined
        ? buildHealthApp(platform, isStarted)
        : await openApi(platform, config, {
            auth,
            notifications,
            capabilities: front.capabilities,
            ...(await loadMessagingSecrets(config, platform)),
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

// Code that only the hosts need is imported when a host opens, so that a process loads only the code of its roles.

async function openFront(options: FrontOptions): Promise<Front> {
  const { openApiKeys } = await import('../auth/authenticators.ts');
  return { api_keys: await openApiKeys(options), capabilities: await openTenantCapabilities(options) };
}

async function openApi(platform: Platform, config: Config, deps: ApiDeps): Promise<FastifyInstance> {
  const { buildApiApp } = await import('./api-app.ts');
  return buildApiApp(platform, config, deps);
}

async function openIntake(
  config: Config,
  platform: Platform,
  { api_keys, capabilities }: Front,
): Promise<FastifyInstance> {
  const { buildIntakeApp } = await import('./intake-app.ts');
  const deps = {
    ...platform,
    apiKeys: api_keys,
    capabilities,
    defaultPolicy: { name: 'ingest', ...config.rates.ingest },
  };
  return buildIntakeApp(deps, platform.logger);
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
