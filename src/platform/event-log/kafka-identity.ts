import Cluster from 'kafkajs/src/cluster/index.js';
import loggers from 'kafkajs/src/loggers/index.js';
import socketFactory from 'kafkajs/src/network/socketFactory.js';
import { kafkaConfig, REQUEST_TIMEOUT_MS, withDeadline, type KafkaConnection } from './kafka-client.ts';
import { METADATA, topicMetadata, type TopicIdentity } from './kafka-metadata.ts';
import { misconfigurationOf } from './kafka-refusal.ts';
import { LogMisconfigured, LogUnavailable } from './port.ts';

/** How long one question takes at most. */
const TIMEOUT_MS = 10_000;
/** What `new Kafka` sets where nothing is given. */
const TIMES_OF_KAFKAJS = {
  authenticationTimeout: 10_000,
  reauthenticationThreshold: 10_000,
  enforceRequestTimeout: true,
} as const;

/**
 * Which log a topic is: `<cluster id>/<topic id>`. kafkajs knows no version of the metadata in which Kafka names the ids
 * of topics, so that question is written here; kafkajs asks it, on a connection of its own that is closed again.
 */
export class KafkaIdentity {
  #connection: KafkaConnection;
  /** Topic → the last question that has not failed; also while its answer is awaited. */
  #asked = new Map<string, { id: Promise<string>; asked_ms: number }>();

  constructor(connection: KafkaConnection) {
    this.#connection = connection;
  }

  /**
   * The id of a topic, as it was at most `max_age_ms` ago. Rejects with LogUnavailable when Kafka does not answer in
   * time, and with its subclass LogMisconfigured when it refuses the settings.
   */
  async idOf(topic: string, max_age_ms: number): Promise<string> {
    const asked_ms = performance.now();
    const last = this.#asked.get(topic);
    if (last !== undefined && asked_ms - last.asked_ms < max_age_ms) return last.id;
    const question = { id: this.#ask(topic), asked_ms };
    this.#asked.set(topic, question);
    try {
      return await question.id;
    } catch (error) {
      if (this.#asked.get(topic) === question) this.#asked.delete(topic);
      throw error;
    }
  }

  async #ask(topic: string): Promise<string> {
    const cluster = this.#open();
    try {
      const asked = cluster.connect().then(() => identityFrom(cluster, topic));
      const { cluster_id, topic_id } = await withDeadline(asked, TIMEOUT_MS, 'name the id of a topic');
      if (!cluster_id || !topic_id) throw new Error(`Kafka names no id of the topic ${topic}`);
      return `${cluster_id}/${topic_id}`;
    } catch (cause) {
      if (cause instanceof LogUnavailable) throw cause;
      throw (
        misconfigurationOf(cause) ?? new LogUnavailable('Kafka did not name the id of a topic', { cause })
      );
    } finally {
      await withDeadline(cluster.disconnect(), REQUEST_TIMEOUT_MS, 'disconnect').catch(() => undefined);
    }
  }

  #open(): Cluster {
    const config = kafkaConfig(this.#connection);
    const logger = loggers.createLogger({ level: config.logLevel, logCreator: config.logCreator });
    return new Cluster({
      ...config,
      ...TIMES_OF_KAFKAJS,
      socketFactory: socketFactory(),
      logger,
      maxInFlightRequests: null,
      offsets: new Map(),
    });
  }
}

async function identityFrom({ brokerPool }: Cluster, topic: string): Promise<TopicIdentity> {
  const { connectionPool, versions } = brokerPool.seedBroker;
  const newest = versions[METADATA.apiKey]?.maxVersion ?? 0;
  if (newest < METADATA.apiVersion) {
    const message = `Kafka does not know ids of topics (version ${newest} of its metadata): run Kafka 3 or later`;
    throw new LogMisconfigured(message);
  }
  return connectionPool.send(topicMetadata(topic));
}
