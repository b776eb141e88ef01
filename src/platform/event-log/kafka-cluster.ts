import Cluster from 'kafkajs/src/cluster/index.js';
import loggers from 'kafkajs/src/loggers/index.js';
import socketFactory from 'kafkajs/src/network/socketFactory.js';
import { kafkaConfig, REQUEST_TIMEOUT_MS, withDeadline, type KafkaConnection } from './kafka-client.ts';

/** What `new Kafka` sets where nothing is given. */
const TIMES_OF_KAFKAJS = {
  authenticationTimeout: 10_000,
  reauthenticationThreshold: 10_000,
  enforceRequestTimeout: true,
  metadataMaxAge: 300_000,
} as const;

/** kafkajs's inner connection to a cluster, for what its public parts cannot ask. It is not connected yet. */
export function createCluster(connection: KafkaConnection): Cluster {
  const config = kafkaConfig(connection);
  return new Cluster({
    ...config,
    ...TIMES_OF_KAFKAJS,
    socketFactory: socketFactory(),
    logger: loggers.createLogger({ level: config.logLevel, logCreator: config.logCreator }),
    allowAutoTopicCreation: false,
    maxInFlightRequests: null,
  });
}

/** Never rejects, and takes a limited time. */
export async function closeCluster(cluster: Cluster): Promise<void> {
  await withDeadline(cluster.disconnect(), REQUEST_TIMEOUT_MS, 'disconnect').catch(() => undefined);
}
