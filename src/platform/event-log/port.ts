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

/** A record as read back: `offset` grows by one per record of a partition (gaps are allowed). */
export interface LogRecord {
  offset: bigint;
  key: string;
  value: string;
}

/** Consecutive records of one partition, in offset order: at least one, and together {@link MAX_BATCH_BYTES} at most. */
export interface LogBatch {
  topic: string;
  partition: number;
  records: LogRecord[];
}

export interface ConsumeOptions {
  topic: string;
  /** Consumers of one group share the partitions; each group sees every record. */
  group: string;
  /** A batch never has more records than this, and fewer where they reach {@link MAX_BATCH_BYTES}. */
  max_records: number;
  /** With less than a full batch waiting, wait up to this long for more. 0: deliver at once. */
  linger_ms: number;
  /**
   * Handles one batch; batches of one partition come one at a time, in order. When it resolves, the
   * position after the batch is committed; when it rejects, the same records come again after a pause
   * (at-least-once: after a crash, records handled but not committed come again as well).
   */
  handle(batch: LogBatch): Promise<void>;
}

export interface LogConsumer {
  /** Stops taking batches, waits for the running handler for at most `grace_ms`, leaves the group. */
  close(grace_ms?: number): Promise<void>;
}

/** Where a group stands in one partition. */
export interface GroupLag {
  partition: number;
  /** The next offset the group would read. */
  next_offset: bigint;
  /** The offset the next appended record will get. */
  end_offset: bigint;
}

export interface EventLog {
  /**
   * Makes topics exist; an existing topic keeps its partitions. Rejects with {@link LogUnavailable}, and with
   * {@link LogMisconfigured} when an existing topic is not as configured.
   */
  ensureTopics(topics: readonly string[]): Promise<void>;
  /**
   * Resolves when every record is durable; rejects with {@link LogUnavailable} when that cannot be said
   * in time (each of the records may then be there or not), and with {@link RecordTooLarge} before any
   * of them is written. An append of any size is taken when no other waits.
   */
  append(topic: string, records: readonly NewRecord[]): Promise<void>;
  consume(options: ConsumeOptions): Promise<LogConsumer>;
  /** End offset per partition: the offset the next record will get. */
  endOffsets(topic: string): Promise<Map<number, bigint>>;
  lag(topic: string, group: string): Promise<GroupLag[]>;
  /**
   * Reads `[from, to)` of one partition outside any group, in batches of at most `max_records`
   * and {@link MAX_BATCH_BYTES};
   * stops early at the end of the partition.
   */
  read(
    topic: string,
    partition: number,
    from: bigint,
    to: bigint,
    max_records?: number,
  ): AsyncIterable<LogBatch>;
  /** Rejects when the log cannot take an append now. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The log did not confirm the call in time; try again later. */
export class LogUnavailable extends Error {
  override readonly name: string = 'LogUnavailable';
}

/**
 * The log is there, but not with these settings: it does not know the service, is not trusted, or has topics other than
 * configured. `message` says what to do and holds no secret.
 */
export class LogMisconfigured extends LogUnavailable {
  override readonly name = 'LogMisconfigured';
}

/** A record is over {@link MAX_RECORD_BYTES}: it will never be taken. */
export class RecordTooLarge extends RangeError {
  override readonly name = 'RecordTooLarge';

  constructor(bytes: number) {
    super(`a record of ${bytes} bytes is over the event log's limit of ${MAX_RECORD_BYTES}`);
  }
}

/**
 * The largest record, key and value in UTF-8. An accepted body of 1 MiB may grow to 4.4 MiB where it is written again
 * (`1e20` has 4 characters and becomes 21), and a dead letter at most doubles a body as it came; with what stands
 * around it either fits, and a request of one such record stays below 8 MiB, which any Kafka on offer takes.
 */
export const MAX_RECORD_BYTES = 6 * 1024 * 1024;

/** The largest batch, keys and values in UTF-8: what a consumer has in memory at once does not depend on their sizes. */
export const MAX_BATCH_BYTES = 16 * 1024 * 1024;
