import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  LogUnavailable,
  MAX_RECORD_BYTES,
  RecordTooLarge,
  type EventLog,
  type LogBatch,
} from '../../src/platform/event-log/port.ts';
import { lagCases } from './lag.contract.ts';
import { expectRecords, numbers, places, range, record, sorted, usedBytes } from './log-records.ts';
import { neededKeysCases } from './needed-keys.contract.ts';
import { ownPositionsCases } from './own-positions.contract.ts';
import { savedRecordsCases } from './saved-records.contract.ts';
import { until } from '../engines/until.ts';

/** The engine behind the log, which the suite may stop and start again. */
export interface LogFixture {
  /** Opens the log; it creates topics with 4 partitions. */
  open(): Promise<EventLog>;
  /** What `test/engines/log-child.ts` needs to open the same log. */
  child_environment: Record<string, string>;
  /** Stops the engine, or starts it again with its data. */
  setAvailable(available: boolean): Promise<void>;
  stop(): Promise<void>;
}

const KEYS = Array.from({ length: 20 }, (_, i) => `player-${i}`);

/** The guarantees of every event log (see port.ts), tested on a real engine. */
export function eventLogContract(name: string, start: () => Promise<LogFixture>): void {
  let fixture: LogFixture;
  let log: EventLog;
  let topic: string;

  const reopen = async () => {
    await log.close();
    log = await fixture.open();
    await log.ensureTopics([topic]);
  };
  const newTopic = async () => {
    topic = `t-${randomUUID().slice(0, 8)}`;
    await log.ensureTopics([topic]);
  };
  const lagOf = async (group: string) =>
    (await log.lag(topic, group)).reduce((sum, row) => sum + Number(row.end_offset - row.next_offset), 0);
  const collect = async (group: string, options: { max_records?: number; linger_ms?: number } = {}) => {
    const batches: LogBatch[] = [];
    const consumer = await log.consume({
      topic,
      group,
      max_records: options.max_records ?? 1_000,
      linger_ms: options.linger_ms ?? 0,
      handle: async (batch) => void batches.push(batch),
    });
    return { batches, records: () => batches.flatMap((batch) => batch.records), consumer };
  };

  describe(`event log: ${name}`, () => {
    beforeAll(async () => {
      fixture = await start();
      log = await fixture.open();
    });
    afterEach(async () => {
      await log.close();
      log = await fixture.open();
    });
    afterAll(async () => {
      await log?.close();
      await fixture?.stop();
    });

    // The first cases, so that they read from a broker that has just started, as after a restore.
    savedRecordsCases(() => log);
    ownPositionsCases(() => log);
    neededKeysCases(() => log);
    lagCases(() => log);

    describe('order and delivery', () => {
      test('records of one key keep their order under concurrent appends', async () => {
        await newTopic();
        await Promise.all(
          KEYS.map(async (key) => {
            for (let i = 0; i < 60; i += 2) {
              await log.append(topic, [record(key, i), record(key, i + 1)]);
            }
          }),
        );
        const seen = await collect('g');
        await until((saw) => saw(seen.records().length) >= KEYS.length * 60);
        for (const key of KEYS) expect(numbers(seen.records(), key)).toEqual(range(0, 60));
        expect(seen.records()).toHaveLength(KEYS.length * 60);
        await until(async (saw) => saw(await lagOf('g')) === 0);
      });

      test('appends issued without waiting keep the order of one key', async () => {
        await newTopic();
        await Promise.all(range(0, 500).map((i) => log.append(topic, [record('one', i)])));
        const seen = await collect('g');
        await until((saw) => saw(seen.records().length) >= 500);
        expect(numbers(seen.records(), 'one')).toEqual(range(0, 500));
      });

      test('every text is read back unchanged', async () => {
        await newTopic();
        const values = ['', '{"a":"ü €  "}', '🎰'.repeat(1000), 'x'.repeat(1_500_000)];
        await log.append(
          topic,
          values.map((value) => ({ key: 'ключ', value })),
        );
        const seen = await collect('g');
        await until((saw) => saw(seen.records().length) >= values.length);
        expect(seen.records().map((r) => r.value)).toEqual(values);
        expect(new Set(seen.records().map((r) => r.key))).toEqual(new Set(['ключ']));
        await log.append(topic, [{ key: '', value: '' }]);
        await until((saw) => saw(seen.records().length) > values.length);
        expect(seen.records().at(-1)).toMatchObject({ key: '', value: '' });
        // Control characters, by which a log might tell its records apart.
        const controls = ['\u001e', 'a\u001eb', '\u001e\u001f\u0001'].map((text) => ({
          key: text,
          value: text,
        }));
        await log.append(topic, controls);
        await until((saw) => saw(seen.records().length) > values.length + controls.length);
        const read = seen.records().slice(-controls.length);
        expect(read.map(({ key, value }) => ({ key, value }))).toEqual(expect.arrayContaining(controls));
      });

      test('a batch never exceeds max_records, and linger_ms waits for a full batch', async () => {
        await newTopic();
        const seen = await collect('g', { max_records: 10, linger_ms: 120_000 });
        await log.append(
          topic,
          range(0, 4).map((i) => record('one', i)),
        );
        await log.append(
          topic,
          range(4, 30).map((i) => record('one', i)),
        );
        await until((saw) => saw(seen.records().length) >= 30);
        expect(seen.batches.map((batch) => batch.records.length)).toEqual([10, 10, 10]);
      });

      test('a batch whose handler rejects is delivered again, with the same records, until the handler resolves', async () => {
        await newTopic();
        const attempts: string[][] = [];
        await log.append(
          topic,
          range(0, 30).map((i) => record('one', i)),
        );
        const consumer = await log.consume({
          topic,
          group: 'g',
          max_records: 10,
          linger_ms: 0,
          handle: async ({ records }) => {
            attempts.push(records.map((r) => r.value));
            if (attempts.length <= 3) throw new Error('not yet');
          },
        });
        await until(async (saw) => attempts.length >= 6 && saw(await lagOf('g')) === 0);
        expect(attempts[1]).toEqual(attempts[0]);
        expect(attempts[2]).toEqual(attempts[0]);
        expect(attempts.slice(3).flat().map(Number)).toEqual(range(0, 30));
        await consumer.close();
      });

      test('reading continues at the committed position after a reopen', async () => {
        await newTopic();
        await log.append(
          topic,
          range(0, 10).map((i) => record('one', i)),
        );
        const first = await collect('g');
        await until(async (saw) => first.records().length === 10 && saw(await lagOf('g')) === 0);
        await reopen();
        await log.append(
          topic,
          range(10, 15).map((i) => record('one', i)),
        );
        const second = await collect('g');
        await until((saw) => saw(second.records().length) >= 5);
        expect(numbers(second.records(), 'one')).toEqual(range(10, 15));
      });

      test('records that a killed process handled but did not commit are delivered again', async () => {
        await newTopic();
        await log.append(
          topic,
          range(0, 5).map((i) => record('one', i)),
        );
        await log.close();
        const handled = await handleAndDie({
          ...fixture.child_environment,
          LOG_TOPIC: topic,
          LOG_GROUP: 'g',
        });
        expect(handled).toEqual(range(0, 5).map(String));
        log = await fixture.open();
        await log.ensureTopics([topic]);
        const seen = await collect('g');
        await until((saw) => saw(seen.records().length) >= 5);
        expect(numbers(seen.records(), 'one')).toEqual(range(0, 5));
      });
    });

    describe('sizes', () => {
      test('batches are limited in bytes, whatever the sizes of their records', async () => {
        await newTopic();
        const mib = 1024 * 1024;
        // Cyrillic letters: the limit counts bytes, not characters.
        const sizes = [6, 3, 3, 3, 3, 1, 6, 6, 5, 0, 5, 3, 3, 3, 0, 3, 6, 6, 6, 6, 1, 1];
        const records = sizes.map((size) => ({
          key: 'one',
          value: 'я'.repeat(Math.max(0, (size * mib) / 2 - 2)),
        }));
        // All at once, so that they exceed every limit on waiting records.
        await log.append(topic, records);
        const seen = await collect('g', { max_records: 1_000, linger_ms: 200 });
        await until(async (saw) => seen.records().length >= records.length && saw(await lagOf('g')) === 0);
        expectRecords(seen.batches, records);
        const read: LogBatch[] = [];
        for (const [partition, end] of await log.endOffsets(topic)) {
          for await (const batch of log.read(topic, partition, 0n, end)) read.push(batch);
        }
        expectRecords(read, records);
      });

      test('the largest record is accepted; a larger one is refused for good, alone, before anything is written', async () => {
        await newTopic();
        const largest = { key: 'one', value: 'я'.repeat((MAX_RECORD_BYTES - 4) / 2) + 'x' };
        const larger = { ...largest, value: `${largest.value}x` };
        const outcomes = await Promise.allSettled([
          log.append(topic, [record('one', 1)]),
          log.append(topic, [...KEYS.map((key) => record(key, 0)), larger]),
          log.append(topic, [record('one', 2)]),
          log.append(topic, [largest]),
          log.append(topic, [record('one', 3)]),
        ]);
        expect(outcomes.map(({ status }) => status)).toEqual([
          'fulfilled',
          'rejected',
          'fulfilled',
          'fulfilled',
          'fulfilled',
        ]);
        const refusal = outcomes.flatMap((outcome) =>
          outcome.status === 'rejected' ? [outcome.reason] : [],
        );
        expect(refusal[0]).toBeInstanceOf(RecordTooLarge);
        const seen = await collect('g');
        await until(async (saw) => saw(await lagOf('g')) === 0);
        expect(seen.records().map(({ value }) => value)).toEqual(['1', '2', largest.value, '3']);
      });
    });

    describe('groups', () => {
      test('a stuck handler stops neither other partitions nor other groups, and its batch is delivered again', async () => {
        await newTopic();
        const [stuck, free] = await keysOfTwoPartitions(log, topic);
        const seen: string[] = [];
        const consumer = await log.consume({
          topic,
          group: 'g',
          max_records: 100,
          linger_ms: 0,
          handle: async ({ records }) => {
            if (records.some((r) => r.key === stuck && r.value !== 'probe')) {
              seen.push('stuck');
              await new Promise(() => undefined);
            }
            seen.push(...records.filter((r) => r.key === free).map((r) => r.value));
          },
        });
        const other = await collect('other');
        await log.append(topic, [record(stuck, 1)]);
        await until(() => seen.includes('stuck'));
        for (const i of range(0, 20)) await log.append(topic, [record(free, i)]);
        await until(() => range(0, 20).every((i) => seen.includes(String(i))));
        await until(() => numbers(other.records(), stuck).includes(1));
        await consumer.close(200);
        await reopen();
        const again = await collect('g');
        await until(() => numbers(again.records(), stuck).includes(1));
        expect(numbers(again.records(), free)).toEqual([]);
      });

      test('members share the partitions, and no record is lost when a member joins or leaves', async () => {
        await newTopic();
        const first = await collect('g');
        const next = new Map(KEYS.map((key) => [key, 0]));
        const appendRound = async () => {
          await log.append(
            topic,
            KEYS.map((key) => record(key, next.get(key) ?? 0)),
          );
          for (const key of KEYS) next.set(key, (next.get(key) ?? 0) + 1);
        };
        await appendRound();
        await until((saw) => saw(first.records().length) >= KEYS.length);
        const second = await collect('g');
        await until(async () => {
          await appendRound();
          return second.batches.length > 3;
        });
        const handled_by_first = first.records().length;
        await until(async () => {
          await appendRound();
          return first.records().length > handled_by_first;
        });
        await first.consumer.close();
        const final_of_first = first.records().length;
        await appendRound();
        const total = KEYS.length * (next.get('player-0') ?? 0);
        const offsets = () => new Set([...first.batches, ...second.batches].flatMap(places));
        await until((saw) => saw(offsets().size) >= total);
        expect(offsets().size).toBe(total);
        expect(first.records()).toHaveLength(final_of_first);
        for (const { records } of [first, second]) {
          for (const key of KEYS) expect(numbers(records(), key)).toEqual(sorted(numbers(records(), key)));
        }
        await until(async (saw) => saw(await lagOf('g')) === 0);
      });

      test('a slow handler limits how far the consumer reads ahead', async () => {
        await newTopic();
        const value = 'x'.repeat(1_000);
        for (let i = 0; i < 60; i++) {
          await log.append(
            topic,
            range(0, 1_000).map(() => ({ key: 'one', value })),
          );
        }
        const before_bytes = usedBytes();
        let release: () => void = () => undefined;
        const gate = new Promise<void>((resolve) => (release = resolve));
        let count = 0;
        const sizes = new Set<number>();
        await log.consume({
          topic,
          group: 'g',
          max_records: 500,
          linger_ms: 0,
          handle: async ({ records }) => {
            sizes.add(records.length);
            await gate;
            count += records.length;
          },
        });
        await until((saw) => saw(sizes.size) > 0);
        // The handler is stuck. A second group has the time to read everything.
        const other = { count: 0 };
        await log.consume({
          topic,
          group: 'other',
          max_records: 5_000,
          linger_ms: 0,
          handle: async ({ records }) => void (other.count += records.length),
        });
        await until((saw) => saw(other.count) >= 60_000);
        // All 60,000 records would take over 100 MB. The garbage collector frees buffers a little later.
        await until((saw) => saw(usedBytes() - before_bytes) < 30 * 1024 * 1024);
        release();
        await until((saw) => saw(count) >= 60_000);
        expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
      });
    });

    describe('positions', () => {
      test('partitionOf names the partition that an append uses', async () => {
        await newTopic();
        for (const key of ['a', 'b', 'player:ä', 'project:0a1b-2c3d']) {
          const before = await log.endOffsets(topic);
          await log.append(topic, [{ key, value: '{}' }]);
          const grown = [...(await log.endOffsets(topic))].filter(([p, end]) => end !== before.get(p));
          expect(grown.map(([partition]) => partition)).toEqual([log.partitionOf(key, before.size)]);
        }
      });

      test('endOffsets, lag and read agree', async () => {
        await newTopic();
        await log.append(
          topic,
          range(0, 2_500).map((i) => record('one', i)),
        );
        const ends = await log.endOffsets(topic);
        expect(ends.size).toBe(4);
        const [partition, end] = [...ends].find(([, offset]) => offset > 0n) ?? [0, 0n];
        expect(end).toBe(2_500n);
        expect(await lagOf('never')).toBe(2_500);

        const batches: LogBatch[] = [];
        for await (const batch of log.read(topic, partition, 100n, 2_200n, 300)) batches.push(batch);
        expect(Math.max(...batches.map((batch) => batch.records.length))).toBeLessThanOrEqual(300);
        const records = batches.flatMap((batch) => batch.records);
        expect(records.map((r) => Number(r.offset))).toEqual(range(100, 2_200));
        expect(numbers(records, 'one')).toEqual(range(100, 2_200));
        expect(batches[0]).toMatchObject({ topic, partition });

        const beyond: LogBatch[] = [];
        for await (const batch of log.read(topic, partition, 2_490n, 9_999n)) beyond.push(batch);
        expect(beyond.flatMap((batch) => batch.records)).toHaveLength(10);
        for await (const batch of log.read(topic, partition, 2_500n, 9_999n)) expect(batch).toBeUndefined();
        for await (const batch of log.read(topic, partition, 0n, 2_500n, 10)) {
          expect(batch.records).toHaveLength(10);
          break;
        }
        expect(await lagOf('never')).toBe(2_500);
      });

      test('ensureTopics leaves existing topics as they are', async () => {
        await newTopic();
        await log.append(topic, [record('one', 1)]);
        await log.ensureTopics([topic]);
        expect([...(await log.endOffsets(topic)).values()].reduce((a, b) => a + b)).toBe(1n);
        await expect(log.append('never-made', [record('one', 1)])).rejects.toThrow(TypeError);
      });
    });

    test('without its engine an append is refused, and the log works again when the engine is back', async () => {
      await newTopic();
      await log.ping();
      const seen = await collect('g');
      await log.append(
        topic,
        range(0, 100).map((i) => record('one', i)),
      );
      await until((saw) => saw(seen.records().length) >= 100);
      await fixture.setAvailable(false);
      try {
        const flood = range(0, 300).map(() =>
          log.append(
            topic,
            range(0, 1_000).map((i) => record('flood', i)),
          ),
        );
        const outcomes = await Promise.allSettled(flood);
        for (const outcome of outcomes) {
          expect(outcome.status === 'rejected' ? outcome.reason : undefined).toBeInstanceOf(LogUnavailable);
        }
        await expect(log.ping()).rejects.toThrow();
      } finally {
        await fixture.setAvailable(true);
      }
      await until(() =>
        log.append(topic, [record('one', 100)]).then(
          () => true,
          () => false,
        ),
      );
      await until(() => numbers(seen.records(), 'one').includes(100));
      await log.append(topic, [record('one', 101)]);
      await until(() => numbers(seen.records(), 'one').includes(101));
      expect(new Set(numbers(seen.records(), 'one'))).toEqual(new Set(range(0, 102)));
      await log.ping();
    });
  });
}

/** Two keys that map to different partitions, found by appending. */
async function keysOfTwoPartitions(log: EventLog, topic: string): Promise<[string, string]> {
  const [first = '', ...others] = KEYS;
  await log.append(topic, [{ key: first, value: 'probe' }]);
  const [home] = [...(await log.endOffsets(topic))].find(([, end]) => end > 0n) ?? [];
  for (const key of others) {
    await log.append(topic, [{ key, value: 'probe' }]);
    const elsewhere = [...(await log.endOffsets(topic))].some(([p, end]) => p !== home && end > 0n);
    if (elsewhere) return [first, key];
  }
  throw new Error('every key lies in one partition');
}

/** A child process that handles one batch, reports it, and is killed before it can commit. */
async function handleAndDie(environment: Record<string, string>): Promise<string[]> {
  const child = spawn(process.execPath, ['dist/test/engines/log-child.js'], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await until(() => {
    if (child.exitCode !== null) throw new Error(`the child ended with ${child.exitCode}; was it built?`);
    return output.includes('\n');
  });
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  return JSON.parse(output) as string[];
}
