import type { LogConsumer } from '../../src/platform/event-log/port.ts';
import { GROUPS, TOPICS } from '../../src/platform/event-log/topics.ts';
import type { Platform } from '../../src/wiring/platform.ts';
import { MAX_BLOCK_RECORDS, SinkBlocks } from './blocks.ts';

const LINGER_MS = 150;

/**
 * analytics-sink: `player-events` → ClickHouse `events`; then the players of the events are marked dirty for segments.
 * The records' values are ClickHouse rows already. {@link SinkBlocks} inserts the batches of all partitions together.
 */
export async function startAnalyticsSink(platform: Platform): Promise<LogConsumer> {
  const topic = TOPICS.playerEvents;
  const blocks = new SinkBlocks(platform, topic);
  return platform.eventLog.consume({
    topic,
    group: GROUPS.sink,
    max_records: MAX_BLOCK_RECORDS,
    linger_ms: LINGER_MS,
    handle: (batch) => blocks.add(batch),
  });
}
