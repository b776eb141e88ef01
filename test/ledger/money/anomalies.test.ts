import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anomaliesOf, type Anomalies } from '../../../src/ledger/money/anomalies.ts';
import { effectOf } from '../../../src/ledger/money/counting.ts';
import { claimOf, judgeClaim, moneyKindOf, type LedgerRow } from '../../../src/ledger/money/ledger.ts';
import { runs } from '../../engines/effort.ts';

interface Sent {
  event: string;
  properties: Record<string, unknown>;
  at_ms: number;
}

let clock_ms = 0;
const at = (at_ms: number, event: string, properties: Record<string, unknown> = {}): Sent => ({
  event,
  properties: { bet_id: 'r', transaction_id: 'r', currency: 'EUR', ...properties },
  at_ms,
});
const next = (event: string, properties: Record<string, unknown> = {}) =>
  at((clock_ms += 1_000), event, properties);
const placed = (amount: number, movement_id?: string) => next('bet_placed', { amount, movement_id });
const won = (payout: number, movement_id?: string) => next('bet_won', { payout, movement_id });
const settled = (amount: number, payout: number) => next('bet_settled', { amount, payout });
const voided = (movement_id?: string) => next('bet_voided', { movement_id });
const deposit = (amount: number) => next('deposit_confirmed', { amount });
const reversed = (amount: number, reversal_id = 'r') => next('deposit_reversed', { amount, reversal_id });

function rowsOf(events: readonly Sent[]): LedgerRow[] {
  const rows: LedgerRow[] = [];
  for (const { event, properties, at_ms } of events) {
    const claim = claimOf(event, properties, at_ms);
    if (claim === undefined) throw new Error(`${event} has no claim`);
    if (judgeClaim(claim, 'p', rows) !== 'new') continue;
    const { amount, payout, bonus_stake, bonus_payout } = claim;
    rows.push({
      ...claim,
      base_amount: amount,
      base_payout: payout,
      base_bonus_stake: bonus_stake,
      base_bonus_payout: bonus_payout,
      rate: null,
      scales: null,
      tenant_id: 't',
      project_id: 'q',
      ordinal: rows.length,
      player_id: 'p',
      occurred_at_ms: at_ms,
      detail_hash: null,
      item: null,
      ingestion_id: 'i',
      event_index: 0,
      log_partition: 0,
      log_offset: BigInt(rows.length),
    });
  }
  return rows;
}

function of(rows: readonly LedgerRow[]): Anomalies {
  const kind = moneyKindOf(rows[0]?.event ?? '') ?? 'casino';
  return anomaliesOf(kind, rows, effectOf(kind, rows));
}
const after = (...events: Sent[]) => of(rowsOf(events));

describe('a bet whose movements differ from its settlement', () => {
  it.each([
    ['the payouts', [won(200, 'b'), won(300, 'c'), settled(100, 400)], 1],
    ['equal payouts', [won(200, 'b'), won(300, 'c'), settled(100, 500)], 0],
    ['a later movement that resolves it', [won(200, 'b'), settled(100, 500), won(300, 'c')], 1],
    ['the stakes', [placed(100, 'a'), placed(50, 'b'), settled(100, 0)], 1],
    ['equal stakes, and payouts without movements', [placed(100, 'a'), settled(100, 0), won(0)], 0],
    ['no movements', [placed(90), settled(100, 400)], 0],
    ['a payout that is rolled back', [won(200, 'b'), settled(0, 200), voided('b')], 1],
    ['a payout rolled back before', [won(200, 'b'), won(50, 'c'), voided('b'), settled(0, 50)], 0],
    ['a rollback that comes first', [voided('b'), won(50, 'c'), won(200, 'b'), settled(0, 50)], 0],
    ['a void of the whole bet before', [voided(), won(200, 'b'), settled(0, 0)], 0],
    ['a void of the whole bet after', [won(200, 'b'), settled(0, 0), voided()], 1],
    ['a plain payout, which is added', [won(200, 'b'), next('bet_lost'), settled(0, 200)], 0],
    [
      'another currency',
      [next('bet_won', { payout: 5, movement_id: 'b', currency: 'USD' }), settled(0, 5)],
      1,
    ],
    [
      'a twin',
      [at(5, 'bet_won', { payout: 70 }), at(5, 'bet_won', { payout: 70, movement_id: 'b' }), settled(0, 70)],
      0,
    ],
  ])('is counted once: %s', (_, events, count) => {
    expect(after(...events).total_mismatches).toBe(count);
  });
});

describe('reversals', () => {
  it.each([
    ['of all of it', [deposit(5_000), reversed(5_000)], 0],
    ['above it', [deposit(5_000), reversed(6_000)], 1],
    ['above it, before it', [reversed(6_000), deposit(5_000)], 1],
    ['together above it', [deposit(5_000), reversed(3_000, 'a'), reversed(3_000, 'b')], 1],
    ['above it twice', [deposit(5_000), reversed(6_000), reversed(0), reversed(6_000)], 2],
    [
      'in another currency',
      [deposit(5), next('deposit_reversed', { amount: 9, reversal_id: 'r', currency: 'USD' })],
      0,
    ],
    ['without a deposit', [reversed(6_000)], 0],
  ])('are counted when they exceed the original: %s', (_, events, count) => {
    expect(after(...events).above_original).toBe(count);
  });

  it.each([
    ['a dispute that is won', [deposit(9), reversed(2), reversed(0)], 0],
    ['an amount of before', [deposit(9), reversed(2), reversed(0), reversed(2)], 1],
    ['of another reversal', [deposit(9), reversed(2, 'a'), reversed(0, 'b'), reversed(2, 'b')], 0],
    ['another amount', [deposit(9), reversed(2), reversed(0), reversed(3)], 0],
    [
      'in any order',
      [
        at(3, 'deposit_reversed', { amount: 2, reversal_id: 'r' }),
        at(1, 'deposit_reversed', { amount: 2, reversal_id: 'r' }),
        at(2, 'deposit_reversed', { amount: 0, reversal_id: 'r' }),
      ],
      1,
    ],
  ])('are counted when they go back after 0: %s', (_, events, count) => {
    expect(after(...events).reopened).toBe(count);
  });
});

it('counts rows that repeat a movement without its id', () => {
  const plain = at(5, 'bet_placed', { amount: 100 });
  const moved = at(5, 'bet_placed', { amount: 100, movement_id: 'a' });
  expect(after(plain, moved, won(200, 'b')).twins).toBe(1);
  expect(after(moved, plain).twins).toBe(1);
  expect(after(plain, placed(100, 'b')).twins).toBe(0);
});

it('counts movements after the void of the whole bet', () => {
  expect(after(placed(100, 'a'), voided(), placed(100, 'c')).after_void).toBe(1);
  const [early, whole] = [placed(100, 'a'), voided()];
  expect(after(whole, early).after_void).toBe(0);
  expect(after(placed(100, 'a'), voided('a'), placed(100, 'c')).after_void).toBe(0);
});

describe('of random rows', () => {
  const moment = fc.nat(3);
  const movement_id = fc.constantFrom(undefined, 'a', 'b');
  const amount = fc.nat(2);
  const currency = fc.constantFrom('EUR', 'EUR', 'USD');
  const bet = fc
    .record({
      event: fc.constantFrom('bet_placed', 'bet_won', 'bet_lost', 'bet_settled', 'bet_voided'),
      moment,
      movement_id,
      amount,
      currency,
    })
    .map(({ event, moment, movement_id, amount, currency }) =>
      at(moment, event, {
        amount,
        payout: amount,
        currency,
        movement_id: event === 'bet_voided' ? (movement_id ?? 'a') : movement_id,
      }),
    );
  const transaction = fc
    .record({
      event: fc.constantFrom('deposit_confirmed', 'deposit_reversed'),
      moment,
      reversal_id: fc.constantFrom('a', 'b'),
      amount,
      currency,
    })
    .map(({ moment, event, ...rest }) => at(moment, event, rest));

  it('never takes back what it counted', () => {
    fc.assert(
      fc.property(fc.oneof(fc.array(bet), fc.array(transaction)), (events) => {
        const rows = rowsOf(events);
        for (let n = 1; n < rows.length; n++) {
          const [before, then] = [of(rows.slice(0, n)), of(rows.slice(0, n + 1))];
          for (const [name, count] of Object.entries(before))
            expect(then[name as keyof Anomalies]).toBeGreaterThanOrEqual(count);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  it('counts a bet as its effect adds up', () => {
    /** The definition, from what the effect counts of all rows so far. */
    const differs = (rows: readonly LedgerRow[]) => {
      const settlement = rows.find(({ event }) => event === 'bet_settled');
      const { counts } = effectOf('casino', rows);
      const live = (events: string[]) => [...counts.keys()].filter(({ event }) => events.includes(event));
      const has = (name: string) => rows.some((row) => row.event === name && row.movement_id !== null);
      const isSum = (amounts: [bigint | null, string | null][], total: bigint | null) =>
        amounts.reduce((sum, [one]) => sum + (one ?? 0n), 0n) === total &&
        amounts.every(([one, of]) => one === 0n || of === settlement?.currency);
      if (settlement === undefined) return false;
      const stakes = live(['bet_placed']).map((row): [bigint | null, string | null] => [
        row.amount,
        row.currency,
      ]);
      const payouts = live(['bet_won', 'bet_lost']).map((row): [bigint | null, string | null] => [
        row.payout,
        row.currency,
      ]);
      return (
        (has('bet_placed') && !isSum(stakes, settlement.amount)) ||
        (has('bet_won') && !isSum(payouts, settlement.payout))
      );
    };
    fc.assert(
      fc.property(fc.array(bet, { minLength: 1 }), (events) => {
        const rows = rowsOf(events);
        const ever = rows.some((_, i) => differs(rows.slice(0, i + 1)));
        expect(of(rows).total_mismatches).toBe(ever ? 1 : 0);
      }),
      { numRuns: runs(1_000) },
    );
  });

  it('counts reversals above the original as their effect does', () => {
    fc.assert(
      fc.property(fc.array(transaction, { minLength: 1 }), (events) => {
        const rows = rowsOf(events);
        const above = rows.map((_, i) => exceeds(rows.slice(0, i + 1)));
        expect(of(rows).above_original).toBe(above.filter((is, i) => is && above[i - 1] !== true).length);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

function exceeds(rows: readonly LedgerRow[]): boolean {
  const original = rows.find(({ event }) => event === 'deposit_confirmed');
  if (original?.amount == null) return false;
  const latest = new Map(
    rows
      .filter(({ event, currency }) => event === 'deposit_reversed' && currency === original.currency)
      .toSorted((a, b) => a.occurrence - b.occurrence)
      .map(({ movement_id, amount }) => [movement_id, amount ?? 0n]),
  );
  return [...latest.values()].reduce((sum, amount) => sum + amount, 0n) > original.amount;
}
