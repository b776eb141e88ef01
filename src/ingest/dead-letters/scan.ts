import type { DeadLetter } from '../events/envelope.ts';
import type { EventLog } from '../../platform/event-log/port.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';

const READ_BATCH = 200;

/**
 * The position of a reader of the dead letters. After a crash the fold emits the letters of its last batch again, in
 * the order of their source offsets. So a letter at or below the highest source offset seen in the same partition is
 * a duplicate, and one number per partition is enough to recognise it.
 */
export interface ScanState {
  /** Partition of `dead-letters` → the next offset to read. */
  next: Map<number, bigint>;
  /** Partition of `dead-letters` and of `events`, as `a/b` → the highest source offset seen. */
  highest: Map<string, bigint>;
}

export function newScan(): ScanState {
  return { next: new Map(), highest: new Map() };
}

/**
 * The letters after `state`, each once, up to `ends` (partition → end offset); `undefined` stands for a duplicate.
 * Every record read advances `state`, so a scan that is stopped and continued later misses and repeats nothing.
 */
export async function* scanLetters(
  eventLog: EventLog,
  state: ScanState,
  ends: ReadonlyMap<number, bigint>,
): AsyncGenerator<DeadLetter | undefined> {
  for (const [partition, end] of [...ends].toSorted(([a], [b]) => a - b)) {
    const from = state.next.get(partition) ?? 0n;
    for await (const batch of eventLog.read(TOPICS.deadLetters, partition, from, end, READ_BATCH)) {
      for (const record of batch.records) {
        state.next.set(partition, record.offset + 1n);
        const letter = JSON.parse(record.value) as DeadLetter;
        const stream = `${partition}/${letter.partition}`;
        const offset = BigInt(letter.offset);
        const isRepeated = offset <= (state.highest.get(stream) ?? -1n);
        if (!isRepeated) state.highest.set(stream, offset);
        // Yielded as undefined, so that a reader that limits the number of scanned records counts duplicates too.
        yield isRepeated ? undefined : letter;
      }
    }
    state.next.set(partition, end > from ? end : from);
  }
}
