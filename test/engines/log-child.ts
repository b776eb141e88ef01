import { systemClock } from '../../src/platform/clock.ts';
import { openKafkaLog } from '../../src/platform/event-log/kafka-log.ts';
import type { EventLog } from '../../src/platform/event-log/port.ts';
import { openPostgresLog } from '../../src/platform/event-log/postgres-log.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';

/** Handles one batch, prints its values as one JSON line and never commits it: a test kills this process. */
const { LOG_TOPIC = '', LOG_GROUP = '', LOG_KAFKA_BROKERS, LOG_POSTGRES_URL = '' } = process.env;
const common = { logger: createLogger('error'), clock: systemClock };

async function openLog(): Promise<EventLog> {
  if (LOG_KAFKA_BROKERS === undefined) {
    return openPostgresLog({ ...common, sql: connectPool(LOG_POSTGRES_URL) });
  }
  const topics = { partitions: 4, replication_factor: 1, min_insync_replicas: 1 };
  return openKafkaLog({
    ...common,
    brokers: LOG_KAFKA_BROKERS.split(','),
    topics,
    session_timeout_ms: 6_000,
  });
}

const log = await openLog();
await log.ensureTopics([LOG_TOPIC]);
await log.consume({
  topic: LOG_TOPIC,
  group: LOG_GROUP,
  max_records: 100,
  linger_ms: 0,
  async handle({ records }) {
    process.stdout.write(`${JSON.stringify(records.map((record) => record.value))}\n`);
    await new Promise(() => undefined);
  },
});
