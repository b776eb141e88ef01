import { systemClock } from '../../src/platform/clock.ts';
import { openKafkaLog } from '../../src/platform/event-log/kafka-log.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { startKafka } from '../engines/kafka.ts';
import type { LogFixture } from './event-log.contract.ts';

const logger = createLogger('silent');

/** Logs in a Kafka of their own. */
export const startKafkaLog = async (): Promise<LogFixture> => {
  // A broker of its own, because the suite stops it.
  const kafka = await startKafka();
  return {
    open: async () =>
      openKafkaLog({
        brokers: kafka.brokers,
        logger,
        clock: systemClock,
        topics: { partitions: 4, replication_factor: 1, min_insync_replicas: 1 },
        // The shortest session timeout that the broker allows, so that it notices a killed member soon.
        session_timeout_ms: 6_000,
      }),
    child_environment: { LOG_KAFKA_BROKERS: kafka.brokers.join(',') },
    setAvailable: (available) => (available ? kafka.restart() : kafka.kill()),
    stop: () => kafka.stop(),
  };
};
