import { withinTime } from '../time-limit.ts';
import type { Db } from '../postgres/port.ts';
import { endOffset, insertRecords } from './postgres-queries.ts';
import { LogUnavailable, type LogRecord, type NewRecord } from './port.ts';
import { RecentRecords } from './recent-records.ts';
import { unitsOf } from './record-size.ts';

const MAX_STATEMENT_RECORDS = 5_000;
const MAX_STATEMENT_BYTES = 8 * 1024 * 1024;
const MAX_WAITING_RECORDS = 200_000;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;
/** After this time without an answer an append is reported as failed, although it may still be written. */
const APPEND_DEADLINE_MS = 8_000;

interface Append {
  records: readonly NewRecord[];
  /** Index of the first record not yet in a statement. */
  next: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

/**
 * Appends to one partition. One statement runs at a time, so offsets become visible in order. Appends that arrive
 * meanwhile go into the next statement (group commit). A large append takes several statements.
 */
export class PartitionAppender {
  readonly partition: number;
  #sql: Db;
  #topic_id: number;
  /** Every record below this offset is durable and visible. */
  #end = 0n;
  /** False after a failed statement, which may or may not have been committed. */
  #end_known = false;
  #waiting: Append[] = [];
  #waiting_records = 0;
  #waiting_bytes = 0;
  #flushing: Promise<void> | undefined;
  #closed = false;
  #listeners = new Set<() => void>();
  #readers = 0;
  readonly #recent = new RecentRecords();

  constructor(sql: Db, topic_id: number, partition: number) {
    this.#sql = sql;
    this.#topic_id = topic_id;
    this.partition = partition;
  }

  get end(): bigint {
    return this.#end;
  }

  /** Reads the end offset from Postgres. */
  async open(): Promise<void> {
    this.#end = await endOffset(this.#sql, this.#topic_id, this.partition);
    this.#end_known = true;
  }

  /**
   * Resolves when the records are durable. Rejects with LogUnavailable when too many records wait, the log is closed,
   * or Postgres does not confirm in time.
   */
  append(records: readonly NewRecord[]): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    if (this.#closed) return Promise.reject(new LogUnavailable('the event log is closed'));
    const bytes = records.reduce((sum, record) => sum + unitsOf(record), 0);
    const full =
      this.#waiting_records + records.length > MAX_WAITING_RECORDS ||
      this.#waiting_bytes + bytes > MAX_WAITING_BYTES;
    // An append of any size is accepted when no other waits: its caller would retry with the same records.
    if (full && this.#waiting.length > 0) {
      return Promise.reject(new LogUnavailable('too many records wait for the event log'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ records, next: 0, resolve, reject });
      this.#waiting_records += records.length;
      this.#waiting_bytes += bytes;
      this.#flushing ??= this.#flush();
    });
  }

  /**
   * Calls `call` once, when a record at or after `offset` exists; at once if it exists already. Returns a function that
   * cancels the wait.
   */
  onReached(offset: bigint, call: () => void): () => void {
    if (this.#end > offset) {
      call();
      return () => undefined;
    }
    const check = () => {
      if (this.#end <= offset) return;
      this.#listeners.delete(check);
      call();
    };
    this.#listeners.add(check);
    return () => void this.#listeners.delete(check);
  }

  /** Keeps the last records in memory until the function is called that it returns. */
  keepRecent(): () => void {
    this.#readers++;
    return () => {
      if (--this.#readers === 0) this.#recent.clear();
    };
  }

  /** The first records of `[from, to)`, as {@link RecentRecords.read}; only records that are durable. */
  recent(from: bigint, to: bigint, limit: number): LogRecord[] | undefined {
    return this.#recent.read(from, to, limit);
  }

  /** Rejects further appends and waits for the pending ones. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    // Appends that are issued in the same turn of the event loop join the first statement.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const { records, finished } = this.#take();
      try {
        const end = await withinTime(APPEND_DEADLINE_MS, this.#insert(records));
        if (this.#readers > 0) this.#recent.add(end - BigInt(records.length), records);
        this.#end = end;
        this.#end_known = true;
        for (const append of finished) append.resolve();
      } catch (cause) {
        this.#recent.clear();
        const error = new LogUnavailable('the event log did not confirm the append', { cause });
        // Waiting appends are rejected too: they have waited for this statement already.
        for (const append of [...finished, ...this.#takeAll()]) append.reject(error);
      }
      for (const check of this.#listeners) check();
    }
    this.#flushing = undefined;
  }

  /**
   * Inserts the records at the end; resolves with the new end. After a failure it is unknown whether the statement was,
   * or still will be, committed. So the end is read again before the next offsets are assigned; the primary key rejects
   * an offset that is assigned twice.
   */
  async #insert(records: readonly NewRecord[]): Promise<bigint> {
    const first = this.#end_known ? this.#end : await endOffset(this.#sql, this.#topic_id, this.partition);
    this.#end_known = false;
    await insertRecords(this.#sql, this.#topic_id, this.partition, first, records);
    return first + BigInt(records.length);
  }

  #takeAll(): Append[] {
    this.#waiting_records = 0;
    this.#waiting_bytes = 0;
    return this.#waiting.splice(0);
  }

  /** Takes the next records that fit one statement, in order of arrival, and the appends whose last record is taken. */
  #take(): { records: NewRecord[]; finished: Append[] } {
    const records: NewRecord[] = [];
    const finished: Append[] = [];
    let bytes = 0;
    for (let append = this.#waiting[0]; append !== undefined; append = this.#waiting[0]) {
      for (; append.next < append.records.length; append.next++) {
        const record = append.records[append.next] as NewRecord;
        const size = unitsOf(record);
        const full = records.length >= MAX_STATEMENT_RECORDS || bytes + size > MAX_STATEMENT_BYTES;
        if (full && records.length > 0) return { records, finished };
        records.push(record);
        bytes += size;
        this.#waiting_records--;
        this.#waiting_bytes -= size;
      }
      finished.push(append);
      this.#waiting.shift();
    }
    return { records, finished };
  }
}
