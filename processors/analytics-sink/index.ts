import type { LogConsumer } from '../../src/platform/event-log/port.ts';
import { consumeWithStoredOffsets } from '../../src/platform/event-log/stored-offsets.ts';
import { OFFSET_STORES } from '../../src/platform/event-log/position-queries.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { MAX_BLOCK_RECORDS, SinkBlocks } from './blocks.ts';

const LINGER_MS = 50;

/**
 * analytics-sink: `player-events` → ClickHouse `events`; then the players of the events are marked dirty for segments.
 * The records' values are ClickHouse rows already. {@link SinkBlocks} inserts the batches of all partitions together.
 */
export async function startAnalyticsSink(platform: Platform): Promise<LogConsumer> {
  const { eventLog, postgres, logger, metrics } = platform;
  const blocks = new SinkBlocks(platform, OFFSET_STORES.sink.topic);
  return consumeWithStoredOffsets({
    eventLog,
    sql: postgres.service,
    logger,
    refused: metrics.consumersRefused,
    store: OFFSET_STORES.sink,
    consumer: {
      max_records: MAX_BLOCK_RECORDS,
      linger_ms: LINGER_MS,
      handle: (batch) => blocks.add(batch),
    },
  });
}
