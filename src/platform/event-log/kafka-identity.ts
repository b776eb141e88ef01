import { isIP } from 'node:net';
import type { BaseOptions } from '@platformatic/kafka';
import { REQUEST_TIMEOUT_MS, withDeadline, type KafkaConnection } from './kafka-client.ts';
import { misconfigurationOf } from './kafka-refusal.ts';
import { LogUnavailable } from './port.ts';

/** How long one question takes at most. */
const TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 3_000;

/**
 * Which log a topic is: `<cluster id>/<topic id>`. kafkajs cannot say that, because it knows no version of the metadata
 * in which Kafka names the ids of topics. So another client asks this one question, on a connection of its own that is
 * closed again. It takes 7 MB of heap, so it is loaded with the first question.
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
    const { Base } = await import('@platformatic/kafka');
    const client = new Base(this.#options());
    // Without a listener an error of a connection would end the process; the question reports it, too.
    client.on('error', () => undefined);
    try {
      const { id, topics } = await withDeadline(
        client.metadata({ topics: [topic], forceUpdate: true }),
        TIMEOUT_MS,
        'name the id of a topic',
      );
      const topic_id = topics.get(topic)?.id;
      if (!topic_id) throw new Error(`Kafka names no id of the topic ${topic}`);
      return `${id}/${topic_id}`;
    } catch (cause) {
      if (cause instanceof LogUnavailable) throw cause;
      throw (
        misconfigurationOf(cause) ?? new LogUnavailable('Kafka did not name the id of a topic', { cause })
      );
    } finally {
      await withDeadline(client.close(), REQUEST_TIMEOUT_MS, 'disconnect').catch(() => undefined);
    }
  }

  #options(): BaseOptions {
    const { brokers, tls, sasl } = this.#connection;
    const are_names = brokers.every((broker) => isIP(broker.replace(/:\d+$/, '')) === 0);
    return {
      clientId: 'engagement',
      bootstrapBrokers: [...brokers],
      connectTimeout: CONNECT_TIMEOUT_MS,
      timeout: REQUEST_TIMEOUT_MS,
      retries: 2,
      autocreateTopics: false,
      ...(tls && { tls, tlsServerName: are_names }),
      ...(sasl && { sasl }),
    };
  }
}
