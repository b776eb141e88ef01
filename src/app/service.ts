import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { ApiKeyAuthenticator } from '../http/auth/api-key.ts';
import type { Authenticators } from '../http/auth/authenticators.ts';
import type { KeyUses } from '../http/auth/key-uses.ts';
import { loadCredentialsKeys } from '../engage/providers/credentials.ts';
import type { RejectedEvents } from '../ingest/rejected/rejected-events.ts';
import { loadInternalSecret } from '../http/auth/internal-secret.ts';
import type { Config } from '../config.ts';
import { closerOf } from '../http/close-server.ts';
import { Readiness } from '../http/readiness.ts';
import { packageVersion } from '../package-root.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import { openNotifications, type Notifications } from '../platform/postgres/notifications.ts';
import type { Db } from '../platform/postgres/port.ts';
import type { RateLimiter } from '../platform/rate-limit/port.ts';
import { loadErasureKey } from '../protection/exclusions/erasure-key.ts';
import { openTenantCapabilities, type TenantCapabilityCache } from '../tenants/config/capability-cache.ts';
import { ShutdownStack } from './wiring/shutdown-stack.ts';
import type { Platform } from '../platform/platform.ts';
import type { ApiDeps } from './api-app.ts';
import { buildHealthApp } from './health-app.ts';
import { platformsOpener, type OpenPlatforms } from './bonus-platforms.ts';
import { loadMessagingSecrets } from './messaging-secrets.ts';
import { startProcessors } from './processors.ts';

/** The roles of this process, running. */
export interface Service {
  /** Where the base API listens; absent without the role `api`. */
  base_url: string | undefined;
  /** Where the ingestion API listens; absent without the role `intake`. */
  ingest_url: string | undefined;
  /**
   * Where `/healthz`, `/readyz` and `/metrics` are, and with the role `api` the internal endpoints: on the base API, or
   * on a listener of their own.
   */
  ops_url: string;
  /** Present with the role `api`. */
  auth: Authenticators | undefined;
  /** Present with one of the roles `api` and `intake`. */
  key_uses: KeyUses | undefined;
  notifications: Notifications;
  /** Is not ready from now on; after the drain it takes no more work, lets running work end, and closes the platform. */
  close(): Promise<void>;
}

/** API keys and tenants' capabilities, which both hosts need and share when they run in one process. */
interface Front {
  api_keys: ApiKeyAuthenticator;
  /** Closed when no listener takes requests any more. */
  key_uses: KeyUses;
  capabilities: TenantCapabilityCache;
}

interface FrontOptions {
  config: Config;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  rateLimiter: RateLimiter;
  /** The service role, for look-ups. */
  sql: Db;
  /** The service role, for what requests do not wait for. */
  service: Db;
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
  const readiness = new Readiness(platform, config.roles);
  platform.metrics.buildInfo.set({ version: packageVersion, commit: config.build_commit }, 1);
  try {
    shutdown.add('platform', () => platform.close());
    const notifications = openNotifications(platform.postgres.service, platform.logger);
    const openBonusPlatforms = platformsOpener(config, platform, notifications);
    const parts = await openParts(config, platform, notifications, readiness, openBonusPlatforms);
    const { key_uses } = parts.front ?? {};
    if (key_uses !== undefined) shutdown.add('uses of API keys', () => key_uses.close());
    // First and closed last: probes are answered while the rest starts and stops.
    const own_ops_url =
      config.ops && (await listenOn(await openOps(config, platform, parts), config.ops, shutdown));
    // Consumers are opened before the listeners and closed after them: they process what intake accepts until its end.
    await startProcessors(config, platform, notifications, { shutdown, openBonusPlatforms });
    const { front, api } = parts;
    let ingest_url: string | undefined;
    if (front !== undefined && config.roles.has('intake')) {
      const rejected = await openRejectedEvents(platform);
      // Closed after the listener: it writes what the last requests were refused for.
      shutdown.add('rejected events', () => rejected.close());
      const intake = await openIntake(config, platform, front, { rejected, notifications });
      ingest_url = await listenOn(intake, { host: config.host, port: config.ingest_port }, shutdown);
    }
    // Last, because without an address for operations, orchestrators ask this listener whether the service is ready.
    let main_url: string | undefined;
    if (api !== undefined || own_ops_url === undefined) {
      main_url = await listenOn(await openMain(config, platform, parts), config, shutdown);
    }
    const close = async () => {
      readiness.stopping();
      await sleep(config.drain_ms);
      await shutdown.close();
    };
    const base_url = api === undefined ? undefined : main_url;
    const ops_url = own_ops_url ?? main_url ?? '';
    const service: Service = {
      base_url,
      ingest_url,
      ops_url,
      auth: api?.auth,
      key_uses,
      notifications,
      close,
    };
    await announce?.(service);
    stopping?.throwIfAborted();
    readiness.started();
    return service;
  } catch (error) {
    await shutdown.close();
    throw error;
  }
}

/** What the listeners of this process share. */
interface Parts {
  readiness: Readiness;
  /** Present with one of the roles `api` and `intake`. */
  front: Front | undefined;
  /** Present with the role `api`. */
  api: ApiDeps | undefined;
}

async function openParts(
  config: Config,
  platform: Platform,
  notifications: Notifications,
  readiness: Readiness,
  openBonusPlatforms: OpenPlatforms,
): Promise<Parts> {
  const { roles } = config;
  const { clock, logger, metrics, postgres, rateLimiter } = platform;
  const keys = { config, clock, logger, metrics, rateLimiter, sql: postgres.lookups, notifications };
  const has_front = roles.has('api') || roles.has('intake');
  const front = has_front ? await openFront({ ...keys, service: postgres.service }) : undefined;
  if (front === undefined || !roles.has('api')) return { readiness, front, api: undefined };
  const internal_secret = await loadInternalSecret(config);
  const { openAuthenticators } = await import('../http/auth/authenticators.ts');
  const { createAuditWriter } = await import('../tenants/audit/write.ts');
  const { firstCallAcceptance } = await import('../tenants/members/invitations.ts');
  const auth = await openAuthenticators({
    ...keys,
    api_keys: front.api_keys,
    internal_secret,
    acceptOnly: firstCallAcceptance(platform, createAuditWriter(clock)),
  });
  const secrets = await loadMessagingSecrets(config, platform);
  const platforms = await openBonusPlatforms();
  return {
    readiness,
    front,
    api: {
      auth,
      notifications,
      capabilities: front.capabilities,
      ...secrets,
      erasure_key: await loadErasureKey(config),
      readiness,
      platforms,
    },
  };
}

// Code that only the hosts need is imported when a host opens, so that a process loads only the code of its roles.

async function openFront(options: FrontOptions): Promise<Front> {
  const { openApiKeys } = await import('../http/auth/authenticators.ts');
  const { KeyUses: Uses, keyUsesWriter } = await import('../http/auth/key-uses.ts');
  const { clock, logger, service } = options;
  const key_uses = new Uses({ write: keyUsesWriter(service), clock, logger });
  const credentials_keys = await loadCredentialsKeys(options.config);
  const api_keys = await openApiKeys({ ...options, uses: key_uses, credentials_keys });
  const capabilities = await openTenantCapabilities(options);
  return { api_keys, key_uses: key_uses.start(), capabilities };
}

/** The base API; in a process without it, health and metrics. */
async function openMain(config: Config, platform: Platform, { api, readiness }: Parts) {
  if (api === undefined) return buildHealthApp(platform, readiness);
  const { buildApiApp } = await import('./api-app.ts');
  return buildApiApp(platform, config, api);
}

async function openOps(config: Config, platform: Platform, { api, readiness }: Parts) {
  if (api === undefined) return buildHealthApp(platform, readiness);
  const { buildOpsApp } = await import('./api-app.ts');
  return buildOpsApp(platform, config, api);
}

async function openRejectedEvents({ postgres, clock, logger, metrics }: Platform): Promise<RejectedEvents> {
  const { RejectedEvents: Rejected } = await import('../ingest/rejected/rejected-events.ts');
  const { rejectionsWriter } = await import('../ingest/rejected/queries.ts');
  return new Rejected({ write: rejectionsWriter(postgres.service), clock, logger, metrics });
}

async function openIntake(
  config: Config,
  platform: Platform,
  { api_keys, capabilities }: Front,
  { rejected, notifications }: { rejected: RejectedEvents; notifications: Notifications },
): Promise<FastifyInstance> {
  const { buildIntakeApp } = await import('./intake-app.ts');
  const { openDialect } = await import('./segment-dialect.ts');
  const deps = {
    ...platform,
    apiKeys: api_keys,
    capabilities,
    rejected,
    defaultPolicy: { name: 'ingest', ...config.rates.ingest },
  };
  const { ops, trusted_proxies } = config;
  const dialect = await openDialect(config, platform, notifications);
  return buildIntakeApp(deps, platform.logger, { has_health: ops === undefined, trusted_proxies, dialect });
}

async function listenOn(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  shutdown: ShutdownStack,
): Promise<string> {
  shutdown.add('http server', closerOf(app));
  const url = await app.listen({ host, port });
  return url.replace('[::1]', 'localhost');
}
