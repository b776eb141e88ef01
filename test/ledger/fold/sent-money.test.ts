import { describe, expect, it } from 'vitest';
import { decide } from '../../../src/ledger/fold/decide.ts';
import { replay } from '../../../src/ledger/fold/replay.ts';
import { referenceKey } from '../../../src/ledger/fold/fold-event.ts';
import { type Snapshot, conversionKey, requestFor } from '../../../src/ledger/fold/snapshot.ts';
import { eventAt, MemoryStore, PROJECT_ID, TENANT_ID } from './model.ts';

const PLAYER = '01900000-0000-7000-a000-000000000001';
const AT_MS = Date.UTC(2026, 4, 1, 12);
/** 1 USD = 0.5 EUR. Of KRW there is no rate. */
const RATE = { rate: '0.5', ts_ms: AT_MS, is_inverse: false, from_scale: 2, to_scale: 2 };

/** What the fold emits as the worth of an event with these properties: `[base_amount, base_payout]`. */
function worth(event: string, properties: Record<string, unknown>): (bigint | null)[] {
  const store = new MemoryStore();
  store.identify('device', PLAYER);
  const sent = { event, anonymous_id: 'device', timestamp: new Date(AT_MS).toISOString(), properties };
  const folded = eventAt(sent, 0);
  const conversions: Snapshot['conversions'] = new Map();
  for (const wanted of requestFor([folded], new Map([[TENANT_ID, 'EUR']])).conversions) {
    if (wanted.currency !== 'USD') continue;
    conversions.set(conversionKey(TENANT_ID, 'USD', wanted.occurred_at_ms), RATE);
  }
  const snapshot = { ...store.snapshot(), conversions };
  const { effects, emission } = decide([folded], snapshot, { newId: () => PLAYER, partition: 0 });
  const { events } = emission;
  // After a crash the same is emitted again.
  const ledger: Snapshot['ledger'] = new Map();
  for (const row of effects.ledger_rows) ledger.set(referenceKey(PROJECT_ID, row.reference), [row]);
  expect(replay([folded], { ...snapshot, ledger }, 0).events).toEqual(events);
  return [events[0]?.base_amount ?? null, events[0]?.base_payout ?? null];
}

describe('the amounts of an event that is not in the ledger', () => {
  it.each([
    ['a currency with a rate', { amount: 600, currency: 'USD' }, [300n, null]],
    ['digits', { amount: '90071992547409930', currency: 'USD' }, [45035996273704965n, null]],
    ['the base currency', { amount: 600, payout: 7, currency: 'EUR' }, [600n, 7n]],
    ['a currency without a rate', { amount: 600, currency: 'KRW' }, [null, null]],
    ['nothing in a currency without a rate', { amount: 0, currency: 'KRW' }, [0n, null]],
    ['no currency', { amount: 600 }, [null, null]],
    ['a currency that is no text', { amount: 600, currency: 7 }, [null, null]],
    ['what is no whole number', { amount: 12.5, payout: -3, currency: 'USD' }, [null, null]],
    ['more than 64 bits', { amount: '9223372036854775808', currency: 'EUR' }, [null, null]],
  ])('are in the base currency, of %s', (_, properties, expected) => {
    for (const event of ['bonus_claimed', 'deposit_limit_set', 'custom_jackpot_won', 'deposit_failed'])
      expect(worth(event, properties)).toEqual(expected);
  });

  it('do not fill what the ledger does not have of its own events', () => {
    const bet = {
      bet_id: 'b',
      game_id: 'g',
      game_category: 'slots',
      amount: 600,
      payout: 7,
      currency: 'EUR',
    };
    expect(worth('bet_placed', bet)).toEqual([600n, null]);
  });
});
