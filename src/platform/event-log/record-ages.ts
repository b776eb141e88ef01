import type { Clock } from '../clock.ts';
import type { EventLog, GroupLag, LogBatch } from './port.ts';

interface RecordAgesOptions {
  clock: Clock;
  /** The time at which the service received the event in a record's value, in milliseconds since the epoch. */
  receivedAt: (value: string) => number | undefined;
}

/** The last batch of a partition that was delivered to a consumer of this process. */
interface Given {
  /** The offset after the batch. */
  next_offset: bigint;
  /** While the batch is handled: when its first record was received. After that: when its last record was received. */
  received_at_ms: number;
  /** Whether the batch is being handled. */
  in_hand: boolean;
}

/** Measures how long the oldest record that a consumer has not handled yet has been waiting. */
export class RecordAges {
  #options: RecordAgesOptions;
  #given = new Map<string, Given>();
  /** The position at which a partition with waiting records is, and when it was first seen at that position. */
  #standing = new Map<string, { next_offset: bigint; since_ms: number }>();
  #last_idle_ms = new Map<string, number>();

  constructor(options: RecordAgesOptions) {
    this.#options = options;
  }

  /** Wraps the log: `consume` also records the age of each batch; all other methods are unchanged. */
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

  /** A lower bound of the time that the oldest waiting record of a partition has been waiting; 0 when none waits. */
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
    // The batch was never delivered to this process, or another process has handled records since. Only the time for
    // which the position has been unchanged is known then.
    const unknown = given === undefined || given.next_offset < next_offset;
    if (unknown) return stays ? now_ms - standing.since_ms : 0;
    // A record that follows a handled one was received after it, and after the partition was last seen without waiting
    // records.
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
