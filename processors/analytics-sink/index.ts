import type { LogConsumer } from '../../src/platform/event-log/port.ts';
import { consumeOwned } from '../../src/platform/event-log/owned-positions.ts';
import { OWNERS } from '../../src/platform/event-log/position-queries.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { MAX_BLOCK_RECORDS, SinkBlocks } from './blocks.ts';

const LINGER_MS = 50;

/**
 * analytics-sink: `player-events` → ClickHouse `events`; then the players of the events are marked dirty for segments.
 * The records' values are ClickHouse rows already. {@link SinkBlocks} inserts the batches of all partitions together.
 */
export async function startAnalyticsSink(platform: Platform): Promise<LogConsumer> {
  const { eventLog, postgres, logger, metrics } = platform;
  const blocks = new SinkBlocks(platform, OWNERS.sink.topic);
  return consumeOwned({
    eventLog,
    sql: postgres.service,
    logger,
    refused: metrics.consumersRefused,
    owner: OWNERS.sink,
    consumer: {
      max_records: MAX_BLOCK_RECORDS,
      linger_ms: LINGER_MS,
      handle: (batch) => blocks.add(batch),
    },
  });
}
