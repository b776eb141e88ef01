import { expect, it } from 'vitest';
import { parseRecord } from '../../../src/ledger/fold/fold-event.ts';
import { replayOf } from '../../../src/ingest/events/envelope.ts';
import { batchStampFor, stampFor } from '../../../src/ingest/intake/accept.ts';
import type { ApiKeyPrincipal } from '../../../src/http/auth/api-key.ts';
import { newId } from '../../../src/platform/ids.ts';
import { eventAt, MemoryStore } from './model.ts';

// Everyone who reads a page can send any dedupe_id with its client key.

const PLAYER = '01900000-0000-7000-a000-000000000001';
const OTHER = '01900000-0000-7000-a000-000000000002';
const stores = () => {
  const store = new MemoryStore();
  store.identify('device', PLAYER);
  store.identify('other', OTHER);
  return store;
};
const sent = (event: string, anonymous_id: string) => ({
  event,
  anonymous_id,
  timestamp: '2026-05-01T12:00:00Z',
  properties: { dedupe_id: 'order-1' },
});

it.each(['custom_order_shipped', 'session_start'])(
  'a dedupe_id from a client key takes none of a server key: %s',
  (name) => {
    const store = stores();
    const of_client = (anonymous_id: string, offset: number) =>
      eventAt(sent(name, anonymous_id), offset, undefined, true);
    const first = store.fold([of_client('other', 0), eventAt(sent(name, 'device'), 1)]);
    expect(first.emission.rejections).toEqual([]);
    expect(first.emission.events.map(({ player_id }) => player_id)).toEqual([OTHER, PLAYER]);
    // Each of the two spaces has its ids once.
    const again = store.fold([
      eventAt(sent(name, 'device'), 2),
      of_client('other', 3),
      of_client('device', 4),
    ]);
    expect([again.duplicates, again.emission.events.length]).toEqual([2, 0]);
    expect(again.emission.rejections.map(({ reason }) => reason)).toEqual(['CONFLICTING_DUPLICATE']);
  },
);

it('the record says that a client key sent it, also the one that replays its letter; of a server key it is as before', () => {
  const ref = { tenant_id: newId(), project_id: newId(), key_id: newId(), environment: 'dev' };
  const keyOf = (kind: 'server' | 'client') => ({ ...ref, kind }) as ApiKeyPrincipal;
  expect(stampFor(keyOf('client'), 1)).toMatchObject({ from_client: true });
  expect(batchStampFor(keyOf('client'), 1, 'batch-1')).toMatchObject({ from_client: true });
  expect(Object.keys(stampFor(keyOf('server'), 1))).not.toContain('from_client');
  const event = eventAt(sent('custom_a', 'device'), 0, 1, true);
  expect(event.accepted).toMatchObject({ from_client: true, named: 'short' });
  const letter = {
    reason: 'CONFLICTING_DUPLICATE' as const,
    message: '',
    partition: 0,
    offset: '0',
    key: 'any',
    value: event.record.value,
    at_ms: 1,
  };
  const replayed = parseRecord({ offset: 1n, ...replayOf(letter) });
  expect(replayed).toMatchObject({ event: { event_key: event.event_key, sent_id: undefined } });
});
