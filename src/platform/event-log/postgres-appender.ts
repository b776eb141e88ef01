import type { Db } from '../postgres/port.ts';
import { endOffset, insertRecords } from './postgres-queries.ts';
import { LogUnavailable, type NewRecord } from './port.ts';

const MAX_STATEMENT_RECORDS = 5_000;
const MAX_STATEMENT_BYTES = 8 * 1024 * 1024;
const MAX_WAITING_RECORDS = 200_000;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;
/** After this long without an answer an append counts as failed, whatever becomes of it. */
const APPEND_DEADLINE_MS = 8_000;

interface Append {
  records: readonly NewRecord[];
  /** Index of the first record not yet in a statement. */
  next: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

/**
 * Appends to one partition. One statement is under way at a time, so offsets become visible in order; what
 * arrives meanwhile goes into the next statement (group commit). A large append takes several statements.
 */
export class PartitionAppender {
  readonly partition: number;
  #sql: Db;
  #topic_id: number;
  /** Every record below it is durable and visible. */
  #end = 0n;
  #end_known = false;
  #waiting: Append[] = [];
  #waiting_records = 0;
  #waiting_bytes = 0;
  #flushing: Promise<void> | undefined;
  #closed = false;
  #listeners = new Set<() => void>();

  constructor(sql: Db, topic_id: number, partition: number) {
    this.#sql = sql;
    this.#topic_id = topic_id;
    this.partition = partition;
  }

  get end(): bigint {
    return this.#end;
  }

  /** Finds the end of what an earlier process wrote. */
  async open(): Promise<void> {
    this.#end = await endOffset(this.#sql, this.#topic_id, this.partition);
    this.#end_known = true;
  }

  /** Resolves when the records are durable; rejects with LogUnavailable when full, closed or out of reach. */
  append(records: readonly NewRecord[]): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    if (this.#closed) return Promise.reject(new LogUnavailable('the event log is closed'));
    const bytes = records.reduce((sum, record) => sum + sizeOf(record), 0);
    const full =
      this.#waiting_records + records.length > MAX_WAITING_RECORDS ||
      this.#waiting_bytes + bytes > MAX_WAITING_BYTES;
    // Alone, any append must get through: its caller would try again with the same one.
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

  /** Calls back once when there is something at or after `offset`, at once if there is; returns the way to stop waiting. */
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

  /** Refuses further appends and waits for those under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    // Lets every request of this turn of the event loop join the first statement.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const { records, finished } = this.#take();
      try {
        this.#end = await within(APPEND_DEADLINE_MS, this.#insert(records));
        this.#end_known = true;
        for (const append of finished) append.resolve();
      } catch (cause) {
        const error = new LogUnavailable('the event log did not confirm the append', { cause });
        // What waited meanwhile has waited long enough too.
        for (const append of [...finished, ...this.#takeAll()]) append.reject(error);
      }
      for (const check of this.#listeners) check();
    }
    this.#flushing = undefined;
  }

  /**
   * Writes at the end; resolves with the new end. After a failure nobody knows whether the statement was (or still
   * will be) committed, so the end is asked for before offsets are given again; the primary key refuses an offset
   * given twice.
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

  /** The next records in order of arrival that fit one statement, and the appends that end with them. */
  #take(): { records: NewRecord[]; finished: Append[] } {
    const records: NewRecord[] = [];
    const finished: Append[] = [];
    let bytes = 0;
    for (let append = this.#waiting[0]; append !== undefined; append = this.#waiting[0]) {
      for (; append.next < append.records.length; append.next++) {
        const record = append.records[append.next] as NewRecord;
        const size = sizeOf(record);
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

/** Near enough to the bytes, and known at once. */
function sizeOf({ key, value }: NewRecord): number {
  return key.length + value.length;
}

/** The promise's outcome, or a rejection after `limit_ms`; a late outcome is ignored. */
async function within<T>(limit_ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limit_ms} ms`)), limit_ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
