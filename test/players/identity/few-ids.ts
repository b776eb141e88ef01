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
export const START_MS = Date.UTC(2026, 0, 15);

const SPORT = ['sport_bet_placed', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided'];
const CASINO = ['bet_placed', 'bet_settled', 'bet_won'];
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
    const properties = { ...money, transaction_id: id, payment_method: 'card' };
    return { event: 'deposit_confirmed', timestamp, properties };
  }
  if (kind === 'casino') {
    const event = CASINO[name % CASINO.length] ?? '';
    const won = event === 'bet_placed' ? {} : { payout: 7 * reference, outcome: 'won' };
    return { event, timestamp, properties: { bet_id: id, ...GAME, ...money, ...won } };
  }
  const event = SPORT[name % SPORT.length] ?? '';
  const paid = event === 'sport_bet_voided' ? {} : { payout: 5 * reference + moment, currency };
  const rest = event === 'sport_bet_placed' ? { ...money, ...MATCH } : paid;
  return { event, timestamp, properties: { bet_id: id, ...rest } };
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
