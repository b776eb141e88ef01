import { expect, it } from 'vitest';
import type { ConsumeOptions, EventLog, LogBatch } from '../../../src/platform/event-log/port.ts';
import { RecordAges } from '../../../src/platform/event-log/record-ages.ts';

let now_ms = 0;

/** Record ages over a log whose only consumer receives its batches from the test. */
async function watched(handle: (batch: LogBatch) => Promise<void> = () => Promise.resolve()) {
  now_ms = 1_000_000;
  const ages = new RecordAges({ clock: { now_ms: () => now_ms }, receivedAt: Number });
  let given: (batch: LogBatch) => Promise<void> = () => Promise.reject(new Error('nobody consumes'));
  const log = {
    consume: (options: ConsumeOptions) => {
      given = (batch) => options.handle(batch);
      return Promise.resolve({ close: () => Promise.resolve() });
    },
  } as Partial<EventLog> as EventLog;
  await ages.watch(log).consume({ topic: 't', group: 'g', max_records: 10, linger_ms: 0, handle });
  return {
    give: (offset: bigint, ...received_ms: number[]) =>
      given({
        topic: 't',
        partition: 0,
        from: offset,
        records: received_ms.map((ms, i) => ({ offset: offset + BigInt(i), key: 'k', value: String(ms) })),
      }),
    waiting: (next_offset: bigint, end_offset: bigint) =>
      ages.waiting_ms('g', { partition: 0, next_offset, end_offset }),
  };
}

it('nothing waits at the end of the log', async () => {
  const { give, waiting } = await watched();
  await give(0n, now_ms - 500);
  expect(waiting(1n, 1n)).toBe(0);
});

it('the age is that of the first record in hand, also after its handler failed', async () => {
  const { give, waiting } = await watched(() => Promise.reject(new Error('away')));
  await give(0n, now_ms - 500, now_ms - 100).catch(() => undefined);
  expect(waiting(0n, 2n)).toBe(500);
  now_ms += 60_000;
  expect(waiting(0n, 2n)).toBe(60_500);
});

it('the age after a handled record is at most the age of that record, and at most the time since the log was last empty', async () => {
  const { give, waiting } = await watched();
  await give(0n, now_ms - 500);
  expect(waiting(1n, 5n)).toBe(500);
  expect(waiting(1n, 1n)).toBe(0);
  now_ms += 3_600_000;
  expect(waiting(1n, 1n)).toBe(0);
  now_ms += 15_000;
  expect(waiting(1n, 2n)).toBe(15_000);
});

it('the age of a record that this process never received counts from when it was first seen', async () => {
  const { give, waiting } = await watched();
  expect(waiting(3n, 9n)).toBe(0);
  now_ms += 10_000;
  expect(waiting(3n, 9n)).toBe(10_000);
  // Another process handles the records after these; the batch of this process no longer matters.
  await give(3n, now_ms - 500);
  now_ms += 10_000;
  expect(waiting(7n, 9n)).toBe(0);
});
