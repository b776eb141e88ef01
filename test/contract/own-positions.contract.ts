import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { PositionMoved, type EventLog, type LogBatch } from '../../src/platform/event-log/port.ts';
import { until } from '../engines/until.ts';
import { range, record } from './log-records.ts';

const GROUP = 'owner';

/** Consumers that keep their positions themselves, and the identity of the log. */
export function ownPositionsCases(open: () => EventLog): void {
  const newTopic = async () => {
    const topic = `own-${randomUUID().slice(0, 8)}`;
    await open().ensureTopics([topic]);
    return topic;
  };

  test('a topic has an id of its own, and says which records it has', async () => {
    const [topic, other] = [await newTopic(), await newTopic()];
    await open().append(topic, [record('one', 0), record('one', 1)]);
    const { id, partitions } = await open().describe(topic);
    expect(await open().idOf(topic)).toBe(id);
    expect((await open().describe(topic)).id).toBe(id);
    expect((await open().describe(other)).id).not.toBe(id);
    expect([...partitions.values()].filter(({ end }) => end > 0n)).toEqual([{ first: 0n, end: 2n }]);
    expect(partitions.size).toBe(4);
  });

  test('a consumer that keeps its positions starts there, whatever its group has committed', async () => {
    const topic = await newTopic();
    const log = open();
    const lag = async () =>
      (await log.lag(topic, GROUP)).reduce((sum, row) => sum + Number(row.end_offset - row.next_offset), 0);
    await log.append(
      topic,
      range(0, 10).map((i) => record('one', i)),
    );
    const [partition] = [...(await log.endOffsets(topic))].find(([, end]) => end > 0n) ?? [0];
    const options = { topic, group: GROUP, max_records: 3, linger_ms: 0 };
    const other = await log.consume({ ...options, handle: () => Promise.resolve() });
    await until(async (saw) => saw(await lag()) === 0);
    await other.close();
    let start = 4n;
    let is_lost = false;
    let lag_at_start: number | undefined;
    const batches: LogBatch[] = [];
    const consumer = await log.consume({
      ...options,
      startsAt: async () => new Map([[partition, start]]),
      async handle(batch) {
        lag_at_start ??= await lag();
        if (batch.from === 7n && !is_lost) {
          is_lost = true;
          start = 2n;
          throw new PositionMoved(batch, start);
        }
        batches.push(batch);
      },
    });
    await until((saw) => saw(batches.at(-1)?.records.at(-1)?.offset) === 9n);
    await until(async (saw) => saw(await lag()) === 0);
    await consumer.close();
    // What the group has committed is never ahead of the consumer's own position.
    expect(lag_at_start).toBe(6);
    const offsets = batches.flatMap(({ records }) => records.map(({ offset }) => Number(offset)));
    expect(offsets).toEqual([4, 5, 6, ...range(2, 10)]);
    expect(batches.map(({ from, records }) => from === records[0]?.offset)).not.toContain(false);
  });
}
