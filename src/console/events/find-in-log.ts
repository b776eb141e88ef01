import { receivedAtOf } from '../../ingest/events/envelope.ts';
import { ApiError } from '../../errors.ts';
import type { EventLog, LogRecord } from '../../platform/event-log/port.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';

/** Records of a partition are about in the order of their reception: processes of intake have clocks of their own. */
const SLACK_MS = 5_000;
/** One replayed record is older than its neighbours; the newest of some tells the time of a place. */
const PROBE = 10;
const MAX_SCANNED = 20_000;
const READ_BATCH = 500;
const MAX_MS = 10_000;

/** A record with its partition. */
export interface PlacedRecord extends LogRecord {
  partition: number;
}

/**
 * The record of an accepted event on the log, found by its time: the log has no index. `received_ms` is about when it was
 * received. Undefined when there is none around that time. Rejects with SERVICE_UNAVAILABLE after {@link MAX_MS}.
 */
export async function findAccepted(
  eventLog: Pick<EventLog, 'describe' | 'read'>,
  { ingestion_id, event_index }: { ingestion_id: string; event_index: number },
  received_ms: number,
): Promise<PlacedRecord | undefined> {
  const until_ms = performance.now() + MAX_MS;
  const head = `{"ingestion_id":"${ingestion_id}","index":${event_index},`;
  const { partitions } = await eventLog.describe(TOPICS.events);
  for (const [partition, { first, end }] of partitions) {
    const from = await placeOf(eventLog, partition, first, end, received_ms - SLACK_MS, until_ms);
    let scanned = 0;
    for await (const { records } of eventLog.read(TOPICS.events, partition, from, end, READ_BATCH)) {
      const found = records.find(({ value }) => value.startsWith(head));
      if (found !== undefined) return { partition, ...found };
      scanned += records.length;
      requireTime(until_ms);
      if (scanned >= MAX_SCANNED || newestOf(records) > received_ms + SLACK_MS) break;
    }
  }
  return undefined;
}

/** The first place of a partition whose records were received at `at_ms` or later. */
async function placeOf(
  eventLog: Pick<EventLog, 'read'>,
  partition: number,
  first: bigint,
  end: bigint,
  at_ms: number,
  until_ms: number,
): Promise<bigint> {
  let [low, high] = [first, end];
  while (high - low > BigInt(READ_BATCH)) {
    requireTime(until_ms);
    const middle = (low + high) / 2n;
    let newest_ms = Infinity;
    for await (const { records } of eventLog.read(TOPICS.events, partition, middle, high, PROBE)) {
      newest_ms = newestOf(records);
      break;
    }
    if (newest_ms < at_ms) low = middle;
    else high = middle;
  }
  return low;
}

/** When the last received of these records was received; without one that says so, never. */
function newestOf(records: readonly LogRecord[]): number {
  const times = records.map(({ value }) => receivedAtOf(value)).filter((at_ms) => at_ms !== undefined);
  return times.length === 0 ? Infinity : Math.max(...times);
}

function requireTime(until_ms: number): void {
  if (performance.now() <= until_ms) return;
  throw new ApiError('SERVICE_UNAVAILABLE', 'the event log answers too slowly to find the event', {
    retry_after_s: 1,
  });
}
