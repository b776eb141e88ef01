import type { FastifyInstance } from 'fastify';
import { SINK_GROUP, startAnalyticsSink } from '../processors/analytics-sink/index.ts';
import { FOLD_GROUP, startPlayerFold } from '../processors/player-fold/index.ts';
import { startPlayerMirror } from '../processors/player-mirror/index.ts';
import { openApiKeys, openAuthenticators, type Authenticators } from './auth/authenticators.ts';
import { loadInternalSecret } from './auth/internal-secret.ts';
import type { Config, Role } from './config.ts';
import { buildApiApp } from './http/api-app.ts';
import { buildHealthApp } from './http/health-app.ts';
import { buildIntakeApp } from './http/intake-app.ts';
import { AppendBatcher } from './intake/append-batcher.ts';
import { exposeConsumerLag } from './platform/event-log/lag-gauge.ts';
import { TOPICS } from './platform/event-log/topics.ts';
import { openNotifications, type Notifications } from './platform/postgres/notifications.ts';
import { TenantMoneyCache } from './tenants/catalogue-cache.ts';
import { Closers } from './wiring/closers.ts';
import type { Platform } from './wiring/platform.ts';

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

/** Starts the configured roles on an open platform; on failure everything started is closed again. */
export async function startService(config: Config, platform: Platform): Promise<Service> {
  const closers = new Closers(platform.logger);
  closers.add('platform', () => platform.close());
  const has = (role: Role) => config.roles.has(role);
  try {
    const notifications = openNotifications(platform.postgres.service, platform.logger);
    // Consumers are opened first and so closed last: what intake accepts until its end is still worked on.
    await startProcessors(config.roles, platform, closers);
    exposeLag(platform, config.roles);
    const { postgres, clock } = platform;
    const keys = { config, clock, sql: postgres.service, notifications };
    const api_keys = has('api') || has('intake') ? await openApiKeys(keys) : undefined;
    let auth: Authenticators | undefined;
    let base_url: string | undefined;
    let ingest_url: string | undefined;
    if (api_keys !== undefined && has('api')) {
      auth = await openAuthenticators({
        ...keys,
        api_keys,
        internal_secret: await loadInternalSecret(config),
      });
      base_url = await listen(
        buildApiApp(platform, config, { auth, notifications }),
        config.host,
        config.port,
        closers,
      );
    }
    if (api_keys !== undefined && has('intake')) {
      const batcher = new AppendBatcher(platform.eventLog, TOPICS.events, platform.metrics);
      closers.add('intake appends', () => batcher.drain());
      const deps = {
        ...platform,
        apiKeys: api_keys,
        tenantMoney: new TenantMoneyCache(postgres),
        defaultPolicy: { name: 'ingest', ...config.rates.ingest },
        batcher,
      };
      ingest_url = await listen(
        buildIntakeApp(deps, platform.logger),
        config.host,
        config.ingest_port,
        closers,
      );
    }
    const health_url =
      base_url ?? (await listen(buildHealthApp(platform), config.host, config.port, closers));
    return { base_url, ingest_url, health_url, auth, notifications, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function startProcessors(
  roles: ReadonlySet<Role>,
  platform: Platform,
  closers: Closers,
): Promise<void> {
  if (roles.has('player-mirror')) {
    const mirror = startPlayerMirror(platform);
    closers.add('player-mirror', () => mirror.close());
  }
  if (roles.has('analytics-sink')) {
    const sink = await startAnalyticsSink(platform);
    closers.add('analytics-sink', () => sink.close());
  }
  if (roles.has('player-fold')) {
    const fold = await startPlayerFold(platform);
    closers.add('player-fold', () => fold.close());
  }
}

/** Says at every scrape how far behind the consumers of these roles are. */
function exposeLag({ metrics, eventLog, logger }: Platform, roles: ReadonlySet<Role>): void {
  const consumers = [
    { role: 'player-fold', topic: TOPICS.events, group: FOLD_GROUP },
    { role: 'analytics-sink', topic: TOPICS.playerEvents, group: SINK_GROUP },
  ] as const;
  exposeConsumerLag({
    registry: metrics.registry,
    eventLog,
    logger,
    consumers: consumers.filter(({ role }) => roles.has(role)),
  });
}

async function listen(app: FastifyInstance, host: string, port: number, closers: Closers): Promise<string> {
  closers.add('http server', async () => {
    await app.close();
  });
  const url = await app.listen({ host, port });
  return url.replace('[::1]', 'localhost');
}
