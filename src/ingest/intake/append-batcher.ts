import type { EventLog, NewRecord } from '../../platform/event-log/port.ts';
import { LogUnavailable } from '../../platform/event-log/port.ts';
import { findTooLarge } from '../../platform/event-log/record-size.ts';
import type { Metrics } from '../../platform/metrics.ts';

const MAX_WAITING_RECORDS = 50_000;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;
const MAX_APPEND_RECORDS = 5_000;
const MAX_APPEND_BYTES = 16 * 1024 * 1024;

interface Waiting {
  records: NewRecord[];
  bytes: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Joins the records of concurrent requests into one append to the log. While an append is under way, new records
 * gather for the next one. So the batch grows with the load, and an idle service appends without delay.
 */
export class AppendBatcher {
  #log: EventLog;
  #topic: string;
  #metrics: Metrics;
  #waiting: Waiting[] = [];
  #waiting_records = 0;
  #waiting_bytes = 0;
  #running: Promise<void> | undefined;

  constructor(log: EventLog, topic: string, metrics: Metrics) {
    this.#log = log;
    this.#topic = topic;
    this.#metrics = metrics;
  }

  /**
   * Resolves when the records are durable. Rejects with LogUnavailable when the log does not confirm, and at once when
   * too many records wait already. Rejects with RecordTooLarge before the records join those of other requests, so
   * that the other requests do not fail with them.
   */
  append(records: NewRecord[]): Promise<void> {
    const refusal = findTooLarge(records);
    if (refusal !== undefined) return Promise.reject(refusal);
    let bytes = 0;
    for (const record of records) bytes += record.value.length;
    if (
      this.#waiting_records + records.length > MAX_WAITING_RECORDS ||
      this.#waiting_bytes + bytes > MAX_WAITING_BYTES
    ) {
      return Promise.reject(new LogUnavailable('too many events wait for the event log'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ records, bytes, resolve, reject });
      this.#waiting_records += records.length;
      this.#waiting_bytes += bytes;
      this.#running ??= this.#run();
    });
  }

  /** Waits until no append is under way and no record waits. */
  async drain(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // The other requests of this turn of the event loop join the batch.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      const records =
        group.length === 1 ? (group[0]?.records ?? []) : group.flatMap((entry) => entry.records);
      const started_ms = performance.now();
      try {
        await this.#log.append(this.#topic, records);
        for (const entry of group) entry.resolve();
      } catch (error) {
        for (const entry of group) entry.reject(error);
        // The waiting groups would fail too, each after a time-out of its own: they are refused now.
        if (error instanceof LogUnavailable) for (const entry of this.#takeAll()) entry.reject(error);
      }
      this.#metrics.appendSize.observe(records.length);
      this.#metrics.appendSeconds.observe((performance.now() - started_ms) / 1000);
    }
    this.#running = undefined;
  }

  #takeAll(): Waiting[] {
    this.#waiting_records = 0;
    this.#waiting_bytes = 0;
    return this.#waiting.splice(0);
  }

  #takeGroup(): Waiting[] {
    let records = 0;
    let bytes = 0;
    let count = 0;
    for (const entry of this.#waiting) {
      const full =
        records + entry.records.length > MAX_APPEND_RECORDS || bytes + entry.bytes > MAX_APPEND_BYTES;
      if (full && count > 0) break;
      records += entry.records.length;
      bytes += entry.bytes;
      count++;
    }
    this.#waiting_records -= records;
    this.#waiting_bytes -= bytes;
    return this.#waiting.splice(0, count);
  }
}
