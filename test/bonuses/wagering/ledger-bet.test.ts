import { describe, expect, it } from 'vitest';
import { ledgerBet } from '../../../src/bonuses/wagering/ledger-bet.ts';
import { isCounting } from '../../../src/bonuses/wagering/rules.ts';
import { betKindOf, claimOf, type LedgerRow } from '../../../src/ledger/money/ledger.ts';

interface Sent {
  event: string;
  properties: Record<string, unknown>;
  at_ms: number;
  player_id: string;
}

let clock_ms = 1_000;

function send(event: string, properties: Record<string, unknown> = {}, player_id = 'p'): Sent {
  clock_ms += 1_000;
  return { event, properties: { bet_id: 'b', currency: 'EUR', ...properties }, at_ms: clock_ms, player_id };
}
const placed = (amount: number, movement_id?: string, rest = {}) =>
  send('bet_placed', { amount, movement_id, ...rest });
const won = (payout: number, movement_id?: string) => send('bet_won', { payout, movement_id });
const settled = (amount: number, payout: number, outcome: string) =>
  send('bet_settled', { amount, payout, outcome });
const voided = (movement_id?: string) => send('bet_voided', { movement_id });
const sport = (amount: number) => send('sport_bet_placed', { amount });
const sportSettled = (payout: number) => send('sport_bet_settled', { payout });
const cashOut = (payout: number, movement_id?: string) => send('sport_cashout', { payout, movement_id });
const sportVoided = (movement_id?: string) => send('sport_bet_voided', { movement_id });
const reopened = () => send('sport_bet_reopened');

function rowOf({ event, properties, at_ms, player_id }: Sent, ordinal: number): LedgerRow {
  const claim = claimOf(event, properties, at_ms);
  if (claim === undefined) throw new Error(`${event} has no claim`);
  const { amount: base_amount, payout: base_payout } = claim;
  return {
    ...claim,
    tenant_id: 't',
    project_id: 'q',
    ordinal,
    player_id,
    occurred_at_ms: at_ms,
    base_amount,
    base_payout,
    base_bonus_stake: claim.bonus_stake,
    base_bonus_payout: claim.bonus_payout,
    scales: null,
    rate: null,
    detail_hash: 0,
    item: null,
    ingestion_id: 'i',
    event_index: 0,
    log_partition: 0,
    log_offset: BigInt(ordinal),
  };
}

function* permutations<T>(list: readonly T[]): Generator<T[]> {
  if (list.length <= 1) yield [...list];
  for (const [i, first] of list.entries())
    for (const rest of permutations([...list.slice(0, i), ...list.slice(i + 1)])) yield [first, ...rest];
}

/** The bet as wagering reads it; `wagered`: what of its stake counts. It fails when the order of the events matters. */
function betOf(...events: Sent[]) {
  const kind = betKindOf(events[0]?.event ?? '') ?? 'casino';
  const found = [...permutations(events)].map((order) => {
    const bet = ledgerBet(kind, order.map(rowOf));
    return bet && { ...bet, wagered: isCounting(bet) ? bet.stake : 0n };
  });
  for (const bet of found) expect(bet).toEqual(found[0]);
  return found[0];
}

describe('the stake of a casino bet', () => {
  it('is the sum of its movements, as doubles and splits of blackjack are sent', () => {
    const first = placed(100, 'a');
    const bet = betOf(first, placed(100, 'b'), placed(50, 'c'), won(400, 'd'));
    expect(bet).toMatchObject({
      wagered: 250n,
      state: 'settled',
      occurred_at_ms: first.at_ms,
      player_id: 'p',
    });
    expect(betOf(placed(100), placed(50, 'b'))).toMatchObject({ wagered: 150n });
  });

  it('is without the movements that were taken back, and begins with the first that was not', () => {
    const [a, b] = [placed(100, 'a'), placed(50, 'b')];
    expect(betOf(a, b, voided('b'))).toMatchObject({ wagered: 100n, occurred_at_ms: a.at_ms });
    expect(betOf(a, b, voided('a'))).toMatchObject({ wagered: 50n, occurred_at_ms: b.at_ms });
  });

  it('counts once that was sent with and without movement_id', () => {
    const first = placed(100);
    const again = { ...first, properties: { ...first.properties, movement_id: 'a' } };
    expect(betOf(first, again)).toMatchObject({ wagered: 100n });
  });

  it('is nothing once it was voided, whatever else comes', () => {
    for (const events of [
      [placed(100, 'a'), voided('a')],
      [placed(100, 'a'), won(250, 'b'), voided('a')],
      [placed(100), voided()],
      [placed(100), settled(100, 250, 'won'), voided()],
      [placed(100, 'a'), voided(), placed(100, 'c')],
    ])
      expect(betOf(...events)).toMatchObject({ wagered: 0n, state: 'voided' });
  });

  it('keeps counting when only its win was taken back, and when it was pushed', () => {
    expect(betOf(placed(100, 'a'), won(250, 'b'), voided('b'))).toMatchObject({ wagered: 100n });
    expect(betOf(placed(100), settled(100, 100, 'push'))).toMatchObject({ wagered: 100n });
  });

  it('counts with its part of bonus money', () => {
    expect(betOf(placed(100, 'a', { bonus_stake: 40 }))).toMatchObject({ wagered: 100n });
  });

  it('belongs to the player of the first stake that counts', () => {
    const other = send('bet_placed', { amount: 100, movement_id: 'a' }, 'q');
    expect(betOf(other, placed(50, 'b'))).toMatchObject({ player_id: 'q' });
    expect(betOf(other, placed(50, 'b'), voided('a'))).toMatchObject({ player_id: 'p', wagered: 50n });
  });

  it('is in the currency of its first movement', () => {
    const [euros, dollars] = [placed(100, 'a'), placed(70, 'b', { currency: 'USD' })];
    expect(betOf(euros, dollars, placed(1, 'c'))).toMatchObject({ wagered: 101n, currency: 'EUR' });
  });

  it('is not known of a void or a win alone', () => {
    expect(betOf(voided())).toBeUndefined();
    expect(betOf(won(100, 'a'))).toBeUndefined();
  });
});

describe('a sport bet', () => {
  it('counts once settled, at its first settlement', () => {
    const first = sportSettled(0);
    expect(betOf(sport(1_000))).toMatchObject({ wagered: 0n });
    expect(betOf(sport(1_000), first, sportSettled(900))).toMatchObject({
      wagered: 1_000n,
      occurred_at_ms: first.at_ms,
    });
  });

  it('counts nothing with a live cash-out, also of a part', () => {
    expect(betOf(sport(1_000), cashOut(300, 'm'), sportSettled(900))).toMatchObject({
      wagered: 0n,
      state: 'cashed_out',
    });
    expect(betOf(sport(1_000), cashOut(300, 'm'))).toMatchObject({ wagered: 0n });
    expect(betOf(sport(1_000), cashOut(1_500))).toMatchObject({ wagered: 0n });
    expect(betOf(sport(1_000), cashOut(300, 'm'), sportVoided('m'), sportSettled(900))).toMatchObject({
      wagered: 1_000n,
    });
  });

  it('counts nothing while it is reopened, and again once it is settled', () => {
    const [bet, wrong, open, right] = [sport(1_000), sportSettled(1_900), reopened(), sportSettled(0)];
    expect(betOf(bet, wrong, open)).toMatchObject({ wagered: 0n, state: 'placed' });
    expect(betOf(bet, wrong, open, right)).toMatchObject({ wagered: 1_000n, occurred_at_ms: wrong.at_ms });
  });

  it('counts nothing once it was voided', () => {
    expect(betOf(sport(1_000), sportSettled(0), sportVoided())).toMatchObject({
      wagered: 0n,
      state: 'voided',
    });
  });
});
