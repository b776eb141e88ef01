import { expect, it } from 'vitest';
import { verdictOn } from '../../../../src/engage/journeys/runs/event-where.ts';
import { excluded } from '../../../../src/segments/language/forms.ts';
import type { Where } from '../../../../src/engage/journeys/graph/shapes.ts';

const over500 = (property: string): Where => [
  {
    property,
    comparison: { negated: false, positive: { form: 'numbers', range: { low: excluded(500) } } },
  },
];

const verdict = (event: string, properties: Record<string, unknown>, base_amount: bigint | null = null) =>
  verdictOn(over500('amount'), { event, properties, base_amount, base_payout: null, received_at: 0 });

it('compares an amount in the base currency alone', () => {
  expect(verdict('bonus_claimed', { amount: 6_000 })).toBe(true);
  expect(verdict('bonus_claimed', { amount: 6_000, currency: 'KRW' }, 400n)).toBe(false);
  // Of this no rate was known: it is neither base money nor will it be.
  expect(verdict('bonus_claimed', { amount: 6_000, currency: 'KRW' })).toBe(false);
  expect(verdict('bonus_claimed', { amount: 6_000.5, currency: 'KRW' })).toBe(false);
  expect(verdict('bonus_claimed', { amount: 6_000.5 })).toBe(true);
  const deposit = { amount: 6_000, currency: 'KRW', transaction_id: 't' };
  expect(verdict('deposit_confirmed', deposit)).toBeUndefined();
  expect(verdict('deposit_confirmed', deposit, 600n)).toBe(true);
});

it('waits for no rate of an amount that the ledger does not have', () => {
  const properties = { bet_id: 'b', amount: 10, payout: 6_000, currency: 'KRW' };
  const bet = { event: 'bet_placed', properties, base_amount: 1n, base_payout: null, received_at: 0 };
  expect(verdictOn(over500('payout'), bet)).toBe(false);
});
