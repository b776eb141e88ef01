import { describe, expect, it } from 'vitest';
import { findEventProblem } from '../../../src/ingest/events/validate.ts';
import { byKind, effectOf } from '../../../src/ledger/money/counting.ts';
import { inBase, type Conversions } from '../../../src/ledger/money/conversion.ts';
import { claimOf, judgeClaim, type LedgerRow } from '../../../src/ledger/money/ledger.ts';
import { TotalsAccumulator, type Sum } from '../../../src/ledger/money/totals.ts';

// The worked examples of feeds.md 3, by their numbers: each in every order, and with every event repeated.

interface Sent {
  event: string;
  properties: Record<string, unknown>;
  at_ms: number;
  conversion: Conversions;
}

const REFERENCE = 'r';
let clock_ms = 0;

/** An event at a time of its own, in the base currency if nothing else is said. */
function send(event: string, properties: Record<string, unknown> = {}, rest: Partial<Sent> = {}): Sent {
  clock_ms += 1_000;
  const id = /^(deposit|withdrawal|balance)/.test(event) ? 'transaction_id' : 'bet_id';
  return {
    event,
    properties: { [id]: REFERENCE, currency: 'EUR', ...properties },
    at_ms: clock_ms,
    conversion: 'same',
    ...rest,
  };
}

const placed = (amount: number, movement_id?: string, rest = {}) =>
  send('bet_placed', { amount, ...(movement_id && { movement_id }), ...rest });
const won = (payout: number, movement_id?: string) =>
  send('bet_won', { payout, ...(movement_id && { movement_id }) });
const lost = () => send('bet_lost');
const settled = (amount: number, payout: number, rest = {}) =>
  send('bet_settled', { amount, payout, ...rest });
const voided = (movement_id?: string) => send('bet_voided', { ...(movement_id && { movement_id }) });
const sport = (amount: number) => send('sport_bet_placed', { amount });
const sportSettled = (payout: number) => send('sport_bet_settled', { payout });
const cashOut = (payout: number, movement_id: string) => send('sport_cashout', { payout, movement_id });
const sportVoided = (movement_id?: string) =>
  send('sport_bet_voided', { ...(movement_id && { movement_id }) });
const reopened = () => send('sport_bet_reopened');
const deposit = (amount: number, rest = {}, more: Partial<Sent> = {}) =>
  send('deposit_confirmed', { amount, ...rest }, more);
const reversed = (amount: number, reversal_id = 'r', rest = {}, more: Partial<Sent> = {}) =>
  send('deposit_reversed', { amount, reversal_id, ...rest }, more);
const rate = (of: string): Conversions => ({
  rate: of,
  ts_ms: 0,
  is_inverse: false,
  from_scale: 2,
  to_scale: 2,
});

/** Sends events in this order; the sums of the one player, and how many were conflicts. */
function fold(events: readonly Sent[]): { sums: Partial<Record<Sum, bigint>>; conflicts: number } {
  const rows: LedgerRow[] = [];
  let conflicts = 0;
  for (const { event, properties, at_ms, conversion } of events) {
    const claim = claimOf(event, properties, at_ms);
    if (claim === undefined) throw new Error(`${event} has no claim`);
    const of_reference = rows.filter(({ reference }) => reference === claim.reference);
    const verdict = judgeClaim(claim, 'p', of_reference);
    if (verdict === 'conflict') conflicts++;
    if (verdict !== 'new') continue;
    const base = inBase(claim, conversion);
    const scales = base.rate === null ? null : { from_scale: 2, to_scale: 2 };
    rows.push({
      ...claim,
      ...base,
      scales,
      tenant_id: 't',
      project_id: 'q',
      ordinal: of_reference.length,
      player_id: 'p',
      occurred_at_ms: at_ms,
      detail_hash: 0,
      item: null,
      ingestion_id: 'i',
      event_index: 0,
      log_partition: 0,
      log_offset: BigInt(rows.length),
    });
  }
  const totals = new TotalsAccumulator();
  for (const reference of new Set(rows.map((row) => row.reference)))
    for (const [kind, of_kind] of byKind(rows.filter((row) => row.reference === reference)))
      for (const delta of effectOf(kind, of_kind).deltas) totals.add(delta);
  const sums = Object.entries(totals.of('p')).filter(([, sum]) => sum !== 0n);
  return { sums: Object.fromEntries(sums), conflicts };
}

function* permutations<T>(list: readonly T[]): Generator<T[]> {
  if (list.length <= 1) yield [...list];
  for (const [i, first] of list.entries())
    for (const rest of permutations([...list.slice(0, i), ...list.slice(i + 1)])) yield [first, ...rest];
}

type Want = Partial<Record<'W' | 'P' | 'n' | 'BW' | 'BP' | 'D' | 'O' | 'C' | 'B', number>>;
const NAMES = {
  W: 'total_wagered',
  P: 'total_won',
  n: 'bet_count',
  BW: 'total_bonus_wagered',
  BP: 'total_bonus_won',
  D: 'total_deposited',
  O: 'total_withdrawn',
  C: 'total_credited',
  B: 'total_debited',
} as const satisfies Record<keyof Want, Sum>;

const EXAMPLES: readonly [number, string, Sent[], Want][] = [
  [1, 'two wins of a round', [placed(100, 'a'), won(200, 'b'), won(300, 'c')], { W: 100, P: 500, n: 1 }],
  [2, 'two equal wins', [won(200, 'b'), won(200, 'c')], { P: 400, n: 1 }],
  [3, 'two equal stakes', [placed(100, 'a'), placed(100, 'b')], { W: 200, n: 1 }],
  [4, 'two stakes', [placed(100, 'a'), placed(50, 'b')], { W: 150, n: 1 }],
  [5, 'lost, then a win', [placed(100), lost(), won(70, 'b')], { W: 100, P: 70, n: 1 }],
  [6, 'a jackpot', [placed(100, 'a'), won(200, 'b'), won(100_000, 'j')], { W: 100, P: 100_200, n: 1 }],
  [7, 'a win sent twice', [placed(100, 'a'), won(250, 'b')], { W: 100, P: 250, n: 1 }],
  [
    9,
    'a settlement that agrees',
    [won(200, 'b'), won(300, 'c'), settled(100, 500)],
    { W: 100, P: 500, n: 1 },
  ],
  [
    10,
    'a settlement that differs',
    [won(200, 'b'), won(300, 'c'), settled(100, 400)],
    { W: 100, P: 500, n: 1 },
  ],
  [11, 'a stake rolled back', [placed(100, 'a'), voided('a')], {}],
  [13, 'a win rolled back', [placed(100, 'a'), won(250, 'b'), voided('b')], { W: 100, n: 1 }],
  [14, 'a lost bet that is voided', [placed(100), lost(), voided()], {}],
  [15, 'a stake after the void', [placed(100, 'a'), voided(), placed(100, 'c')], {}],
  [
    16,
    'the stake of a won bet rolled back',
    [placed(100, 'a'), won(250, 'b'), voided('a')],
    { P: 250, n: 1 },
  ],
  [
    17,
    'bonus parts',
    [placed(1_000, undefined, { bonus_stake: 400 }), settled(1_000, 1_500, { bonus_payout: 600 })],
    { W: 1_000, P: 1_500, n: 1, BW: 400, BP: 600 },
  ],
  [
    18,
    'a free bet that is paid',
    [placed(1_000, undefined, { bonus_stake: 1_000 }), won(1_000)],
    { W: 1_000, P: 1_000, n: 1, BW: 1_000 },
  ],
  [
    19,
    'a free bet that is lost',
    [placed(1_000, undefined, { bonus_stake: 1_000 }), lost()],
    { W: 1_000, n: 1, BW: 1_000 },
  ],
  [20, 'a free round', [placed(0), won(700)], { P: 700, n: 1 }],
  [
    22,
    'a bonus part in another currency',
    [send('bet_placed', { amount: 1_000, bonus_stake: 333, currency: 'USD' }, { conversion: rate('0.9') })],
    { W: 900, n: 1, BW: 300 },
  ],
  [
    23,
    'a partial cash-out',
    [sport(1_000), cashOut(300, 'm'), sportSettled(900)],
    { W: 1_000, P: 1_200, n: 1 },
  ],
  [24, 'two cash-outs', [cashOut(300, 'm'), cashOut(200, 'k')], { P: 500, n: 1 }],
  [25, 'a cash-out that is settled later', [cashOut(1_500, 'm'), sportSettled(0)], { P: 1_500, n: 1 }],
  [26, 'reopened', [sport(1_000), sportSettled(1_900), reopened()], { W: 1_000, n: 1 }],
  [27, 'settled anew', [sport(1_000), sportSettled(1_900), reopened(), sportSettled(0)], { W: 1_000, n: 1 }],
  [
    28,
    'a void that is taken back',
    [sport(1_000), sportVoided(), reopened(), sportSettled(2_500)],
    { W: 1_000, P: 2_500, n: 1 },
  ],
  [29, 'a half void', [sport(1_000), sportSettled(1_475)], { W: 1_000, P: 1_475, n: 1 }],
  [30, 'a push', [placed(1_000), settled(1_000, 1_000, { outcome: 'push' })], { W: 1_000, P: 1_000, n: 1 }],
  [31, 'a cash-out undone', [cashOut(300, 'm'), sportVoided('m'), sportSettled(1_900)], { P: 1_900, n: 1 }],
  [32, 'a bet with a cash-out voided', [cashOut(300, 'm'), sportVoided()], {}],
  [33, 'a chargeback', [deposit(5_000), reversed(5_000)], {}],
  [34, 'a reversal that comes first', [reversed(2_000), deposit(5_000)], { D: 3_000 }],
  [
    35,
    'by the rate of the deposit',
    [
      deposit(10_000, { currency: 'USD' }, { conversion: rate('0.90') }),
      reversed(4_000, 'r', { currency: 'USD' }, { conversion: rate('0.95') }),
    ],
    { D: 5_400 },
  ],
  [36, 'two reversals', [deposit(5_000), reversed(2_000, 'r'), reversed(1_000, 'q')], { D: 2_000 }],
  [
    37,
    'a dispute that is won',
    [deposit(5_000), reversed(2_000, 'r'), reversed(1_000, 'q'), reversed(0, 'r')],
    { D: 4_000 },
  ],
  [38, 'more than the deposit', [deposit(5_000), reversed(6_000)], {}],
  [
    39,
    'a reversal in another currency',
    [deposit(5_000), reversed(5_000, 'r', { currency: 'USD' }, { conversion: rate('0.9') })],
    { D: 5_000 },
  ],
  [
    40,
    'a withdrawal that is returned',
    [
      send('withdrawal_confirmed', { amount: 8_000 }),
      send('withdrawal_reversed', { amount: 8_000, reversal_id: 'r' }),
    ],
    {},
  ],
  [
    41,
    'a higher capture',
    [deposit(5_000, { transaction_id: 'x' }), deposit(200, { transaction_id: 'x:2' })],
    { D: 5_200 },
  ],
  [
    42,
    'cashback and a fee',
    [
      placed(5_000),
      lost(),
      send('balance_credited', { amount: 1_000, reason: 'cashback' }),
      send('balance_debited', { amount: 200, reason: 'fee' }),
    ],
    { W: 5_000, n: 1, C: 1_000, B: 200 },
  ],
  [43, 'a correction', [send('balance_credited', { amount: 500, reason: 'correction' })], {}],
  [
    44,
    'one number of two payment providers',
    [deposit(1_000, { transaction_id: 'p1:77' }), deposit(1_000, { transaction_id: 'p2:77' })],
    { D: 2_000 },
  ],
  [
    47,
    'settled and reopened at one time',
    [
      send('sport_bet_settled', { payout: 900 }, { at_ms: 5_000 }),
      send('sport_bet_reopened', {}, { at_ms: 5_000 }),
    ],
    { P: 900, n: 1 },
  ],
];

describe('an example of feeds.md', () => {
  it.each(EXAMPLES)('%i: %s, in every order and repeated', (_, __, events, want) => {
    const expected = Object.fromEntries(
      Object.entries(want).map(([name, sum]) => [NAMES[name as keyof Want], BigInt(sum)]),
    );
    for (const order of permutations(events)) {
      const names = order.map(({ event }) => event).join(', ');
      expect(fold(order).sums, names).toEqual(expected);
      expect(fold([...order, ...order]).sums, `${names}, repeated`).toEqual(expected);
      expect(fold(order.flatMap((one) => [one, one])).sums, `${names}, each twice`).toEqual(expected);
    }
  });

  it('8: another payout of one movement is a conflict', () => {
    const { sums, conflicts } = fold([won(250, 'b'), won(300, 'b')]);
    expect(sums).toEqual({ total_won: 250n, bet_count: 1n });
    expect(conflicts).toBe(1);
  });

  it('21: a bonus part that is larger than its whole is refused', () => {
    const { event, properties } = placed(1_000, undefined, { bonus_stake: 1_200 });
    const details = { game_id: 'book', game_category: 'slots' };
    const problemOf = (more: object) =>
      findEventProblem(
        { event, anonymous_id: 'p', properties: { ...properties, ...details, ...more } },
        { now_ms: clock_ms, hasCurrency: () => true },
      );
    expect(problemOf({})).toMatchObject({ code: 'PROPERTIES_INVALID', path: 'properties.bonus_stake' });
    expect(problemOf({ bonus_stake: 1_000 })).toBeUndefined();
  });

  it('49: who begins to send movement_id and repeats its history doubles nothing', () => {
    const at_ms = 5_000;
    const first = send('bet_placed', { amount: 100 }, { at_ms });
    const again = send('bet_placed', { amount: 100, movement_id: 'a' }, { at_ms });
    for (const order of permutations([first, again, won(200, 'b')]))
      expect(fold(order).sums).toEqual({ total_wagered: 100n, total_won: 200n, bet_count: 1n });
  });

  it('39: a reversal in another currency is a conflict once its deposit is known', () => {
    const usd = reversed(5_000, 'r', { currency: 'USD' }, { conversion: rate('0.9') });
    const eur = deposit(5_000);
    expect(fold([eur, usd]).conflicts).toBe(1);
    expect(fold([usd, eur]).conflicts).toBe(0);
    expect(fold([usd, eur, usd]).conflicts).toBe(1);
  });
});
