import { eventIdOf } from '../../../ingest/events/envelope.ts';
import type { EventLog, LogRecord } from '../../../platform/event-log/port.ts';
import { TOPICS } from '../../../platform/event-log/topics.ts';

/** How far behind an event its first record is looked for: further than a fold or an outbox appends again after a crash. */
const MAX_BACK = 20_000n;

/**
 * Returns the offsets of those of these records of one partition of `player-events` whose event is also up to 20,000
 * records earlier on the partition. A process that dies after it has appended events, and before it has noted that, appends
 * them again. It reads the log, so it is for the few records that may be repeated.
 */
export async function repeatedEvents(
  { eventLog }: { eventLog: Pick<EventLog, 'read'> },
  partition: number,
  records: readonly LogRecord[],
): Promise<ReadonlySet<bigint>> {
  const repeated = new Set<bigint>();
  const [one] = records;
  if (one === undefined) return repeated;
  let [lowest, end] = [one.offset, one.offset];
  for (const { offset } of records) {
    if (offset < lowest) lowest = offset;
    if (offset > end) end = offset;
  }
  const from = lowest > MAX_BACK ? lowest - MAX_BACK : 0n;
  const keys = new Set(records.map(({ key }) => key));
  const firsts = new Map<string, bigint>();
  for await (const batch of eventLog.read(TOPICS.playerEvents, partition, from, end)) {
    for (const { key, value, offset } of batch.records) {
      const id = keys.has(key) ? eventIdOf(value) : undefined;
      if (id !== undefined && !firsts.has(id)) firsts.set(id, offset);
    }
  }
  for (const { value, offset } of records) {
    const id = eventIdOf(value);
    const first = id === undefined ? undefined : firsts.get(id);
    if (first !== undefined && first < offset) repeated.add(offset);
  }
  return repeated;
}
