import { startMessenger } from '../../processors/messenger/index.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { LOOPBACK_NETWORKS } from '../../src/platform/egress/addresses.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { ALL_TOPICS } from '../../src/platform/event-log/topics.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { openNotifications } from '../../src/platform/postgres/notifications.ts';
import { openPostgres } from '../../src/platform/postgres/pool.ts';
import { openWorkWatch } from '../../src/platform/postgres/work-watch.ts';
import { createMemoryRateLimiter } from '../../src/platform/rate-limit/memory.ts';
import { openChildLog } from './child-log.ts';

/** Runs only a messenger, on the Postgres of the environment; a test kills this process. */
const { MESSENGER_POSTGRES_URL = '', MESSENGER_CREDENTIALS_KEY = '' } = process.env;

const clock = systemClock;
const logger = createLogger('error');
const postgres = openPostgres(MESSENGER_POSTGRES_URL);

/** This process has no ClickHouse, and decides no events. */
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

const eventLog = await openChildLog(MESSENGER_POSTGRES_URL, { clock, logger });
await eventLog.ensureTopics(ALL_TOPICS);
await startMessenger(
  {
    clock,
    logger,
    postgres,
    workWatch: openWorkWatch({ sql: postgres.watch, logger }),
    eventLog,
    clickhouse,
    metrics: createMetrics(),
    egress: new Egress({ allow: LOOPBACK_NETWORKS }),
    rateLimiter: createMemoryRateLimiter({ clock }),
  },
  openNotifications(postgres.service, logger),
  {
    credentials_keys: { current: MESSENGER_CREDENTIALS_KEY, previous: undefined },
    link_key: Buffer.alloc(32),
    public_url: 'http://localhost',
  },
);
process.stdout.write('ready\n');
