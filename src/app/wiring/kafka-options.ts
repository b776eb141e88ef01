import type { Servers } from '../../config.ts';
import { systemClock } from '../../platform/clock.ts';
import type { KafkaLogOptions } from '../../platform/event-log/kafka-log.ts';
import type { Logger } from '../../platform/logger.ts';
import { readKafkaTls } from './kafka-tls.ts';

/** How the service connects to Kafka. Rejects with ConfigError when a file of TLS cannot be used. */
export async function kafkaLogOptions(servers: Servers, logger: Logger): Promise<KafkaLogOptions> {
  return {
    brokers: servers.kafka_brokers,
    tls: await readKafkaTls(servers.kafka_tls),
    sasl: servers.kafka_sasl,
    topic_prefix: servers.kafka_topic_prefix,
    topics: {
      partitions: servers.kafka_partitions,
      replication_factor: servers.kafka_replication_factor,
      min_insync_replicas: servers.kafka_min_insync_replicas,
    },
    clock: systemClock,
    logger,
  };
}
