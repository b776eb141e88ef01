import { expect, it } from 'vitest';
import { LedgerRecomputation } from '../../src/reconcile/recompute.ts';
import { claimOf, type LedgerRow } from '../../src/ledger/money/ledger.ts';

const NOW_MS = Date.UTC(2026, 5, 10);
const HOUR_MS = 3_600_000;

/** Rows of one reference; times are in hours before now. */
function rowsOf(
  reference: string,
  events: [event: string, properties: object, hours: number][],
): LedgerRow[] {
  return events.map(([event, properties, hours], ordinal) => {
    const occurred_at_ms = NOW_MS - hours * HOUR_MS;
    const ids = { bet_id: reference, transaction_id: reference, currency: 'EUR' };
    const claim = claimOf(event, { ...ids, ...properties }, occurred_at_ms);
    if (claim === undefined) throw new Error(`${event} has no claim`);
    return {
      ...claim,
      base_amount: claim.amount,
      base_payout: claim.payout,
      base_bonus_stake: null,
      base_bonus_payout: null,
      scales: null,
      rate: null,
      tenant_id: 't',
      project_id: 'q',
      ordinal,
      player_id: 'p',
      occurred_at_ms,
      detail_hash: null,
      item: null,
      ingestion_id: 'i',
      event_index: 0,
      log_partition: 0,
      log_offset: 0n,
    };
  });
}

function listed(rows: readonly LedgerRow[]): string[] {
  const ledger = new LedgerRecomputation(NOW_MS);
  for (const row of rows) ledger.take(row);
  ledger.finish();
  expect(ledger.unmatched.count).toBe(ledger.unmatched.listed.length);
  return ledger.unmatched.listed.map(({ problem, reference }) => `${reference} ${problem}`);
}

it('lists voids and reversals whose original is missing after a day', () => {
  const rows = [
    rowsOf('a', [
      ['bet_voided', { movement_id: 'm' }, 25],
      ['bet_placed', { amount: 1, movement_id: 'k' }, 30],
    ]),
    rowsOf('b', [['bet_voided', { movement_id: 'm' }, 23]]),
    rowsOf('c', [
      ['bet_voided', { movement_id: 'm' }, 25],
      ['bet_placed', { amount: 1, movement_id: 'm' }, 26],
    ]),
    rowsOf('d', [['bet_voided', {}, 25]]),
    rowsOf('e', [
      ['bet_voided', {}, 25],
      ['bet_placed', { amount: 1 }, 26],
    ]),
    rowsOf('f', [
      ['sport_bet_voided', { movement_id: 'm' }, 25],
      ['sport_bet_placed', { amount: 1 }, 26],
    ]),
    rowsOf('g', [
      ['sport_bet_voided', {}, 25],
      ['sport_bet_reopened', {}, 24],
    ]),
    rowsOf('h', [['deposit_reversed', { amount: 1, reversal_id: 'r' }, 25]]),
    rowsOf('i', [['deposit_reversed', { amount: 1, reversal_id: 'r' }, 23]]),
    rowsOf('j', [
      ['withdrawal_reversed', { amount: 1, reversal_id: 'r' }, 25],
      ['withdrawal_confirmed', { amount: 1 }, 26],
    ]),
  ];
  expect(listed(rows.flat())).toEqual([
    'a void_without_original',
    'd void_without_original',
    'f void_without_original',
    'g void_without_original',
    'h reversal_without_original',
  ]);
});

it('lists movements that happened after the void of the whole bet', () => {
  const rows = [
    rowsOf('a', [
      ['bet_voided', {}, 2],
      ['bet_placed', { amount: 1, movement_id: 'm' }, 1],
    ]),
    rowsOf('b', [
      ['bet_voided', {}, 2],
      ['bet_placed', { amount: 1, movement_id: 'm' }, 3],
    ]),
  ];
  expect(listed(rows.flat())).toEqual(['a movement_after_void']);
});

it('lists no more than 1,000, and counts all', () => {
  const ledger = new LedgerRecomputation(NOW_MS);
  for (let i = 0; i < 1_001; i++)
    for (const row of rowsOf(`b-${i}`, [['bet_voided', {}, 25]])) ledger.take(row);
  ledger.finish();
  expect(ledger.unmatched).toMatchObject({ count: 1_001 });
  expect(ledger.unmatched.listed).toHaveLength(1_000);
});
