import { LIMITING_ROLES, type Config, type Role, type Servers } from '../../config.ts';
import { accessOf, connectClickHouse } from '../../platform/clickhouse/http.ts';
import { migrateClickHouse } from '../../platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { systemClock } from '../../platform/clock.ts';
import { Egress } from '../../platform/egress/egress.ts';
import { openKafkaLog } from '../../platform/event-log/kafka-log.ts';
import { ALL_TOPICS } from '../../platform/event-log/topics.ts';
import { openJobs } from '../../platform/jobs/graphile.ts';
import { migrateJobs } from '../../platform/jobs/migrate.ts';
import { createLogger, type Logger } from '../../platform/logger.ts';
import { createMetrics } from '../../platform/metrics.ts';
import { migratePostgres, withMigrationLock } from '../../platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../platform/postgres/pool.ts';
import { openWorkWatch } from '../../platform/postgres/work-watch.ts';
import type { RateLimiter } from '../../platform/rate-limit/port.ts';
import type { RedisRateLimiterOptions } from '../../platform/rate-limit/redis.ts';
import { kafkaLogOptions } from './kafka-options.ts';
import type { Platform } from '../../platform/platform.ts';
import { ShutdownStack } from './shutdown-stack.ts';

/**
 * Connects to Kafka, ClickHouse, Postgres and Redis. Rejects when one of the first three does not answer, with
 * ConfigError or LogMisconfigured when the settings are the cause. When `stopping` is aborted, it closes what is open
 * and rejects.
 */
export async function openDistributedPlatform(
  config: Config,
  servers: Servers,
  stopping?: AbortSignal,
): Promise<Platform> {
  const clock = systemClock;
  const logger = createLogger(config.log_level);
  const metrics = createMetrics();
  const shutdown = new ShutdownStack(logger, stopping);
  try {
    const eventLog = openKafkaLog(await kafkaLogOptions(servers, logger));
    shutdown.add('event log', () => eventLog.close());
    // Before the migrations: when the topics refuse this version, the earlier one can still be started.
    await eventLog.ensureTopics(ALL_TOPICS);
    const clickhouse = connectClickHouse(servers.clickhouse_url);
    shutdown.add('clickhouse', () => clickhouse.close());
    await migrate(servers, clickhouse, logger);
    const postgres = openPostgres(servers.postgres_url);
    shutdown.add('postgres', () => postgres.close());
    const limiting = { redis_url: servers.redis_url, clock, logger, metrics };
    const rateLimiter = await openRateLimiter(config.roles, limiting);
    shutdown.add('rate limiter', () => rateLimiter.close());
    const jobs = openJobs({ url: servers.postgres_url, logger, metrics });
    const egress = new Egress({ allow: config.egress_allow });
    shutdown.add('egress', () => egress.close());
    return {
      clock,
      logger,
      metrics,
      postgres,
      workWatch: openWorkWatch({ sql: postgres.watch, logger }),
      clickhouse,
      eventLog,
      jobs,
      rateLimiter,
      egress,
      close: () => shutdown.close(),
    };
  } catch (error) {
    await shutdown.close();
    throw error;
  }
}

/** Only the limiting roles load the Redis client, which takes 12 MB of memory. */
async function openRateLimiter(
  roles: ReadonlySet<Role>,
  { redis_url, ...options }: Omit<RedisRateLimiterOptions, 'redis_url'> & Pick<Servers, 'redis_url'>,
): Promise<RateLimiter> {
  if (redis_url !== undefined && LIMITING_ROLES.some((role) => roles.has(role))) {
    const { createRedisRateLimiter } = await import('../../platform/rate-limit/redis.ts');
    return createRedisRateLimiter({ redis_url, ...options });
  }
  const refuse = () => {
    throw new Error(`the roles ${[...roles].join(', ')} take no permits: add theirs to LIMITING_ROLES`);
  };
  return { take: refuse, takeInWindow: refuse, close: () => Promise.resolve() };
}

/** Brings every schema up to date. When several processes start together, one migrates and the others wait. */
async function migrate(
  { postgres_url, clickhouse_url }: Servers,
  clickhouse: ClickHouse,
  logger: Logger,
): Promise<void> {
  const owner = connectPool(postgres_url, { max: 2 });
  try {
    await migratePostgres(owner);
    await withMigrationLock(owner, async () => {
      await migrateJobs(postgres_url, logger);
      await migrateClickHouse(clickhouse, accessOf(clickhouse_url));
    });
  } finally {
    await owner.end({ timeout: 5 });
  }
}
