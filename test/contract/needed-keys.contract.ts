import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { MAX_BATCH_BYTES, type EventLog, type LogBatch } from '../../src/platform/event-log/port.ts';
import { until } from '../engines/until.ts';
import { numbers, range, record } from './log-records.ts';

/** Consumers that need the records of some keys, on a log of 4 partitions. */
export function neededKeysCases(open: () => EventLog): void {
  describe('a consumer that needs some keys', () => {
    const newTopic = async () => {
      const topic = `keys-${randomUUID().slice(0, 8)}`;
      await open().ensureTopics([topic]);
      return topic;
    };
    const lagOf = async (topic: string) =>
      (await open().lag(topic, 'g')).reduce((sum, row) => sum + Number(row.end_offset - row.next_offset), 0);
    const collect = async (
      topic: string,
      keys: (waiting: number) => Promise<ReadonlySet<string> | undefined>,
      max_records = 100,
    ) => {
      const batches: LogBatch[] = [];
      const handle = (batch: LogBatch) => Promise.resolve(void batches.push(batch));
      await open().consume({ topic, group: 'g', max_records, linger_ms: 0, keys, handle });
      await until(async (saw) => saw(await lagOf(topic)) === 0);
      return batches;
    };

    test('gets all of them in order, and of the others the first and the last of each batch', async () => {
      const topic = await newTopic();
      const all = range(0, 3_000).map((i) => record(i % 100 === 50 ? 'needed' : `other-${i % 30}`, i));
      await open().append(topic, all);
      const asked: number[] = [];
      const batches = await collect(topic, (waiting) => {
        asked.push(waiting);
        return Promise.resolve(new Set(['needed', 'nobody']));
      });
      expect(asked).toHaveLength(batches.length);
      expect(Math.max(...asked)).toBeLessThanOrEqual(100);
      const seen = batches.flatMap(({ records }) => records);
      expect(numbers(seen, 'needed')).toEqual(range(0, 30).map((i) => 100 * i + 50));
      for (const { records, keys } of batches) {
        expect(keys).toEqual(new Set(['needed', 'nobody']));
        expect(
          records
            .slice(1, -1)
            .filter(({ key }) => key !== 'needed')
            .slice(0, 20),
        ).toEqual([]);
      }
      // The batches follow one another without a gap, and end at the end of the log.
      const ends = await open().endOffsets(topic);
      for (const [partition, end] of ends) {
        let next = 0n;
        for (const batch of batches.filter((one) => one.partition === partition)) {
          expect(batch.from).toBe(next);
          expect(batch.records[0]?.offset).toBe(next);
          next = (batch.records.at(-1)?.offset ?? -2n) + 1n;
        }
        expect(next).toBe(end);
      }
    });

    test('is asked after the records of the batch were appended, and gets all when it says so', async () => {
      const topic = await newTopic();
      await open().append(
        topic,
        range(0, 10).map((i) => record('one', i)),
      );
      let asked = 0;
      // What is appended while it is asked belongs to a later batch, for which it is asked again.
      const batches = await collect(topic, async () => {
        if (asked++ === 0) await open().append(topic, [record('one', 10)]);
        return asked === 1 ? new Set<string>() : undefined;
      });
      const [first, ...rest] = batches;
      expect(first?.records.map(({ value }) => value)).toEqual(['0', '9']);
      expect(rest.flatMap(({ records }) => records.map(({ value }) => value))).toEqual(['10']);
      expect(rest.filter(({ keys }) => keys !== undefined).slice(0, 20)).toEqual([]);
    });

    test('is asked again when it fails, and loses nothing', async () => {
      const topic = await newTopic();
      await open().append(
        topic,
        range(0, 50).map((i) => record(i % 2 === 0 ? 'needed' : 'other', i)),
      );
      let asked = 0;
      const batches = await collect(topic, () =>
        asked++ < 2 ? Promise.reject(new Error('not now')) : Promise.resolve(new Set(['needed'])),
      );
      const seen = numbers(
        batches.flatMap(({ records }) => records),
        'needed',
      );
      expect(seen).toEqual(range(0, 25).map((i) => 2 * i));
    });

    test('has batches within the limit of bytes', async () => {
      const topic = await newTopic();
      const value = 'x'.repeat(1_000_000);
      for (let i = 0; i < 40; i += 10)
        await open().append(
          topic,
          range(i, i + 10).map(() => ({ key: 'needed', value })),
        );
      const batches = await collect(topic, () => Promise.resolve(new Set(['needed'])), 1_000);
      expect(batches.flatMap(({ records }) => records)).toHaveLength(40);
      const bytes = batches.map(({ records }) => records.reduce((sum, one) => sum + one.value.length, 0));
      expect(Math.max(...bytes)).toBeLessThanOrEqual(MAX_BATCH_BYTES);
    });
  });
}
