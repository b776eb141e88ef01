import { setTimeout as sleep } from 'node:timers/promises';
import { PartitionAssigners, type Consumer, type EachBatchPayload, type PartitionAssigner } from 'kafkajs';
import {
  createKafka,
  REQUEST_TIMEOUT_MS,
  RETRY,
  withDeadline,
  type KafkaConnection,
} from './kafka-client.ts';
import { KafkaFeed } from './kafka-feed.ts';
import { mayPass, misconfigurationOf } from './kafka-refusal.ts';
import { retryPauseMs } from '../retry-pause.ts';
import { LogUnavailable, type ConsumeOptions, type LogConsumer } from './port.ts';

const CLOSE_GRACE_MS = 10_000;
const HEARTBEAT_MS = 1_000;
const FETCH_WAIT_MS = 100;
const RESTARTS = { first_ms: 200, longest_ms: 5_000 };
/** How long a first join goes on after a refusal that may pass; then it is reported. */
const PASSING_REFUSAL_MS = 8_000;
/** How long a rebalance waits for running handlers, so that a partition changes its member between two batches. */
const HANDOVER_MS = 5_000;

export interface KafkaMemberOptions extends KafkaConnection {
  /** The topic's name in Kafka, with the installation's prefix; `consumer.topic` is the name in this service. */
  topic: string;
  consumer: ConsumeOptions;
  /** A member that sends no heartbeat for this long loses its partitions. */
  session_timeout_ms: number;
  /** The committed position of each partition, or its first offset if there is none; rejects with LogUnavailable. */
  committed(): Promise<ReadonlyMap<number, bigint>>;
}

/** Settles {@link KafkaMember.open}. */
interface Opening {
  started_ms: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** One member of a consumer group. */
export class KafkaMember implements LogConsumer {
  #options: KafkaMemberOptions;
  #kafka: Consumer | undefined;
  #feeds = new Map<number, KafkaFeed>();
  /** Feeds of earlier generations whose last batch is still being handled. */
  #retiring = new Map<number, Promise<void>>();
  /** Where the partitions of this assignment start. */
  #starts: Promise<ReadonlyMap<number, bigint>> | undefined;
  #assigned: ReadonlySet<number> = new Set();
  /** Counts the assignments: a feed of an earlier assignment must not commit a position any more. */
  #generation = 0;
  #handover_until_ms: number | undefined;
  /** Until the member consumes for the first time. */
  #opening: Opening | undefined;
  /** Since the member consumed last. */
  #restarts = 0;
  /** Kafka has answered; what follows is the group's rebalance. */
  #is_subscribed = false;
  #closed = false;

  constructor(options: KafkaMemberOptions) {
    this.#options = options;
  }

  /**
   * Joins the group; resolves when the member has got its partitions and its first fetch was answered. A rebalance may
   * take longer than this waits, for instance until the session of a killed member ends: then it resolves too, and the
   * member goes on joining. Rejects with LogUnavailable when Kafka does not answer, and with its subclass
   * LogMisconfigured when Kafka refuses the member. After a later failure the member joins again by itself.
   */
  async open(): Promise<void> {
    const { logger, consumer, session_timeout_ms } = this.#options;
    const consuming = new Promise<void>((resolve, reject) => {
      this.#opening = { started_ms: performance.now(), resolve, reject };
    });
    const connected = this.#connect();
    try {
      await withDeadline(
        Promise.all([connected, consuming]),
        2 * session_timeout_ms,
        'let the consumer join',
      );
    } catch (cause) {
      const refusal = misconfigurationOf(cause);
      const joining = this.#kafka;
      if (refusal === undefined && this.#is_subscribed) {
        logger.warn({ group: consumer.group }, 'the Kafka consumer has not joined its group yet; it goes on');
        // Without a consumer a restart is under way already.
        if (joining !== undefined) connected.catch((error: Error) => this.#restart(joining, error));
        return;
      }
      this.#closed = true;
      await this.#disconnect();
      throw refusal ?? new LogUnavailable('Kafka did not let the consumer join', { cause });
    } finally {
      this.#opening = undefined;
    }
  }

  async close(grace_ms = CLOSE_GRACE_MS): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#retireAll();
    await withDeadline(Promise.all(this.#retiring.values()), grace_ms, 'finish').catch(() => undefined);
    this.#generation++;
    await this.#disconnect();
  }

  async #connect(): Promise<void> {
    const { consumer, topic, session_timeout_ms } = this.#options;
    const kafka = createKafka(this.#options).consumer({
      groupId: consumer.group,
      sessionTimeout: session_timeout_ms,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      minBytes: 1,
      allowAutoTopicCreation: false,
      partitionAssigners: [this.#waitingAssigner],
      // kafkajs does not restart the consumer itself: after every failure `#restart` creates a new one.
      retry: { ...RETRY, retries: 10, restartOnFailure: () => Promise.resolve(false) },
    });
    this.#kafka = kafka;
    // A failure to join is reported by this event, too: `run` resolves nevertheless.
    kafka.on(kafka.events.CRASH, ({ payload }) => void this.#restart(kafka, payload.error));
    kafka.on(kafka.events.GROUP_JOIN, ({ payload }) => {
      const partitions = payload.memberAssignment[topic] ?? [];
      this.#assign(kafka, partitions);
      if (partitions.length === 0) this.#consumes(kafka);
    });
    // Not sooner: Kafka lets a member join that may not read the topic, and refuses its first fetch.
    kafka.on(kafka.events.FETCH, () => this.#consumes(kafka));
    await kafka.connect();
    await kafka.subscribe({ topic, fromBeginning: true });
    this.#is_subscribed = true;
    if (!this.#closed) {
      await kafka.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: (payload) => this.#onBatch(kafka, payload),
      });
    }
    // If `close` ran meanwhile, it could not disconnect this consumer, which has connected only now.
    if (this.#closed) await kafka.disconnect();
  }

  async #disconnect(): Promise<void> {
    const kafka = this.#kafka;
    this.#kafka = undefined;
    if (kafka !== undefined) {
      await withDeadline(kafka.disconnect(), REQUEST_TIMEOUT_MS, 'disconnect').catch(() => undefined);
    }
  }

  #consumes(kafka: Consumer): void {
    if (kafka !== this.#kafka) return;
    this.#restarts = 0;
    this.#opening?.resolve();
  }

  async #restart(crashed: Consumer, error: Error): Promise<void> {
    const { logger, consumer } = this.#options;
    if (crashed !== this.#kafka) return;
    // kafkajs has disconnected it. Events of its last fetch, which may still come, are ignored from now on.
    this.#kafka = undefined;
    this.#retireAll();
    this.#generation++;
    while (!this.#closed && !this.#failOpening(error)) {
      const pause_ms = retryPauseMs(RESTARTS, { attempt: ++this.#restarts });
      const err = misconfigurationOf(error) ?? error;
      logger.warn({ err, group: consumer.group, pause_ms }, 'Kafka consumer lost; joining again');
      await sleep(pause_ms);
      if (this.#closed) return;
      try {
        // If kafkajs crashes while joining, `#connect` resolves, and another CRASH event restarts the consumer.
        return await this.#connect();
      } catch (cause) {
        error = cause as Error;
        await this.#disconnect();
      }
    }
  }

  /** Ends the first join when Kafka refuses it for good; true when it did. */
  #failOpening(error: Error): boolean {
    const refusal = misconfigurationOf(error);
    if (this.#opening === undefined || refusal === undefined) return false;
    const { started_ms, reject } = this.#opening;
    if (mayPass(error) && performance.now() - started_ms < PASSING_REFUSAL_MS) return false;
    reject(refusal);
    return true;
  }

  /** Called before the first fetch of every generation. */
  #assign(kafka: Consumer, partitions: number[]): void {
    if (kafka !== this.#kafka || this.#closed) return;
    this.#retireAll();
    this.#generation++;
    this.#handover_until_ms = undefined;
    this.#starts = undefined;
    kafka.resume([{ topic: this.#options.topic, partitions }]);
    this.#assigned = new Set(partitions);
    for (const partition of partitions) {
      // kafkajs starts where the group has committed; without records after that it would never fetch any before it.
      if (this.#options.consumer.startsAt !== undefined) void this.#startOver(kafka, partition);
      else this.#feeds.set(partition, this.#createFeed(kafka, partition));
    }
  }

  #createFeed(kafka: Consumer, partition: number): KafkaFeed {
    const { topic, consumer, logger } = this.#options;
    const generation = this.#generation;
    return new KafkaFeed({
      partition,
      consumer,
      logger,
      previous: this.#retiring.get(partition) ?? Promise.resolve(),
      commit: async (next_offset) => {
        if (generation !== this.#generation) return;
        await kafka.commitOffsets([{ topic, partition, offset: String(next_offset) }]);
      },
      setPaused: (paused) => {
        if (generation !== this.#generation || this.#closed) return;
        if (paused) kafka.pause([{ topic, partitions: [partition] }]);
        else kafka.resume([{ topic, partitions: [partition] }]);
      },
      startOver: () => {
        if (generation !== this.#generation) return;
        this.#starts = undefined;
        void this.#startOver(kafka, partition);
      },
    });
  }

  #retireAll(): void {
    for (const partition of this.#feeds.keys()) this.#retire(partition);
  }

  #retire(partition: number): void {
    const feed = this.#feeds.get(partition);
    if (feed === undefined) return;
    this.#feeds.delete(partition);
    feed.stop();
    const earlier = this.#retiring.get(partition) ?? Promise.resolve();
    const done = Promise.all([earlier, feed.done]).then(() => {
      if (this.#retiring.get(partition) === done) this.#retiring.delete(partition);
    });
    this.#retiring.set(partition, done);
  }

  /**
   * Passes a fetch to the partition's feed. kafkajs may deliver a fetch that was running when the group was joined
   * again, and would then continue after that fetch. So a fetch is accepted only if it starts at the feed's
   * `fetch_offset`; otherwise a new feed starts at the position.
   */
  async #onBatch(kafka: Consumer, payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const { partition } = batch;
    const feed = this.#feeds.get(partition);
    if (feed === undefined || batch.isEmpty()) return;
    if (feed.fetch_offset === undefined) feed.startAt(await this.#startOf(kafka, partition));
    if (feed !== this.#feeds.get(partition)) return;
    // `fetchedOffset` is missing in kafkajs's types. Unlike firstOffset(), it is correct after a gap in the offsets.
    const { fetchedOffset } = batch as { fetchedOffset?: string };
    if (BigInt(fetchedOffset ?? batch.firstOffset() ?? 0) === feed.fetch_offset) {
      feed.fetch_offset = BigInt(batch.lastOffset()) + 1n;
      feed.push(batch.messages);
      payload.resolveOffset(batch.lastOffset());
      return;
    }
    this.#starts = undefined;
    await this.#startOver(kafka, partition);
  }

  /** Replaces the partition's feed by one at its position; repeats that until it succeeds or is assigned anew. */
  async #startOver(kafka: Consumer, partition: number): Promise<void> {
    const { logger, consumer, topic } = this.#options;
    const generation = this.#generation;
    this.#retire(partition);
    // No record is accepted without a feed.
    for (let attempt = 1; ; attempt++) {
      const pause_ms = retryPauseMs(RESTARTS, { attempt });
      const offset = await this.#startOf(kafka, partition).catch((error: unknown) => {
        logger.warn({ err: error, group: consumer.group, partition, pause_ms }, 'position unknown; retrying');
      });
      if (generation !== this.#generation || this.#closed || this.#feeds.has(partition)) return;
      if (offset !== undefined) {
        const fresh = this.#createFeed(kafka, partition);
        fresh.startAt(offset);
        this.#feeds.set(partition, fresh);
        // The earlier feed may have paused it.
        kafka.resume([{ topic, partitions: [partition] }]);
        kafka.seek({ topic, partition, offset: String(offset) });
        return;
      }
      await sleep(pause_ms);
    }
  }

  async #startOf(kafka: Consumer, partition: number): Promise<bigint> {
    const asked = (this.#starts ??= this.#readStarts(kafka));
    try {
      return (await asked).get(partition) ?? 0n;
    } catch (error) {
      if (asked === this.#starts) this.#starts = undefined;
      throw error;
    }
  }

  /** Where all partitions start. What the group has committed for the assigned ones is made equal to that. */
  async #readStarts(kafka: Consumer): Promise<ReadonlyMap<number, bigint>> {
    const { consumer, topic } = this.#options;
    const generation = this.#generation;
    const assigned = this.#assigned;
    const committed = await this.#options.committed();
    if (consumer.startsAt === undefined) return committed;
    const starts = await consumer.startsAt(committed);
    const other = [...starts]
      .filter(([partition, offset]) => assigned.has(partition) && committed.get(partition) !== offset)
      .map(([partition, offset]) => ({ topic, partition, offset: String(offset) }));
    if (other.length > 0 && generation === this.#generation) await kafka.commitOffsets(other);
    return new Map([...committed, ...starts]);
  }

  /**
   * kafkajs's round-robin assigner, which also delays joining while a handler of the previous generation runs, so that
   * the batch is committed before the partition goes to another member. A stuck handler delays joining for at most
   * {@link HANDOVER_MS}.
   */
  #waitingAssigner: PartitionAssigner = (config) => {
    const assigner = PartitionAssigners.roundRobin(config);
    const protocol: typeof assigner.protocol = (subscription) => {
      this.#retireAll();
      this.#handover_until_ms ??= performance.now() + HANDOVER_MS;
      if (this.#retiring.size > 0 && performance.now() < this.#handover_until_ms) {
        // On this error type kafkajs tries to join again after a pause.
        throw Object.assign(new Error('handlers still run'), { type: 'REBALANCE_IN_PROGRESS' });
      }
      return assigner.protocol(subscription);
    };
    return Object.assign(Object.create(assigner) as typeof assigner, { protocol });
  };
}
