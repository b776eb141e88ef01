import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../../config.ts';
import { openEmbeddedClickHouse } from '../../platform/clickhouse/embedded.ts';
import { migrateClickHouse } from '../../platform/clickhouse/migrate.ts';
import { systemClock } from '../../platform/clock.ts';
import { Egress } from '../../platform/egress/egress.ts';
import { openPostgresLog } from '../../platform/event-log/postgres-log.ts';
import { ALL_TOPICS } from '../../platform/event-log/topics.ts';
import { openJobs } from '../../platform/jobs/graphile.ts';
import { migrateJobs } from '../../platform/jobs/migrate.ts';
import { createLogger } from '../../platform/logger.ts';
import { createMetrics } from '../../platform/metrics.ts';
import { startEmbeddedPostgres } from '../../platform/postgres/embedded-server.ts';
import { migratePostgres } from '../../platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../platform/postgres/pool.ts';
import { openWorkWatch } from '../../platform/postgres/work-watch.ts';
import { makeTraversable } from '../../platform/postgres/server-user.ts';
import { createMemoryRateLimiter } from '../../platform/rate-limit/memory.ts';
import { ShutdownStack } from './shutdown-stack.ts';
import type { Platform } from '../../platform/platform.ts';

/** One that holds the lock of the event log, and two for its short statements. */
const LOG_POOL_SIZE = 3;

/** Starts a Postgres on the folder `dir`, or returns another one; `stop` is called when nothing uses it any more. */
export type StartPostgres = (options: { dir: string }) => Promise<{ url: string; stop(): Promise<void> }>;

/**
 * Opens the embedded engines on `config.data_dir`. When `stopping` is aborted, it closes what is open and rejects.
 * By default Postgres is a server that it starts on that folder; `startPostgres` replaces it.
 */
export async function openEmbeddedPlatform(
  config: Config,
  stopping?: AbortSignal,
  startPostgres: StartPostgres = startEmbeddedPostgres,
): Promise<Platform> {
  const clock = systemClock;
  const logger = createLogger(config.log_level);
  const shutdown = new ShutdownStack(logger, stopping);
  const data_dir = resolve(config.data_dir);
  await mkdir(data_dir, { recursive: true });
  await makeTraversable(data_dir);
  // `makeTraversable` lets other users pass through the data folder; this folder stays closed to them.
  await mkdir(join(data_dir, 'clickhouse'), { recursive: true, mode: 0o700 });
  try {
    const server = await startPostgres({ dir: join(data_dir, 'postgres') });
    shutdown.add('postgres server', () => server.stop());
    const owner = connectPool(server.url, { max: LOG_POOL_SIZE });
    shutdown.add('log connections', () => owner.end({ timeout: 5 }));
    await migratePostgres(owner);
    await migratePostgres(owner, 'pg-migrations/event-log');
    await migrateJobs(server.url, logger);
    const clickhouse = await openEmbeddedClickHouse(join(data_dir, 'clickhouse'));
    shutdown.add('clickhouse', () => clickhouse.close());
    await migrateClickHouse(clickhouse);
    const postgres = openPostgres(server.url);
    shutdown.add('postgres', () => postgres.close());
    const eventLog = await openPostgresLog({ sql: owner, clock, logger });
    shutdown.add('event log', () => eventLog.close());
    await eventLog.ensureTopics(ALL_TOPICS);
    const rateLimiter = createMemoryRateLimiter({ clock });
    const egress = new Egress({ allow: config.egress_allow });
    shutdown.add('egress', () => egress.close());
    const metrics = createMetrics();
    const jobs = openJobs({ url: server.url, logger, metrics });
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
