import type { Clock } from '../clock.ts';
import type { EventLog, GroupLag, LogBatch } from './port.ts';

interface RecordAgesOptions {
  clock: Clock;
  /** When the service received the event in a record's value. */
  receivedAt: (value: string) => number | undefined;
}

/** The last batch of a partition that a consumer of this process was given. */
interface Given {
  /** The offset after the batch. */
  next_offset: bigint;
  /** Of the first record while the batch is in hand, then of the last one. */
  received_at_ms: number;
  in_hand: boolean;
}

/** Knows how long the oldest record that a consumer has yet to handle has been waiting. */
export class RecordAges {
  #options: RecordAgesOptions;
  #given = new Map<string, Given>();
  /** Where a partition was when it was first seen waiting there, and when that was. */
  #standing = new Map<string, { next_offset: bigint; since_ms: number }>();
  #last_idle_ms = new Map<string, number>();

  constructor(options: RecordAgesOptions) {
    this.#options = options;
  }

  /** The log for consumers whose records are to be followed; everything but `consume` is the log's own. */
  watch(eventLog: EventLog): EventLog {
    const consume: EventLog['consume'] = (options) =>
      eventLog.consume({
        ...options,
        handle: async (batch) => {
          this.#note(options.group, batch, true);
          await options.handle(batch);
          this.#note(options.group, batch, false);
        },
      });
    return Object.assign(Object.create(eventLog) as EventLog, { consume });
  }

  /** How many milliseconds the oldest waiting record of a partition has been waiting at least; 0: none waits. */
  waiting_ms(group: string, { partition, next_offset, end_offset }: GroupLag): number {
    const key = keyOf(group, partition);
    const now_ms = this.#options.clock.now_ms();
    if (next_offset >= end_offset) {
      this.#last_idle_ms.set(key, now_ms);
      this.#standing.delete(key);
      return 0;
    }
    const standing = this.#standing.get(key);
    const stays = standing?.next_offset === next_offset;
    if (!stays) this.#standing.set(key, { next_offset, since_ms: now_ms });
    const given = this.#given.get(key);
    // Not given to this process, or handled by another one since: known is only how long it has been seen there.
    const unknown = given === undefined || given.next_offset < next_offset;
    if (unknown) return stays ? now_ms - standing.since_ms : 0;
    // What comes after a handled record was received later than it, and after the partition was last seen empty.
    const since_ms = given.in_hand
      ? given.received_at_ms
      : Math.max(given.received_at_ms, this.#last_idle_ms.get(key) ?? 0);
    return Math.max(0, now_ms - since_ms);
  }

  #note(group: string, { partition, records }: LogBatch, in_hand: boolean): void {
    const { clock, receivedAt } = this.#options;
    const value = (in_hand ? records[0] : records.at(-1))?.value ?? '';
    this.#given.set(keyOf(group, partition), {
      next_offset: (records.at(-1)?.offset ?? -1n) + 1n,
      received_at_ms: receivedAt(value) ?? clock.now_ms(),
      in_hand,
    });
  }
}

function keyOf(group: string, partition: number): string {
  return `${group}/${partition}`;
}
