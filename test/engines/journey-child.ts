import { setTimeout as sleep } from 'node:timers/promises';
import { startService } from '../../src/app/service.ts';
import { readConfig } from '../../src/config.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { LogUnavailable, type EventLog } from '../../src/platform/event-log/port.ts';
import { openPostgresLog } from '../../src/platform/event-log/postgres-log.ts';
import { ALL_TOPICS } from '../../src/platform/event-log/topics.ts';
import { openJobs } from '../../src/platform/jobs/graphile.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { connectPool, openPostgres } from '../../src/platform/postgres/pool.ts';
import { openWorkWatch } from '../../src/platform/postgres/work-watch.ts';
import { createMemoryRateLimiter } from '../../src/platform/rate-limit/memory.ts';

/**
 * The service without analytics, on the migrated Postgres of the environment: intake, fold, journeys, messages and
 * webhooks. Its other settings are those of the service. A test kills this process.
 */
const { JOURNEY_POSTGRES_URL = '' } = process.env;

const config = readConfig();
const clock = systemClock;
const logger = createLogger(config.log_level);

/**
 * Retries, because the log belongs to one process at a time, and the server may not have noticed yet that the previous
 * process was killed.
 */
async function openLog(): Promise<EventLog> {
  const sql = connectPool(JOURNEY_POSTGRES_URL);
  for (let attempt = 1; ; attempt++) {
    try {
      return await openPostgresLog({ sql, clock, logger });
    } catch (error) {
      if (!(error instanceof LogUnavailable) || attempt === 100) throw error;
      await sleep(50);
    }
  }
}

/** No journey of the test asks about a player's history. */
const noClickHouse = () => Promise.reject(new Error('no ClickHouse'));
const clickhouse = {
  query: noClickHouse,
  file: noClickHouse,
  command: noClickHouse,
  rewrite: noClickHouse,
  deleteRows: noClickHouse,
  insertLines: noClickHouse,
  max_questions: 1,
  ping: noClickHouse,
  close: () => Promise.resolve(),
};

const eventLog = await openLog();
await eventLog.ensureTopics(ALL_TOPICS);
const metrics = createMetrics();
const postgres = openPostgres(JOURNEY_POSTGRES_URL);
await startService(config, {
  clock,
  logger,
  metrics,
  clickhouse,
  eventLog,
  postgres,
  workWatch: openWorkWatch({ sql: postgres.watch, logger }),
  jobs: openJobs({ url: JOURNEY_POSTGRES_URL, logger, metrics }),
  rateLimiter: createMemoryRateLimiter({ clock }),
  egress: new Egress({ allow: config.egress_allow }),
  close: () => Promise.resolve(),
});
process.stdout.write('ready\n');
