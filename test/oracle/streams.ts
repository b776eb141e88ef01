import * as fc from 'fast-check';
import type { SentEvent } from './oracle.ts';

/** A sender of events. `player_id` is undefined until identify has answered. */
export interface Sender {
  anonymous_id: string;
  player_id: string | undefined;
}

/** One step of a stream, independent of the ids that the service gives out. */
export interface Step {
  /** Index of the sender; the reference of a bet or transaction overrides it. */
  player: number;
  /** How the event names its player, if the sender's player_id is known. */
  via: 'anonymous' | 'player' | 'both' | 'upper case' | 'nobody';
  kind: 'transaction' | 'casino' | 'sport' | 'session' | 'status' | 'other';
  /** Selects the event name within the kind. */
  event: number;
  /** Selects the transaction or bet. */
  reference: number;
  /** Selects the movement_id of an event that may have one, and the reversal_id of a reversal. */
  movement: number;
  /** Selects the time. There are few, so that several events happen at the same time. */
  moment: number;
  /** 0: the content that every event with this id has. Other values contradict it. */
  salt: number;
  /** Instead of a new event, sends the one this many steps back again, unchanged; 0: sends a new event. */
  retry: number;
}

const NAMES = {
  transaction: [
    'deposit_confirmed',
    'deposit_confirmed',
    'withdrawal_confirmed',
    'deposit_initiated',
    'deposit_failed',
    'withdrawal_requested',
    'withdrawal_failed',
    'deposit_reversed',
    'deposit_reversed',
    'withdrawal_reversed',
    'balance_credited',
    'balance_debited',
  ],
  casino: ['bet_placed', 'bet_placed', 'bet_settled', 'bet_won', 'bet_won', 'bet_lost', 'bet_voided'],
  sport: [
    'sport_bet_placed',
    'sport_bet_settled',
    'sport_cashout',
    'sport_cashout',
    'sport_bet_voided',
    'sport_bet_reopened',
  ],
  session: ['session_start'],
  status: [
    'self_exclusion_set',
    'self_exclusion_lifted',
    'kyc_submitted',
    'kyc_approved',
    'kyc_rejected',
    'kyc_expired',
    'kyc_level_upgraded',
  ],
  other: ['login', 'page_view', 'deposit_limit_set', 'bonus_claimed', 'custom_wheel_spun'],
} as const;

/** The events that may have a movement_id, and the values; undefined: none. */
const WITH_MOVEMENT = ['bet_placed', 'bet_won', 'bet_voided', 'sport_cashout', 'sport_bet_voided'];
const MOVEMENTS = [undefined, 'move-a', 'move-b', 'move-c'];
const REASONS = ['cashback', 'goodwill', 'fee', 'correction', 'tip'];

/** Zero, amounts that a JSON number holds exactly, and larger ones: 2^53 and above are sent as digits. */
const AMOUNTS = [0, 1, 99, 2_500, 1_000_000, 2 ** 53 - 1, '9007199254740992', '9007199254740993', '12'];
/** Mostly the base currency. Other currencies wait for a rate, as do amounts beyond a 64-bit integer. */
const CURRENCIES = ['EUR', 'EUR', 'EUR', 'EUR', 'USD', 'ETH', 'JPY'];
const TOO_LARGE = '9223372036854775808';
const BEYOND_64_BITS = '99999999999999999999999999999999999999';

/** The currencies and amounts of a stream. */
export interface Market {
  base_currency: string;
  /** Drawn with equal probability. */
  currencies: readonly string[];
  amounts: readonly (number | string)[];
  /** Whether a bet may be placed in one currency and paid out in another. */
  is_mixed: boolean;
}

const USUAL_MARKET: Market = {
  base_currency: 'EUR',
  currencies: CURRENCIES,
  amounts: AMOUNTS,
  is_mixed: false,
};

/** A market in which all currencies are equally frequent. The added amount, 12,345 ether in wei, exceeds 64 bits. */
export function mixedMarket(base_currency: string, currencies: readonly string[]): Market {
  return { base_currency, currencies, amounts: [...AMOUNTS, '12345678901234567890123'], is_mixed: true };
}

const FEW = 8;
const FOOTBALL = { sport: 'football', bet_type: 'single', odds: '2.10', event_ref: 'final' };

const FIRST_MS = Date.UTC(2026, 0, 15, 12);
export const MOMENTS = 13;

/** The time of one of the {@link MOMENTS}. */
export function momentAt(moment: number): number {
  return FIRST_MS + moment * 3_600_000 + (moment % 3);
}

/** A stream over `players` senders. Without `contradictions` every id always has the same content. */
export function streamOf(players: number, length: number, contradictions: boolean): fc.Arbitrary<Step[]> {
  const step = fc.record({
    player: fc.nat(players - 1),
    via: fc.oneof(
      { weight: 30, arbitrary: fc.constantFrom<Step['via']>('anonymous', 'player', 'both') },
      { weight: 1, arbitrary: fc.constantFrom<Step['via']>('upper case', 'nobody') },
    ),
    kind: fc.oneof(
      { weight: 4, arbitrary: fc.constant('transaction' as const) },
      { weight: 6, arbitrary: fc.constantFrom('casino' as const, 'sport' as const) },
      { weight: 2, arbitrary: fc.constantFrom('session' as const, 'status' as const, 'other' as const) },
    ),
    event: fc.nat(1000),
    reference: fc.nat(Math.ceil(length / 8)),
    movement: fc.nat(MOVEMENTS.length - 1),
    moment: fc.nat(MOMENTS - 1),
    salt: contradictions
      ? fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) })
      : fc.constant(0),
    retry: fc.oneof(
      { weight: 8, arbitrary: fc.constant(0) },
      { weight: 2, arbitrary: fc.nat(Math.ceil(length / 4)) },
    ),
  });
  // No shrinking: over HTTP it would take hours for thousands of steps, and the seed is enough to repeat the run.
  const steps = fc.noShrink(fc.array(step, { minLength: length, maxLength: length }));
  return steps.map((all) => Object.assign(all, { [fc.toStringMethod]: () => `${length} steps` }));
}

/** The text of an id. It contains special characters on purpose; transactions and both kinds of bets share it. */
export function referenceText(reference: number): string {
  return `ref"${reference}\\{},NULL'é😀`;
}

/** The events of the steps, with the senders' current player ids. */
export function toEvents(
  steps: readonly Step[],
  senders: readonly Sender[],
  before: readonly SentEvent[] = [],
  market = USUAL_MARKET,
): SentEvent[] {
  const events: SentEvent[] = [];
  const all = [...before];
  for (const step of steps) {
    const again = step.retry === 0 ? undefined : all.at(-step.retry);
    const event = again ?? toEvent(step, senders, market);
    events.push(event);
    all.push(event);
  }
  return events;
}

function toEvent(step: Step, senders: readonly Sender[], market: Market): SentEvent {
  const names = NAMES[step.kind];
  const drawn = names[step.event % names.length] ?? 'login';
  // A bet is either won or lost for all its events, unless the step contradicts.
  const event = drawn === 'bet_lost' && step.salt === 0 && !isLost(step.reference) ? 'bet_won' : drawn;
  // What an event counts depends on its time. So one id has a fixed time, in whatever order the events are sent.
  const isFixed = (market.is_mixed || step.salt === 0) && hasOneTime(event, step);
  const moment = isFixed ? mix(step.reference, event.length, saidBy(event, step)) % MOMENTS : step.moment;
  return {
    event,
    ...identityOf(step, senders),
    timestamp: new Date(momentAt(moment)).toISOString(),
    properties: propertiesOf(step, event, market),
  };
}

function identityOf(step: Step, senders: readonly Sender[]): { anonymous_id?: string; player_id?: string } {
  const hasId = step.kind === 'transaction' || step.kind === 'casino' || step.kind === 'sport';
  const contradicts = step.salt === 3;
  // An id belongs to one player, unless the step contradicts.
  const own = hasId && !contradicts ? step.reference % senders.length : step.player;
  // Status events go to few players, so that several of them change the same player.
  const index = step.kind === 'status' ? step.player % FEW : own;
  const sender = senders[index];
  if (sender === undefined) throw new Error('no such sender');
  const { anonymous_id, player_id } = sender;
  if (step.via === 'nobody')
    return { player_id: `00000000-0000-7000-8000-${String(step.player).padStart(12, '0')}` };
  if (player_id === undefined || step.via === 'anonymous') return { anonymous_id };
  if (step.via === 'player') return { player_id };
  if (step.via === 'upper case') return { player_id: player_id.toUpperCase() };
  // player_id decides. The anonymous_id may be another player's or new, and the event must not link it.
  const other = step.moment % 2 === 0 ? senders[(index + 1) % senders.length]?.anonymous_id : undefined;
  return { anonymous_id: other ?? `ghost-${step.player}`, player_id };
}

/** The properties depend on id, event and salt only, so that a repeated id has the same content. */
function propertiesOf(step: Step, event: string, market: Market): Record<string, unknown> {
  const { kind, reference, moment, salt } = step;
  if (kind === 'status') return event.startsWith('kyc_') ? { level: step.event % 4 } : {};
  if (kind === 'session' || kind === 'other') return { note: 'nothing that counts', amount: 77 };
  const said = saidBy(event, step);
  const part = market.is_mixed ? [partOf(event, reference) + 31 * said] : [];
  const currency = pick(market.currencies, mix(reference, kind.length, salt === 2 ? 1 : 0, ...part));
  // Reversals and outcomes of a sport bet differ by time.
  const at = hasOneTime(event, step) ? 0 : moment + 1;
  const seed = mix(reference, event.length, salt, said, at);
  const amount = amountOf(seed, currency, market);
  if (kind === 'transaction') return transactionOf(event, step, { amount, currency });
  const movement_id = movementOf(event, step);
  const bet_id = referenceText(reference);
  const ids = { bet_id, ...(movement_id !== undefined && { movement_id }) };
  if (['bet_lost', 'bet_voided', 'sport_bet_voided', 'sport_bet_reopened'].includes(event)) return ids;
  // All settlements of one casino bet agree, but for its movements.
  const isStatement = kind === 'casino' && said === 0;
  const lost = isStatement && isLost(reference);
  const paid = isStatement ? mix(reference, 7, salt) : mix(seed, 7);
  const payout = lost ? salt : amountOf(paid, currency, market);
  const has_bonus = seed % 3 > 0;
  const staked = { amount, ...(has_bonus && { bonus_stake: bonusOf(amount, seed) }) };
  const returned = { payout, ...(has_bonus && { bonus_payout: bonusOf(payout, seed) }) };
  const game = { game_id: 'book-of-tests', game_category: 'slots' };
  switch (event) {
    case 'bet_placed':
      return { ...ids, ...staked, currency, ...game };
    case 'bet_settled':
      return { ...ids, ...staked, ...returned, currency, outcome: lost ? 'lost' : 'won', ...game };
    case 'sport_bet_placed':
      return { ...ids, ...staked, currency, ...FOOTBALL };
    case 'sport_bet_settled':
      return { ...ids, ...returned, currency, ...(reference % 2 === 0 ? staked : {}) };
    default:
      return { ...ids, ...returned, currency };
  }
}

/** A part of the amount: all of it, none, or a third. */
function bonusOf(amount: number | string, seed: number): number | string {
  const whole = BigInt(amount);
  const part = pick([whole, 0n, whole / 3n], seed >>> 2);
  return part < 2n ** 53n ? Number(part) : String(part);
}

function movementOf(event: string, { movement }: Step): string | undefined {
  return WITH_MOVEMENT.includes(event) ? MOVEMENTS[movement % MOVEMENTS.length] : undefined;
}

/**
 * Numbers what is said of one reference by the same event. The first movement says what the event without one says: one
 * is the twin of the other.
 */
function saidBy(event: string, step: Step): number {
  if (event.endsWith('_reversed')) return step.movement % 2;
  return Math.max(0, MOVEMENTS.indexOf(movementOf(event, step)) - 1);
}

/** Whether the casino bet of this id pays nothing. */
function isLost(reference: number): boolean {
  return reference % 3 === 0;
}

function transactionOf(
  event: string,
  step: Step,
  money: { amount: number | string; currency: string },
): Record<string, unknown> {
  const { reference } = step;
  // A failed transaction may have no properties.
  if (event.endsWith('_failed') && reference % 2 === 0) return {};
  const ids = { ...money, transaction_id: referenceText(reference) };
  if (event.endsWith('_reversed')) return { ...ids, reversal_id: `r${saidBy(event, step)}` };
  if (event.startsWith('balance')) return { ...ids, reason: pick(REASONS, mix(reference, step.salt)) };
  return { ...ids, ...(event.startsWith('deposit') ? { payment_method: 'card' } : {}) };
}

/** Whether the event has one time per id. A reversal and an outcome of a sport bet at another time are others. */
function hasOneTime(event: string, step: Step): boolean {
  if (event.endsWith('_reversed')) return false;
  return !event.startsWith('sport_') || event === 'sport_bet_placed' || movementOf(event, step) !== undefined;
}

/**
 * Groups the events of a reference that share a currency in a mixed market: all settlements of a casino bet must, and
 * most reversals have that of what they take back.
 */
function partOf(event: string, reference: number): number {
  if (event.endsWith('_reversed') && reference % 4 > 0)
    return event.replace('_reversed', '_confirmed').length;
  return event === 'bet_settled' || event === 'bet_won' ? 1 : event.length;
}

function amountOf(hash: number, currency: string, market: Market): number | string {
  if (hash % 61 === 0) return currency === market.base_currency ? TOO_LARGE : BEYOND_64_BITS;
  return pick(market.amounts, hash);
}

function pick<T>(values: readonly T[], hash: number): T {
  const value = values[hash % values.length];
  if (value === undefined) throw new Error('an empty list');
  return value;
}

/** A hash of `parts`. */
function mix(...parts: number[]): number {
  let hash = 17;
  for (const part of parts) hash = (Math.imul(hash, 0x01000193) ^ (part + 0x9e37)) >>> 0;
  return hash >>> 3;
}
