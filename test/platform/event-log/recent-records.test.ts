import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import type { EventLog, LogBatch, LogConsumer, NewRecord } from '../../../src/platform/event-log/port.ts';
import { openPostgresLog } from '../../../src/platform/event-log/postgres-log.ts';
import { RecentRecords } from '../../../src/platform/event-log/recent-records.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import type { Db } from '../../../src/platform/postgres/port.ts';
import { range, record, usedBytes } from '../../contract/log-records.ts';
import { runs } from '../../engines/effort.ts';
import type { TestPostgres } from '../../engines/shared-postgres.ts';
import { until } from '../../engines/until.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

test('has the records that were added last, without gaps', () => {
  const append = fc.record({
    records: fc.array(fc.record({ key: fc.string(), value: fc.string({ unit: 'binary' }) }), {
      minLength: 1,
      maxLength: 5,
    }),
    /** Offsets before it that this process did not give out. */
    gap: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: -3, max: 3 })),
    reads: fc.array(
      fc.record({ back: fc.integer({ min: -2, max: 12 }), limit: fc.integer({ min: 1, max: 9 }) }),
      { maxLength: 3 },
    ),
  });
  const property = fc.property(fc.array(append, { maxLength: 8 }), (appends) => {
    const recent = new RecentRecords();
    let end = 0n;
    let known: { offset: bigint; key: string; value: string }[] = [];
    for (const { records, gap, reads } of appends) {
      const first = end + BigInt(gap) < 0n ? end : end + BigInt(gap);
      if (first !== end) known = [];
      recent.add(first, records);
      known.push(...records.map((one, i) => ({ ...one, offset: first + BigInt(i) })));
      end = first + BigInt(records.length);
      // A text with the separator would be read as two.
      if (records.some(({ key, value }) => (key + value).includes('\u001e'))) known = [];
      for (const { back, limit } of reads) {
        const from = end - BigInt(back);
        const at = known.findIndex(({ offset }) => offset === from);
        expect(recent.read(from, end, limit)).toEqual(at === -1 ? undefined : known.slice(at, at + limit));
      }
    }
  });
  fc.assert(property, { numRuns: runs(500, { nightly: 20_000 }) });
});

const MIB = 1024 * 1024;
const small = (i: number, body: string): NewRecord => ({
  key: body.slice(i, i + 20),
  value: `{"event":${body.slice(i, i + 100)}}`,
});

test('keeps a bounded part in memory, and nothing of the bodies that records were cut from', async () => {
  const recent = new RecentRecords();
  const before = usedBytes();
  let end = 0n;
  for (const i of range(0, 300)) {
    // A body of its own: flat, and not shared.
    const body = Buffer.alloc(MIB, 97 + (i % 26)).toString();
    recent.add(end++, [small(i, body)]);
  }
  expect(recent.read(0n, end, 1_000)).toHaveLength(300);
  // The garbage collector frees buffers a little later.
  await until((saw) => saw(usedBytes() - before) < 8 * MIB);
  for (const i of range(0, 40)) {
    const records = range(0, 1_000).map((n) => ({ key: 'k', value: `${i} ${n} `.padEnd(1_000, 'x') }));
    recent.add(end, records);
    end += 1_000n;
  }
  expect(recent.read(0n, end, 1)).toBeUndefined();
  expect(recent.read(end - 4_000n, end, 5_000)).toHaveLength(4_000);
  await until((saw) => saw(usedBytes() - before) < 24 * MIB);
});

let server: TestPostgres;
let sql: Db;
let log: EventLog;
const topic = 'recent';
const open: LogConsumer[] = [];
beforeEach(async () => {
  server = await openTestPostgres({ prepared: true });
  sql = connectPool(server.url);
  log = await openPostgresLog({ sql, logger: createLogger('silent'), clock: systemClock });
  await log.ensureTopics([topic]);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((consumer) => consumer.close()));
  await log?.close();
  await sql?.end({ timeout: 5 });
  await server?.close();
});

/** A consumer whose batches wait at a gate, and what it was given. */
async function startGated(keys?: ReadonlySet<string>) {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const batches: LogBatch[] = [];
  const handle = async (batch: LogBatch) => {
    batches.push(batch);
    await gate;
  };
  const options = keys === undefined ? {} : { keys: () => Promise.resolve(keys) };
  const group = `g${open.length}`;
  open.push(await log.consume({ topic, group, max_records: 1_000, linger_ms: 0, handle, ...options }));
  const offsets = () => batches.flatMap(({ records }) => records.map(({ offset }) => Number(offset)));
  return { batches, offsets, release };
}

const append = (from: number, to: number) =>
  log.append(
    topic,
    range(from, to).map((i) => record(`key-${i % 10}`, i)),
  );

test('a consumer reads what was appended after it began from memory, another one from Postgres', async () => {
  await append(0, 10);
  const [all, some] = [await startGated(), await startGated(new Set(['key-3']))];
  await until((saw) => saw(all.offsets()).length === 10 && saw(some.offsets()).length > 0);
  await append(10, 50);
  // Were they read from Postgres, they would be missing now.
  await sql`delete from event_log.records where log_offset between 20 and 29`;
  all.release();
  some.release();
  await until((saw) => saw(all.offsets()).includes(49) && saw(some.offsets()).includes(49));
  expect(all.offsets()).toEqual(range(0, 50));
  expect(all.batches.flatMap(({ records }) => records.map(({ value }) => Number(value)))).toEqual(
    range(0, 50),
  );
  expect(some.offsets()).toEqual([0, 3, 9, 10, 13, 23, 33, 43, 49]);
  const later = await startGated();
  later.release();
  await until((saw) => saw(later.offsets()).includes(49));
  expect(later.offsets()).toEqual([...range(0, 20), ...range(30, 50)]);
});

test('a consumer whose batch failed begins anew, and so reads Postgres again', async () => {
  const seen: string[] = [];
  let fails = true;
  const handle = async ({ records }: LogBatch) => {
    if (fails) {
      fails = false;
      // As a database that was restored, which has other records behind the same offsets.
      await sql`update event_log.records set value = 'restored'`;
      throw new Error('not now');
    }
    seen.push(...records.map(({ value }) => value));
  };
  open.push(await log.consume({ topic, group: 'g', max_records: 10, linger_ms: 0, handle }));
  await append(0, 2);
  await until((saw) => saw(seen).length === 2);
  expect(seen).toEqual(['restored', 'restored']);
});

test('after an append without an answer nothing is taken from memory', async () => {
  const one = await startGated();
  await append(0, 10);
  await until((saw) => saw(one.offsets()).length > 0);
  await append(10, 20);
  // Postgres refuses the offset, which another statement has given out: it has one record more than this process knows of.
  await sql`
    insert into event_log.records (topic_id, partition, log_offset, key, value)
    select topic_id, 0, 20, 'k', '20' from event_log.topics where topic = ${topic}`;
  await expect(append(20, 21)).rejects.toThrow('did not confirm');
  await sql`update event_log.records set value = 'again' where log_offset >= 10`;
  await append(21, 22);
  one.release();
  await until((saw) => saw(one.offsets()).includes(21));
  expect(one.offsets()).toEqual(range(0, 22));
  const values = one.batches.flatMap(({ records }) => records.map(({ value }) => value));
  expect(values.slice(10)).toEqual([...range(10, 21).map(() => 'again'), '21']);
});
