import type { DeadLetter } from '../events/envelope.ts';
import type { EventLog } from '../../platform/event-log/port.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';

const READ_BATCH = 100n;

/**
 * The position of a reader that goes back from the end. After a crash the fold emits the letters of its last batch again,
 * in the order of their source offsets. So, going back, a letter at or above the lowest source offset seen in the same
 * stream is a duplicate: see `ScanState`, which goes the other way.
 */
export interface BackState {
  /** Partition of `dead-letters` → everything before this offset is still to be read. */
  before: Map<number, bigint>;
  /** Partition of `dead-letters` and of `events`, as `a/b` → the lowest source offset seen. */
  lowest: Map<string, bigint>;
}

/** A record of `dead-letters`; `letter` is undefined for a duplicate. */
export interface ReadLetter {
  letter: DeadLetter | undefined;
  /** Characters of the record, to bound what a caller reads. */
  size: number;
}

interface Waiting {
  offset: bigint;
  value: string;
  letter: DeadLetter;
}

/** Reads the dead letters from the newest to the oldest, over all partitions by their time. */
export class NewestFirst {
  readonly #eventLog: Pick<EventLog, 'describe' | 'read'>;
  readonly #state: BackState;
  /** What was read of each partition and not yet returned, the oldest first. */
  readonly #waiting = new Map<number, Waiting[]>();
  /** How far each partition was read; its records before that are neither returned nor waiting. */
  readonly #read_to = new Map<number, bigint>();
  #first: ReadonlyMap<number, bigint> | undefined;

  constructor(eventLog: Pick<EventLog, 'describe' | 'read'>, state?: BackState) {
    this.#eventLog = eventLog;
    this.#state = state ?? { before: new Map(), lowest: new Map() };
  }

  /** Where the next reader goes on. */
  get state(): BackState {
    return this.#state;
  }

  /** The next letter; undefined when there are no more. */
  async next(): Promise<ReadLetter | undefined> {
    this.#first ??= await this.#begin();
    for (const [partition, first] of this.#first) await this.#fill(partition, first);
    let newest: [number, Waiting] | undefined;
    for (const [partition, letters] of this.#waiting) {
      const last = letters.at(-1);
      if (last !== undefined && (newest === undefined || last.letter.at_ms > newest[1].letter.at_ms))
        newest = [partition, last];
    }
    if (newest === undefined) return undefined;
    const [partition, { offset, value, letter }] = newest;
    this.#waiting.get(partition)?.pop();
    this.#state.before.set(partition, offset);
    const stream = `${partition}/${letter.partition}`;
    const source = BigInt(letter.offset);
    const lowest = this.#state.lowest.get(stream);
    if (lowest !== undefined && source >= lowest) return { letter: undefined, size: value.length };
    this.#state.lowest.set(stream, source);
    return { letter, size: value.length };
  }

  async #begin(): Promise<Map<number, bigint>> {
    const { partitions } = await this.#eventLog.describe(TOPICS.deadLetters);
    for (const [partition, { end }] of partitions) {
      const before = this.#state.before.get(partition) ?? end;
      this.#state.before.set(partition, before < end ? before : end);
    }
    return new Map([...partitions].map(([partition, { first }]) => [partition, first]));
  }

  async #fill(partition: number, first: bigint): Promise<void> {
    const waiting = this.#waiting.get(partition) ?? [];
    let to = this.#read_to.get(partition) ?? this.#state.before.get(partition) ?? first;
    while (waiting.length === 0 && to > first) {
      const from = to - READ_BATCH > first ? to - READ_BATCH : first;
      for await (const { records } of this.#eventLog.read(TOPICS.deadLetters, partition, from, to)) {
        for (const { offset, value } of records) {
          waiting.push({ offset, value, letter: JSON.parse(value) as DeadLetter });
        }
      }
      to = from;
    }
    this.#read_to.set(partition, to);
    this.#waiting.set(partition, waiting);
  }
}
