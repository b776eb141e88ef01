import { startWebhookDeliverer } from '../../processors/webhook-deliverer/index.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { LOOPBACK_NETWORKS } from '../../src/platform/egress/addresses.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { openNotifications } from '../../src/platform/postgres/notifications.ts';
import { openPostgres } from '../../src/platform/postgres/pool.ts';
import { openWorkWatch } from '../../src/platform/postgres/work-watch.ts';
import { ALL_TOPICS } from '../../src/platform/event-log/topics.ts';
import { openChildLog } from './child-log.ts';

/** Runs only a webhook-deliverer, on the Postgres of the environment; a test kills this process. */
const { DELIVERER_POSTGRES_URL = '', DELIVERER_CREDENTIALS_KEY = '' } = process.env;

const logger = createLogger('error');
const postgres = openPostgres(DELIVERER_POSTGRES_URL);
const clock = systemClock;
const eventLog = await openChildLog(DELIVERER_POSTGRES_URL, { clock, logger });
await eventLog.ensureTopics(ALL_TOPICS);
await startWebhookDeliverer(
  {
    clock,
    eventLog,
    logger,
    postgres,
    workWatch: openWorkWatch({ sql: postgres.watch, logger }),
    metrics: createMetrics(),
    egress: new Egress({ allow: LOOPBACK_NETWORKS }),
  },
  openNotifications(postgres.service, logger),
  { current: DELIVERER_CREDENTIALS_KEY, previous: undefined },
);
process.stdout.write('ready\n');
