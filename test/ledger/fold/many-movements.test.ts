import { expect, it } from 'vitest';
import { referenceKey } from '../../../src/ledger/fold/fold-event.ts';
import { replay } from '../../../src/ledger/fold/replay.ts';
import { MAX_ROWS_WITH_MOVEMENTS } from '../../../src/ledger/money/ledger.ts';
import { eventAt, MemoryStore, PROJECT_ID } from './model.ts';

const timestamp = '2026-03-01T12:00:00Z';
const win = (movement_id: string | undefined, at: string = timestamp) => ({
  event: movement_id === undefined ? 'sport_bet_settled' : 'bet_won',
  anonymous_id: 'device',
  timestamp: at,
  properties: {
    bet_id: 'table-7',
    payout: 5,
    currency: 'EUR',
    ...(movement_id !== undefined && { movement_id }),
  },
});

it('a reference takes no more movements than can be judged together, and other events as ever', () => {
  const store = new MemoryStore();
  store.identify('device', '01900000-0000-7000-a000-000000000001');
  const [first] = store.fold([eventAt(win('m0'), 0)]).effects.ledger_rows;
  if (first === undefined) throw new Error('nothing was booked');
  const rows = Array.from({ length: MAX_ROWS_WITH_MOVEMENTS }, (_, ordinal) => ({
    ...first,
    ordinal,
    movement_id: `m${ordinal}`,
    log_offset: BigInt(ordinal),
  }));
  store.ledger.set(referenceKey(PROJECT_ID, 'table-7'), rows.slice(0, -1));
  const at = MAX_ROWS_WITH_MOVEMENTS;
  const batch = [
    eventAt(win(`m${at - 1}`), at - 1),
    eventAt(win('one too many'), at),
    // Sent again it is a duplicate as before.
    eventAt(win('m7'), at + 1),
    eventAt(win(undefined), at + 2),
  ];
  const { emission, duplicates } = store.fold(batch);
  expect(emission.events.map(({ event }) => event)).toEqual(['bet_won', 'sport_bet_settled']);
  expect(emission.rejections.map(({ record, reason }) => [record.offset, reason])).toEqual([
    [BigInt(at), 'MALFORMED_RECORD'],
  ]);
  expect(emission.rejections[0]?.message).toMatch(/bet_won table-7: this id has 10000 events already/);
  expect(duplicates).toBe(1);
  const again = replay(batch, store.snapshot(), 0);
  expect(again.rejections).toEqual(emission.rejections);
  expect(again.events.map(({ event }) => event)).toEqual(['bet_won', 'sport_bet_settled']);
});
