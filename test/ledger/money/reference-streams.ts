import * as fc from 'fast-check';
import type { SentEvent } from '../../oracle/oracle.ts';
import { LARGEST_TOTAL, OracleRates } from '../../oracle/rates.ts';
import type { Family } from '../../oracle/references.ts';

/** Random events of one reference: few ids, times, amounts and players, so that they meet. */

export const BASE = 'EUR';
export const PLAYERS = ['p1', 'p2', 'p3'];
const REFERENCE = 'r';
const EVENTS = 24;
const START_MS = Date.UTC(2026, 6, 1);
const MOMENTS = 4;
const MOVEMENTS = [undefined, 'a', 'b', 'c'];
const REVERSALS = ['r1', 'r2'];
const REASONS = ['cashback', 'fee', 'correction', 'tip'];
/** The last two exceed 64 bits, also when they are converted: they wait for ever. */
const AMOUNTS = [0n, 100n, 250n, 1n, 333n, 10_005n, 2n ** 53n + 1n, 10n ** 22n, 10n ** 22n - 100n];
/** In the base currency, at a rate that changes, at an inverse rate, at one that is known late, and at none. */
const CURRENCIES = ['EUR', 'EUR', 'USD', 'USD', 'JPY', 'SEK', 'KWD'];
export const RATES = new OracleRates();
RATES.set({ base: 'USD', quote: BASE, ts_ms: START_MS, rate: '0.90' });
RATES.set({ base: 'USD', quote: BASE, ts_ms: START_MS + 2, rate: '0.95' });
RATES.set({ base: BASE, quote: 'JPY', ts_ms: START_MS, rate: '160.5' });
RATES.set({ base: 'SEK', quote: BASE, ts_ms: START_MS + 2, rate: '0.085' });

const EVENTS_OF: Readonly<Record<Family, readonly string[]>> = {
  casino: ['bet_placed', 'bet_placed', 'bet_won', 'bet_won', 'bet_settled', 'bet_lost', 'bet_voided'],
  sport: ['sport_bet_placed', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided', 'sport_bet_reopened'],
  deposit: [
    'deposit_confirmed',
    'deposit_reversed',
    'deposit_reversed',
    'deposit_initiated',
    'deposit_failed',
  ],
  withdrawal: ['withdrawal_confirmed', 'withdrawal_reversed', 'withdrawal_requested', 'withdrawal_failed'],
  balance: ['balance_credited', 'balance_debited'],
};
export const FAMILIES = Object.keys(EVENTS_OF) as Family[];
const NEW_EVENT = /^balance_|_reversed$|^bet_voided$|_reopened$/;
const WITH_MOVEMENT = ['bet_placed', 'bet_won', 'bet_voided', 'sport_cashout', 'sport_bet_voided'];

/** One event as drawn. All values are small numbers, so that a counterexample is small. */
interface Step {
  event: number;
  movement: number;
  moment: number;
  /** 0 to 5: what the event says follows from its key; otherwise it is drawn anew, and may contradict. */
  free: number;
  draw: number;
}

export interface Stream {
  families: Family[];
  steps: Step[];
  /** Every stream has its own contents. */
  salt: number;
  /** For the tests: seeds an order of the events. */
  order: number;
}

/** Streams of `families`; without `contradicts` every key has one content, time and player. */
export function streamOf(contradicts: boolean): fc.Arbitrary<Stream> {
  const one = (family: Family) => fc.constant<Family[]>([family]);
  return fc.record({
    families: fc.oneof(
      { weight: 8, arbitrary: one('casino') },
      { weight: 6, arbitrary: one('sport') },
      { weight: 3, arbitrary: fc.constantFrom<Family[]>(['deposit'], ['withdrawal']) },
      { weight: 1, arbitrary: fc.constantFrom<Family[]>(['balance'], FAMILIES) },
    ),
    steps: fc.array(
      fc.record({
        event: fc.nat(999),
        movement: fc.nat(3),
        moment: fc.nat(MOMENTS - 1),
        free: contradicts ? fc.nat(8) : fc.constant(0),
        draw: fc.nat(9999),
      }),
      { minLength: 1, maxLength: EVENTS, size: 'max' },
    ),
    salt: fc.nat(99_999),
    order: fc.nat(),
  });
}

/** The events of the steps; `is_earlier`: without the new names and properties. */
export function toEvents({ families, steps, salt }: Stream, is_earlier = false): SentEvent[] {
  return steps
    .map((step) => keyOf(families, step, salt, is_earlier))
    .flatMap((key) => (key === undefined ? [] : [toEvent(key, salt, is_earlier)]))
    .filter((sent) => !isOutOfRange(sent));
}

/** What identifies the event of a step. */
interface Key {
  family: Family;
  event: string;
  movement_id: string | undefined;
  reversal_id: string | undefined;
  step: Step;
}

function keyOf(families: readonly Family[], step: Step, salt: number, is_earlier: boolean): Key | undefined {
  const family = pick(families, step.event);
  const names = EVENTS_OF[family].filter((name) => !is_earlier || !NEW_EVENT.test(name));
  if (names.length === 0) return undefined;
  const drawn = pick(names, Math.floor(step.event / families.length));
  // A bet is either won or lost, unless the step contradicts.
  const event = drawn === 'bet_lost' && !isFree(step) && settlementOf(salt) > 0n ? 'bet_won' : drawn;
  const has_movement = !is_earlier && WITH_MOVEMENT.includes(event);
  return {
    family,
    event,
    movement_id: has_movement ? pick(MOVEMENTS, step.movement) : undefined,
    reversal_id: event.endsWith('_reversed') ? pick(REVERSALS, step.movement) : undefined,
    step,
  };
}

function toEvent(key: Key, salt: number, is_earlier: boolean): SentEvent {
  const { family, event, movement_id, reversal_id, step } = key;
  const is_free = isFree(step);
  const repeats = hasSeveralTimes(key);
  // The movement `a` says what the event without a movement_id says: the one is the twin of the other.
  const movement = movement_id === 'a' ? 0 : MOVEMENTS.indexOf(movement_id);
  // A loss is a win of 0: both say it at the same time.
  const hash = mix(
    salt,
    event === 'bet_lost' ? 'bet_won'.length : event.length,
    movement,
    REVERSALS.indexOf(reversal_id ?? ''),
  );
  const said = is_free ? step.draw : mix(hash, event.length, repeats ? step.moment : 0);
  const moment = is_free || repeats ? step.moment : hash % MOMENTS;
  // Mostly all events of a reference have one player and one currency. All settlements of a casino bet agree.
  const player = is_free || mix(salt, 3) % 4 === 0 ? said >>> 4 : salt;
  const is_settlement = !is_free && (event === 'bet_settled' || (event === 'bet_won' && movement === 0));
  const is_mixed = is_free || mix(salt, 4) % 4 === 0;
  const currency = pick(CURRENCIES, is_settlement ? mix(salt, 5) : is_mixed ? said >>> 6 : mix(salt, 5));
  const amount = pick(AMOUNTS, said);
  const payout = is_settlement ? settlementOf(salt) : amount;
  const bonus_of = (whole: bigint) =>
    digits(pick([whole, whole / 3n, 0n, whole / 2n, whole > 50n ? 50n : 0n], said >>> 2));
  const has_bonus = !is_earlier && said % 3 > 0;
  const staked = { amount: digits(amount), ...(has_bonus && { bonus_stake: bonus_of(amount) }) };
  const paid = { payout: digits(payout), ...(has_bonus && { bonus_payout: bonus_of(payout) }) };
  return {
    event,
    anonymous_id: pick(PLAYERS, player),
    timestamp: new Date(START_MS + moment).toISOString(),
    properties: {
      ...(isBet(family) ? { bet_id: REFERENCE } : { transaction_id: REFERENCE }),
      ...(movement_id !== undefined && { movement_id }),
      ...(reversal_id !== undefined && { reversal_id }),
      ...(family === 'balance' && { reason: pick(REASONS, said >>> 3) }),
      ...moneyOf(),
    },
  };

  function moneyOf(): Record<string, unknown> {
    switch (event) {
      case 'bet_lost':
      case 'bet_voided':
      case 'sport_bet_voided':
      case 'sport_bet_reopened':
        return {};
      case 'bet_placed':
      case 'sport_bet_placed':
        return { currency, ...staked };
      case 'bet_settled':
        return { currency, ...staked, ...paid };
      case 'sport_bet_settled':
        return { currency, ...paid, ...(said % 2 === 0 && staked) };
      case 'bet_won':
      case 'sport_cashout':
        return { currency, ...paid };
      default:
        return { currency, amount: digits(amount) };
    }
  }
}

function isFree({ free }: Step): boolean {
  return free > 5;
}

/** What every statement about a whole casino bet says that it pays. */
function settlementOf(salt: number): bigint {
  return salt % 3 === 0 ? 0n : pick(AMOUNTS, mix(salt, 2));
}

function isBet(family: Family): boolean {
  return family === 'casino' || family === 'sport';
}

function hasSeveralTimes({ family, event, movement_id, reversal_id }: Key): boolean {
  if (reversal_id !== undefined) return true;
  return family === 'sport' && event !== 'sport_bet_placed' && movement_id === undefined;
}

/** The intake refuses what no total can hold. */
function isOutOfRange({ properties }: SentEvent): boolean {
  const { amount = '0', payout = '0', currency } = properties;
  return currency === BASE && [amount, payout].some((value) => BigInt(String(value)) > LARGEST_TOTAL);
}

function digits(amount: bigint): number | string {
  return amount < 2n ** 53n ? Number(amount) : String(amount);
}

function pick<T>(values: readonly T[], number: number): T {
  return values[number % values.length] as T;
}

/** A hash of `parts`. */
function mix(...parts: number[]): number {
  let hash = 17;
  for (const part of parts) hash = (Math.imul(hash, 0x01000193) ^ (part + 0x9e37)) >>> 0;
  return hash >>> 3;
}
