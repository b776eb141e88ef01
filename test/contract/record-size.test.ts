import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeAccepted, encodePlayerEvent, type DeadLetter } from '../../src/ingest/events/envelope.ts';
import { AppendBatcher } from '../../src/ingest/intake/append-batcher.ts';
import {
  MAX_RECORD_BYTES,
  RecordTooLarge,
  type EventLog,
  type NewRecord,
} from '../../src/platform/event-log/port.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { newId } from '../../src/platform/ids.ts';

const BODY_BYTES = 1024 * 1024;
const id = newId();
const stamp = { ingestion_id: id, tenant_id: id, project_id: id, environment: 'prod', received_at_ms: 1 };

/** Bodies that grow most when they are serialised again: each has the largest size of a request. */
const growing = [
  '1e20,',
  '-1e20,',
  '"",',
  '"\\\\",',
  '"\\"",',
  '[],',
  '{"":0},',
  '"\\u0001",',
  '"ü",',
  '\n0,',
].map((piece) => {
  const times = Math.floor((BODY_BYTES - 100) / Buffer.byteLength(piece));
  return `{"event":"e","properties":{"list":[${piece.repeat(times)}0]}}`;
});

test.each(growing)('the record of an accepted body fits the size limit: %.50s', (body) => {
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(BODY_BYTES);
  const { properties } = JSON.parse(body) as { properties: Record<string, unknown> };
  const single = encodeAccepted(stamp, 0, body);
  const of_batch = encodeAccepted(stamp, 99, JSON.stringify(JSON.parse(body)));
  const emitted = encodePlayerEvent({
    ...stamp,
    event: 'e',
    player_id: id,
    occurred_at: 1,
    received_at: 1,
    event_index: 0,
    base_amount: null,
    base_payout: null,
    properties,
  });
  const letters = [single, of_batch].map((value) => {
    const letter: DeadLetter = {
      reason: 'POISON_RECORD',
      message: 'm'.repeat(1_000),
      partition: 0,
      offset: String(2n ** 63n),
      key: `${id}:${'k'.repeat(256)}`,
      value,
      at_ms: 1,
    };
    return JSON.stringify(letter);
  });
  for (const value of [single, of_batch, emitted, ...letters]) {
    expect(Buffer.byteLength(value) + 512).toBeLessThan(MAX_RECORD_BYTES);
  }
});

let appended: NewRecord[][];
let batcher: AppendBatcher;
let confirm: () => void;
beforeAll(() => {
  appended = [];
  const log = {
    append: (_topic: string, records: NewRecord[]) => {
      appended.push(records);
      return new Promise<void>((resolve) => (confirm = resolve));
    },
  };
  batcher = new AppendBatcher(log as unknown as EventLog, 'events', createMetrics());
});
afterAll(async () => batcher.drain());

test('a record that is too large fails only its own request, and joined appends are limited in bytes', async () => {
  const large = { key: 'k', value: 'x'.repeat(5 * 1024 * 1024) };
  const small = { key: 'k', value: '1' };
  const too_large = { key: 'k', value: 'ü'.repeat(MAX_RECORD_BYTES / 2) };
  const requests = [[small], [small, too_large], [large, large], [large], [large], [small]];
  const outcomes = Promise.allSettled(requests.map((records) => batcher.append(records)));
  for (let seen = 0; seen < 2;) {
    await new Promise((resolve) => setImmediate(resolve));
    if (appended.length > seen) {
      seen = appended.length;
      confirm();
    }
  }
  const settled = await outcomes;
  expect(settled.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
  const [, refused] = settled;
  expect(refused?.status === 'rejected' ? refused.reason : undefined).toBeInstanceOf(RecordTooLarge);
  expect(refused?.status === 'rejected' ? refused.reason : undefined).toBeInstanceOf(RangeError);
  expect(appended).toEqual([
    [small, large, large, large],
    [large, small],
  ]);
});
