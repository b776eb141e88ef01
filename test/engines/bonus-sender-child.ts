import { startBonusSender } from '../../processors/bonus-sender/index.ts';
import { openPlatforms } from '../../src/adapters/platforms.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { LOOPBACK_NETWORKS } from '../../src/platform/egress/addresses.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { ALL_TOPICS } from '../../src/platform/event-log/topics.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { openNotifications } from '../../src/platform/postgres/notifications.ts';
import { openPostgres } from '../../src/platform/postgres/pool.ts';
import { openWorkWatch } from '../../src/platform/postgres/work-watch.ts';
import { openChildLog } from './child-log.ts';

/** Runs only a bonus-sender, on the Postgres of the environment; a test kills this process. */
const { SENDER_POSTGRES_URL = '', SENDER_CREDENTIALS_KEY = '' } = process.env;

const [logger, clock, metrics] = [createLogger('fatal'), systemClock, createMetrics()];
const postgres = openPostgres(SENDER_POSTGRES_URL);
const eventLog = await openChildLog(SENDER_POSTGRES_URL, { clock, logger });
await eventLog.ensureTopics(ALL_TOPICS);
const egress = new Egress({ allow: LOOPBACK_NETWORKS });
const credentials_keys = { current: SENDER_CREDENTIALS_KEY, previous: undefined };
const platforms = await openPlatforms(
  { postgres, clock, logger, metrics, egress, credentials_keys },
  openNotifications(postgres.service, logger),
);
// Only credits of an earlier time than their grants are looked up in ClickHouse; the test has none.
const clickhouse = {} as ClickHouse;
const workWatch = openWorkWatch({ sql: postgres.watch, logger });
await startBonusSender({ postgres, workWatch, clickhouse, eventLog, clock, logger, metrics, platforms });
process.stdout.write('ready\n');
