import { expect, test } from 'vitest';
import { encodeAccepted, encodePlayerEvent, type DeadLetter } from '../../../src/ingest/events/envelope.ts';
import { MAX_RECORD_BYTES } from '../../../src/platform/event-log/port.ts';
import { newId } from '../../../src/platform/ids.ts';

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
