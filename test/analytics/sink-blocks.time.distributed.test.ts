import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import {
  append,
  useTwoProcesses,
  first,
  PARTITIONS,
  startSink,
  countStored,
  untilSunk,
} from './sink-fixture.ts';

useTwoProcesses();

test('48 partitions cause at most ten inserts a second, and every row is stored once', async () => {
  await startSink(first());
  let sent = 0;
  const started_ms = performance.now();
  while (performance.now() < started_ms + 4_000) {
    await append(100);
    sent += 100;
    await sleep(10);
  }
  await untilSunk();
  const seconds = (performance.now() - started_ms) / 1_000;
  const ends = await first().eventLog.endOffsets(TOPICS.playerEvents);
  expect([...ends.values()].filter((end) => end > 0n)).toHaveLength(PARTITIONS);
  const { values } = await first().metrics.sinkBlockRows.get();
  const inserts = values.find(({ metricName }) => metricName === 'sink_block_rows_count')?.value ?? 0;
  expect(inserts).toBeGreaterThan(3);
  expect(inserts).toBeLessThanOrEqual(10 * seconds + 1);
  expect(await countStored()).toEqual([sent, sent, 0]);
});
