import { MAX_BATCH_BYTES, type LogRecord, type NewRecord } from './port.ts';
import { countWithin, MAX_UNIT_BYTES, unitsOf } from './record-size.ts';

/** UTF-16 units of keys and values that are kept: half a second and more at the rate that one machine sustains. */
const MAX_UNITS = 8 * 1024 * 1024;
/** A batch of so many units surely is within the limit of bytes. */
const MAX_BATCH_UNITS = Math.floor(MAX_BATCH_BYTES / MAX_UNIT_BYTES);
/** No JSON text has it raw. */
const SEPARATOR = '\u001e';

/**
 * The last records that one partition was given by this process, in offset order and without gaps. All consumers of the process
 * read them from here instead of Postgres. Memory is bounded: the older half is forgotten when there are too many.
 */
export class RecentRecords {
  #records: LogRecord[] = [];
  #units = 0;

  /** Adds records that are durable, from the offset `first` on. If others are missing before it, those are forgotten. */
  add(first: bigint, records: readonly NewRecord[]): void {
    const last = this.#records.at(-1);
    if (last !== undefined && last.offset + 1n !== first) this.clear();
    const texts = copiesOf(records);
    if (texts.length !== 2 * records.length) return this.clear();
    for (let i = 0; i < records.length; i++) {
      const record = { offset: first + BigInt(i), key: texts[2 * i] ?? '', value: texts[2 * i + 1] ?? '' };
      this.#records.push(record);
      this.#units += unitsOf(record);
    }
    if (this.#units > MAX_UNITS) this.#forget();
  }

  /** Forgets all: what Postgres has may be another thing from now on. */
  clear(): void {
    this.#records = [];
    this.#units = 0;
  }

  /**
   * The first records of `[from, to)`, in order: at most `limit` records and {@link MAX_BATCH_BYTES}, but at least one record.
   * Undefined: the record at `from` is not here.
   */
  read(from: bigint, to: bigint, limit: number): LogRecord[] | undefined {
    const [first] = this.#records;
    if (first === undefined || from < first.offset || from >= to) return undefined;
    const at = Number(from - first.offset);
    const records = this.#records.slice(at, at + Math.min(limit, Number(to - from)));
    const count = countWithin(records.map(unitsOf), MAX_BATCH_UNITS);
    return count === 0 ? undefined : records.slice(0, count);
  }

  #forget(): void {
    let forgotten = 0;
    while (this.#units > MAX_UNITS / 2) {
      const record = this.#records[forgotten++];
      if (record === undefined) break;
      this.#units -= unitsOf(record);
    }
    this.#records.splice(0, forgotten);
  }
}

/**
 * Key and value of each record, by turns, in one text for all: it stays in memory as long as one of them does. The texts that
 * were appended may be parts of much larger ones, such as the body of a request, which would stay with them.
 */
function copiesOf(records: readonly NewRecord[]): string[] {
  const text = records.map(({ key, value }) => `${key}${SEPARATOR}${value}`).join(SEPARATOR);
  return Buffer.from(text).toString().split(SEPARATOR);
}
