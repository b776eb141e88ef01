import type { Tx } from '../postgres/port.ts';
import type { EventLog } from './port.ts';
import { readPositions, type OffsetStore, type StoredPositions } from './position-queries.ts';

interface Engines {
  eventLog: Pick<EventLog, 'endOffsets' | 'idOf'>;
  sql: Tx;
}

/** The ends of a consumer's topic at a moment: what was accepted before it lies before these offsets. */
export interface HighWatermark {
  ends: ReadonlyMap<number, bigint>;
  /** Positions that were beyond the ends prove nothing: the log is another one, or has lost its last records. */
  is_log_short: boolean;
}

/** Reads the present ends of a consumer's topic. */
export async function captureHighWatermark(
  { eventLog, sql }: Engines,
  store: OffsetStore,
): Promise<HighWatermark> {
  // Positions first: read later they could be ahead of the ends.
  const { next_offsets } = await readPositions(sql, store);
  const ends = await eventLog.endOffsets(store.topic);
  return {
    ends,
    is_log_short: [...next_offsets].some(([partition, offset]) => offset > (ends.get(partition) ?? 0n)),
  };
}

/** How far a consumer is behind a high watermark. */
export interface Lag {
  /** Partition → the records that are missing; without the partitions in which there are none. */
  records: Map<number, bigint>;
  /** Why no position counts, so that every partition is behind. */
  reason: string | undefined;
}

/**
 * Up to which offset everything in the partition was emitted, given what the group has committed: that comes at the end of
 * a batch and proves nothing beyond the position, and `emitted_offset` comes with the parts of a batch.
 */
export function emittedTo(
  { next_offsets, emitted_offsets }: Pick<StoredPositions, 'next_offsets' | 'emitted_offsets'>,
  partition: number,
  committed: ReadonlyMap<number, bigint>,
): bigint {
  const proven = smaller(committed.get(partition) ?? 0n, next_offsets.get(partition) ?? 0n);
  const emitted = emitted_offsets.get(partition) ?? 0n;
  return proven > emitted ? proven : emitted;
}

const smaller = (one: bigint, other: bigint) => (one < other ? one : other);

/**
 * How far a consumer is behind the watermark. Its positions in Postgres decide, not what its group has committed, which is
 * ahead of them after a restore of an earlier Postgres. With `committed`, what the group has committed, only records count
 * whose emission is proven ({@link emittedTo}). Positions of another log prove nothing, and neither do those that did not
 * fit this one: a log that has lost its last records may have grown beyond them.
 */
export async function lagTo(
  { eventLog, sql }: Engines,
  store: OffsetStore,
  { ends, is_log_short }: HighWatermark,
  committed?: ReadonlyMap<number, bigint>,
): Promise<Lag> {
  const { group, topic } = store;
  const stored = await readPositions(sql, store);
  const { next_offsets, log_id, refusals } = stored;
  const present_id = await eventLog.idOf(topic);
  const records = new Map<number, bigint>();
  for (const [partition, end] of ends) {
    const reached =
      committed === undefined ? (next_offsets.get(partition) ?? 0n) : emittedTo(stored, partition, committed);
    if (reached < end) records.set(partition, end - reached);
  }
  const reason = () => {
    if (log_id !== undefined && log_id !== present_id)
      return `the positions of ${group} belong to another log`;
    if (refusals.has(present_id)) return `the positions of ${group} did not fit its log`;
    return is_log_short ? `the positions of ${group} are beyond the end of its log` : undefined;
  };
  return { records, reason: reason() };
}
