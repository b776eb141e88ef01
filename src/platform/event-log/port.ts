/**
 * The event log: named topics of keyed records with per-partition order.
 * Two implementations share one contract suite: a table in the embedded Postgres, and Kafka.
 */

/** One record to append, of at most {@link MAX_RECORD_BYTES}. Records of one key keep their order. */
export interface NewRecord {
  key: string;
  /** UTF-8 text, JSON in every topic of this service. */
  value: string;
}

/** A record as it is read: `offset` rises from record to record of a partition, with gaps allowed. */
export interface LogRecord {
  offset: bigint;
  key: string;
  value: string;
}

/**
 * Consecutive records of one partition, in offset order: at least one record. All of them together have at most
 * {@link MAX_BATCH_BYTES}.
 */
export interface LogBatch {
  topic: string;
  partition: number;
  /** Where the batch begins: no record lies between this offset and the first one. */
  from: bigint;
  records: LogRecord[];
  /** What {@link ConsumeOptions.keys} gave for this batch; absent: it has every record. */
  keys?: ReadonlySet<string> | undefined;
}

/** How a consumer reads a topic. */
export interface ConsumeOptions {
  topic: string;
  /** Consumers of one group share the partitions; each group sees every record. */
  group: string;
  /** The most records of a batch; it has fewer when they reach {@link MAX_BATCH_BYTES}. */
  max_records: number;
  /** How long to wait for more records while fewer than a full batch are waiting. 0: deliver at once. */
  linger_ms: number;
  /**
   * Handles one batch; batches of one partition are delivered one at a time, in order. When `handle` resolves, the
   * position after the batch is committed; when it rejects, the same records are delivered again after a pause.
   * Delivery is at-least-once: after a crash, records that were handled but not committed are delivered again.
   * When it rejects with {@link PositionMoved}, the partition starts over at the position that `startsAt` gives.
   */
  handle(batch: LogBatch): Promise<void>;
  /**
   * The keys whose records the consumer needs, or undefined when it needs all. It is asked for each batch, after all
   * records of the batch were appended; `waiting` is how many records the batch has. Those of other keys are omitted,
   * except for the first and the last one, which show how old the batch is and where it ends. When it rejects, it is asked
   * again after a pause.
   */
  keys?(waiting: number): Promise<ReadonlySet<string> | undefined>;
  /**
   * For a consumer that keeps its positions itself: returns where partitions start, given what the group has committed
   * for them. Called whenever partitions are assigned, and again when it rejects; meanwhile nothing is delivered. The
   * positions are committed to the group before the first batch, so what the group has committed is never ahead of them.
   * Where the embedded log lacks the next record it is called, too: when it rejects, the partition stays there; when it
   * gives that place again, the missing records are passed over and logged as an error.
   * Absent: partitions start where the group has committed, and go on behind missing records in the same way.
   */
  startsAt?(committed: ReadonlyMap<number, bigint>): Promise<ReadonlyMap<number, bigint>>;
}

/** What a partition has now. */
export interface PartitionState {
  /** The first record that it still has. */
  first: bigint;
  /** The offset that the next appended record will get. */
  end: bigint;
  /** The records `[from, to)` are lost: `from` is the position that was asked for, and there are records before it. */
  missing?: { from: bigint; to: bigint };
}

/** A topic of the log as it is now. */
export interface TopicState {
  /** Identifies the log that the offsets belong to: a topic that is removed and created again has another id. */
  id: string;
  partitions: ReadonlyMap<number, PartitionState>;
}

/** A running consumer. */
export interface LogConsumer {
  /** Takes no further batch, waits at most `grace_ms` for the running handlers, and leaves the group. */
  close(grace_ms?: number): Promise<void>;
}

/** The position of a group in one partition. */
export interface GroupLag {
  partition: number;
  /** The next offset the group would read. */
  next_offset: bigint;
  /** The offset the next appended record will get. */
  end_offset: bigint;
}

/** The event log as the service uses it. Topics must be ensured before they are used. */
export interface EventLog {
  /**
   * Creates the topics that do not exist; an existing topic keeps its partitions. Rejects with {@link LogUnavailable},
   * and with {@link LogMisconfigured} when an existing topic differs from the configuration.
   */
  ensureTopics(topics: readonly string[]): Promise<void>;
  /**
   * Resolves when every record is durable. Rejects with {@link LogUnavailable} when the log does not confirm this in
   * time: each of the records may then be written or not. Rejects with {@link RecordTooLarge} before any record is
   * written. An append of any size is accepted when no other append waits.
   */
  append(topic: string, records: readonly NewRecord[]): Promise<void>;
  consume(options: ConsumeOptions): Promise<LogConsumer>;
  /**
   * The topic as it is now. With `at`, positions by partition, it also says whether the record at that position was lost.
   * Only the embedded log knows: it gives out every offset, while Kafka may leave some out.
   */
  describe(topic: string, at?: ReadonlyMap<number, bigint>): Promise<TopicState>;
  /** The id that {@link TopicState} has, as it was at most 10 s ago: to ask Kafka takes a connection. */
  idOf(topic: string): Promise<string>;
  /** The partition of the records of a key, in a topic that has so many partitions. */
  partitionOf(key: string, partitions: number): number;
  /** End offset per partition: the offset the next record will get. */
  endOffsets(topic: string): Promise<Map<number, bigint>>;
  /** How far a group is behind. Positions are read before ends, so nothing waited at that moment when they are equal. */
  lag(topic: string, group: string): Promise<GroupLag[]>;
  /**
   * Reads `[from, to)` of one partition outside any consumer group, in batches of at most `max_records` and
   * {@link MAX_BATCH_BYTES}. Stops early at the end of the partition.
   */
  read(
    topic: string,
    partition: number,
    from: bigint,
    to: bigint,
    max_records?: number,
  ): AsyncIterable<LogBatch>;
  /** Rejects when the log does not answer; on Kafka also when a partition has no leader. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The log did not confirm the call in time; try again later. */
export class LogUnavailable extends Error {
  override readonly name: string = 'LogUnavailable';
}

/**
 * The log refuses these settings: the credentials are wrong, the certificate is not trusted, or topics differ from the
 * configuration. `message` says what to do and contains no secret.
 */
export class LogMisconfigured extends LogUnavailable {
  override readonly name = 'LogMisconfigured';
}

/** The handler's own position is before the batch: records between them would be passed over. */
export class PositionMoved extends Error {
  override readonly name = 'PositionMoved';

  constructor({ topic, partition, from }: Pick<LogBatch, 'topic' | 'partition' | 'from'>, stored: bigint) {
    super(`the position of ${topic}/${partition} is ${stored}, and the batch begins at ${from}`);
  }
}

/** A record exceeds {@link MAX_RECORD_BYTES}; a retry cannot succeed. */
export class RecordTooLarge extends RangeError {
  override readonly name = 'RecordTooLarge';

  constructor(bytes: number) {
    super(`a record of ${bytes} bytes is over the event log's limit of ${MAX_RECORD_BYTES}`);
  }
}

/**
 * The size limit of a record: key and value in UTF-8. An accepted body of 1 MiB may grow to 4.4 MiB when it is
 * serialised again (`1e20` has 4 characters and becomes 21), and a dead letter at most doubles the received body.
 * Either fits, together with the fields around it. A request with one such record stays below 8 MiB, which every common
 * Kafka service accepts.
 */
export const MAX_RECORD_BYTES = 6 * 1024 * 1024;

/** The size limit of a batch: keys and values in UTF-8. It bounds a consumer's memory for all record sizes. */
export const MAX_BATCH_BYTES = 16 * 1024 * 1024;
