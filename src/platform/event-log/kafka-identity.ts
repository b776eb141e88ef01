import type Cluster from 'kafkajs/src/cluster/index.js';
import { withDeadline, type KafkaConnection } from './kafka-client.ts';
import { closeCluster, createCluster } from './kafka-cluster.ts';
import { METADATA, topicMetadata, type TopicIdentity } from './kafka-metadata.ts';
import { misconfigurationOf } from './kafka-refusal.ts';
import { LogMisconfigured, LogUnavailable } from './port.ts';

/** How long one question takes at most. */
const TIMEOUT_MS = 10_000;
/** For how long an answer is believed. */
const BELIEVED_MS = 10_000;

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

  /** The id of a topic, as it was at most {@link BELIEVED_MS} ago. Rejects like {@link askIdOf}. */
  idOf(topic: string): Promise<string> {
    const last = this.#asked.get(topic);
    return last !== undefined && performance.now() - last.asked_ms < BELIEVED_MS
      ? last.id
      : this.askIdOf(topic);
  }

  /**
   * The id of a topic as it is now. Rejects with LogUnavailable when Kafka does not answer in time, and with its subclass
   * LogMisconfigured when it refuses the settings.
   */
  async askIdOf(topic: string): Promise<string> {
    const question = { id: this.#ask(topic), asked_ms: performance.now() };
    this.#asked.set(topic, question);
    try {
      return await question.id;
    } catch (error) {
      if (this.#asked.get(topic) === question) this.#asked.delete(topic);
      throw error;
    }
  }

  async #ask(topic: string): Promise<string> {
    const cluster = createCluster(this.#connection);
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
      await closeCluster(cluster);
    }
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
