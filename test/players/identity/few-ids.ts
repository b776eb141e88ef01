import type { SentEvent } from '../../oracle/oracle.ts';

/** An event without its sender, as numbers. There are few ids, so that events often have the same one. */
export interface Happening {
  kind: 'deposit' | 'casino' | 'sport' | 'session' | 'exclusion';
  /** Selects the event name within the kind. */
  name: number;
  /** Selects the transaction or bet. */
  reference: number;
  /** Selects the time. Outcomes of one sport bet at different times correct each other. */
  moment: number;
}

export const KINDS: readonly Happening['kind'][] = [
  'deposit',
  'casino',
  'casino',
  'sport',
  'sport',
  'session',
  'exclusion',
];
/** Number of ids of transactions and of bets. Those of the last id have a currency without a rate. */
export const REFERENCES = 4;
/** Number of values of `name`: with the upper half come movements. */
export const NAMES = 10;
export const START_MS = Date.UTC(2026, 0, 15);

const SPORT = [
  'sport_bet_placed',
  'sport_bet_settled',
  'sport_cashout',
  'sport_bet_voided',
  'sport_bet_reopened',
];
const TRANSACTION = ['deposit_confirmed', 'deposit_reversed', 'deposit_confirmed', 'balance_credited'];
const CASINO = ['bet_placed', 'bet_settled', 'bet_won', 'bet_voided'];
const GAME = { game_id: 'g', game_category: 'slots' };
const MATCH = { sport: 'football', bet_type: 'single', odds: '2', event_ref: 'final' };

/** The event that is sent. Its content depends on id, event and time: one id always has the same content. */
export function toSent({ kind, name, reference, moment }: Happening): SentEvent {
  const timestamp = new Date(START_MS + moment).toISOString();
  if (kind === 'session') return { event: 'session_start', timestamp, properties: {} };
  if (kind === 'exclusion') return { event: 'self_exclusion_set', timestamp, properties: {} };
  const currency = reference === REFERENCES - 1 ? 'USD' : 'EUR';
  const money = { amount: 10 + reference, currency };
  const id = `ref-${reference}`;
  if (kind === 'deposit') {
    const event = TRANSACTION[name % TRANSACTION.length] ?? '';
    const ids = { transaction_id: id, payment_method: 'card', reason: 'cashback' };
    // Reversals at different times correct each other.
    const reversed = event === 'deposit_reversed' ? { reversal_id: 'r', amount: 6 * moment } : {};
    return { event, timestamp, properties: { ...ids, ...money, ...reversed } };
  }
  // The one movement of a bet says another amount than the event without it.
  const is_movement = name >= NAMES / 2;
  const ids = { bet_id: id, ...(is_movement && { movement_id: 'm' }) };
  const more = is_movement ? 1 : 0;
  if (kind === 'casino') {
    const event = CASINO[name % CASINO.length] ?? '';
    const amount = money.amount + (event === 'bet_placed' ? more : 0);
    const staked = { currency, amount, bonus_stake: reference };
    const payout = 7 * reference + (event === 'bet_won' ? more : 0);
    const paid = { currency, payout, bonus_payout: reference, outcome: 'won' };
    const said = {
      ...((event === 'bet_placed' || event === 'bet_settled') && staked),
      ...((event === 'bet_won' || event === 'bet_settled') && paid),
    };
    return { event, timestamp, properties: { ...ids, ...GAME, ...said } };
  }
  const event = SPORT[name % SPORT.length] ?? '';
  const paid = event === 'sport_bet_settled' || event === 'sport_cashout';
  const payout = 5 * reference + (is_movement && event === 'sport_cashout' ? more : moment);
  const rest = event === 'sport_bet_placed' ? { ...money, ...MATCH } : paid ? { payout, currency } : {};
  return { event, timestamp, properties: { ...ids, ...rest } };
}

/** Pseudo-random numbers from a seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number from 0 to `sides` − 1. */
  roll(sides: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * sides);
  }

  /** One of the values. */
  pick<T>(values: readonly T[]): T {
    const value = values[this.roll(values.length)];
    if (value === undefined) throw new Error('an empty list');
    return value;
  }
}
