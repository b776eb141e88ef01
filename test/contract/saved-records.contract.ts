import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { EventLog, LogRecord, NewRecord } from '../../src/platform/event-log/port.ts';
import { appendSaved, RecordsDoNotFit, savedLines } from '../../src/platform/event-log/saved-records.ts';

const RECORDS: NewRecord[] = Array.from({ length: 3_000 }, (_, i) => ({
  key: `player-${i % 20}`,
  value: JSON.stringify({ n: i, text: i % 100 === 0 ? 'ü\n🎰'.repeat(50_000) : '' }),
}));
/** The records that both logs have: the later log goes on where the backup of it ends. */
const BACKED_UP = 1_000;

/** What `npm run events` does, on a log of 4 partitions: a topic stands for the log at one time. */
export function savedRecordsCases(open: () => EventLog): void {
  describe('saved records', () => {
    const topicWith = async (records: readonly NewRecord[]) => {
      const topic = `saved-${randomUUID().slice(0, 8)}`;
      await open().ensureTopics([topic]);
      if (records.length > 0) await open().append(topic, records);
      return topic;
    };
    const all = async (topic: string) => {
      const found = new Map<number, LogRecord[]>();
      for (const [partition, end] of await open().endOffsets(topic)) {
        const records: LogRecord[] = [];
        for await (const batch of open().read(topic, partition, 0n, end)) records.push(...batch.records);
        found.set(partition, records);
      }
      return found;
    };
    const save = async (topic: string, from: ReadonlyMap<number, bigint> = new Map()) => {
      const lines: string[] = [];
      for await (const line of savedLines(open(), topic, from)) lines.push(line);
      return lines;
    };
    const given = async function* (lines: readonly string[]) {
      yield* lines;
    };
    const append = (topic: string, lines: readonly string[]) => appendSaved(open(), topic, given(lines));

    test('continue a copy from exactly its end, also after an interruption', async () => {
      const [later, copy] = [await topicWith(RECORDS), await topicWith(RECORDS.slice(0, BACKED_UP))];
      const lines = await save(later);
      expect(lines).toHaveLength(RECORDS.length + 1);
      const interrupted = async function* () {
        yield* lines.slice(0, 2_000);
        throw new Error('interrupted');
      };
      await expect(appendSaved(open(), copy, interrupted())).rejects.toThrow('interrupted');
      const { appended, present } = await append(copy, lines);
      expect(appended + present).toBe(RECORDS.length);
      expect(await all(copy)).toEqual(await all(later));
      expect(await append(copy, lines)).toEqual({ appended: 0, present: RECORDS.length });
    });

    test('may be saved from given positions on, and are refused by a log that ends before', async () => {
      const [later, copy] = [await topicWith(RECORDS), await topicWith(RECORDS.slice(0, BACKED_UP))];
      const lines = await save(later, await open().endOffsets(copy));
      expect(lines).toHaveLength(RECORDS.length - BACKED_UP + 1);
      const empty = await topicWith([]);
      await expect(append(empty, lines)).rejects.toThrow(RecordsDoNotFit);
      expect([...(await all(empty)).values()].flat()).toEqual([]);
      expect(await append(copy, lines)).toEqual({ appended: lines.length - 1, present: 0 });
      expect(await all(copy)).toEqual(await all(later));
    });

    test('are refused by a log with another number of partitions, and without a header', async () => {
      const copy = await topicWith([]);
      const record = JSON.stringify({ partition: 0, offset: '0', key: 'a', value: '{}' });
      await expect(append(copy, ['{"partitions":5}', record])).rejects.toThrow(RecordsDoNotFit);
      await expect(append(copy, [])).rejects.toThrow(RecordsDoNotFit);
      const beyond = new Map([[0, 1n]]);
      await expect(save(copy, beyond)).rejects.toThrow(RecordsDoNotFit);
      expect([...(await all(copy)).values()].flat()).toEqual([]);
    });

    test('report that something else appends', async () => {
      const [later, copy] = [await topicWith(RECORDS.slice(0, 10)), await topicWith([])];
      const lines = await save(later);
      const disturbed = async function* () {
        yield* lines;
        await open().append(copy, RECORDS.slice(0, 1));
      };
      await expect(appendSaved(open(), copy, disturbed())).rejects.toThrow(RecordsDoNotFit);
    });
  });
}
