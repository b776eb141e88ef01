import {
  countedOf,
  factOf,
  familyOf,
  noReferenceSums,
  referenceOf,
  sumsOf,
  type Fact,
  type Family,
  type ReferenceSums,
} from '../oracle/references.ts';
import type { Random } from './random.ts';

/** One event of the load and the service's answers to it. */
export interface PlannedEvent {
  /** Its number, which the properties carry, so that its row in ClickHouse can be identified. */
  n: number;
  player: string;
  /** Whether an id lets the service recognise a repetition: such an event is sent until it is accepted. */
  has_id: boolean;
  body: { event: string; anonymous_id: string; timestamp: string; properties: Record<string, unknown> };
  /** The number of 202 answers so far. */
  accepted: number;
  /** The number of requests so far that ended without an answer. */
  ambiguous: number;
  /** When the first 202 answer was read, in milliseconds since the epoch. */
  accepted_ms: number | undefined;
}

export interface ModelOptions {
  /** The time of the first event; each further one is 10 ms later. */
  first_event_ms?: number;
  /** The share of events that exclude their player; these players go on playing. */
  exclusion_share?: number;
}

/** The expected totals of a player, whose sums are whole numbers of cents. */
export interface ExpectedTotals extends Record<keyof ReferenceSums, number> {
  ggr: number;
  ngr: number;
  /** At least every session answered with 202, and at most also those without an answer. */
  sessions: { least: number; most: number };
}

interface Bet {
  id: string;
  player: string;
  kind: 'casino' | 'sport';
  stake: number;
  /** The movements so far, which may be voided. */
  movements: string[];
}

/** A confirmed deposit or withdrawal. */
interface Transaction {
  id: string;
  player: string;
  kind: 'deposit' | 'withdrawal';
  amount: number;
}

const GAME = { game_id: 'g-1', game_category: 'slots' };
const MATCH = { sport: 'football', bet_type: 'single', odds: '1.9', event_ref: 'match-1' };
const FIRST_EVENT_MS = Date.UTC(2025, 0, 1);
/** The last bets and transactions that further events are about. */
const MAX_OPEN = 200;

/**
 * Makes the load and computes the expected result independently of the service. Every id always has the same content,
 * so no event conflicts, and every event with an id is accepted in the end.
 */
export class Model {
  readonly events: PlannedEvent[] = [];
  #random: Random;
  #players: number;
  #first_event_ms: number;
  #exclusion_share: number;
  #open: Bet[] = [];
  #transactions: Transaction[] = [];

  constructor(random: Random, players: number, options: ModelOptions = {}) {
    this.#random = random;
    this.#players = players;
    this.#first_event_ms = options.first_event_ms ?? FIRST_EVENT_MS;
    this.#exclusion_share = options.exclusion_share ?? 0;
  }

  /** Plans the next event. */
  plan(): PlannedEvent {
    const player = `player-${this.#random.integer(1, this.#players)}`;
    const amount = this.#random.integer(0, 1_000_000);
    const share = this.#random.next();
    if (this.#exclusion_share > 0 && this.#random.chance(this.#exclusion_share)) {
      return this.#add(player, 'self_exclusion_set', {}, false);
    }
    if (share < 0.25) return this.#transaction('deposit', player, amount);
    if (share < 0.35) return this.#transaction('withdrawal', player, amount);
    if (share < 0.4 && this.#transactions.length > 0) return this.#reverse();
    if (share < 0.43) return this.#changeBalance(player, amount);
    if (share < 0.5) return this.#add(player, this.#random.pick(['session_start', 'login']), {}, false);
    if (share < 0.75 && this.#open.length > 0) return this.#goOn();
    return this.#place(player, amount);
  }

  /** The expected totals of each player that has an event. */
  expected(): Map<string, ExpectedTotals> {
    const all = new Map<string, ExpectedTotals>();
    const references = new Map<string, { family: Family; facts: Fact<string>[] }>();
    for (const { player, body, has_id, accepted, ambiguous } of this.events) {
      const family = familyOf(body.event);
      if (has_id && family !== undefined) {
        const key = `${family} ${referenceOf(body.event, body.properties)}`;
        const reference = references.get(key) ?? { family, facts: [] };
        reference.facts.push(factOf(body, player));
        references.set(key, reference);
      }
      if (accepted + ambiguous === 0 || body.event !== 'session_start') continue;
      const totals = all.get(player) ?? totalsOf(noReferenceSums());
      totals.sessions.least += accepted;
      totals.sessions.most += accepted + ambiguous;
      all.set(player, totals);
    }
    const counted = [...references.values()].map(({ family, facts }) => countedOf(family, facts));
    for (const [player, sums] of sumsOf(counted, (amount) => amount)) {
      const { sessions } = all.get(player) ?? totalsOf(sums);
      all.set(player, { ...totalsOf(sums), sessions });
    }
    return all;
  }

  #transaction(kind: Transaction['kind'], player: string, amount: number): PlannedEvent {
    const transaction_id = `t-${this.events.length}`;
    this.#transactions.push({ id: transaction_id, player, kind, amount });
    if (this.#transactions.length > MAX_OPEN) this.#transactions.shift();
    const properties = { amount, currency: 'EUR', transaction_id, payment_method: 'card' };
    return this.#add(player, `${kind}_confirmed`, properties, true);
  }

  /** Takes back all or a part of a transaction, once or again with another amount. */
  #reverse(): PlannedEvent {
    const { id, player, kind, amount: whole } = this.#random.pick(this.#transactions);
    const amount = this.#random.pick([whole, 0, this.#random.integer(0, whole)]);
    const reversal_id = this.#random.pick(['r-1', 'r-2']);
    const properties = { amount, currency: 'EUR', transaction_id: id, reversal_id };
    return this.#add(player, `${kind}_reversed`, properties, true);
  }

  #changeBalance(player: string, amount: number): PlannedEvent {
    const event = this.#random.pick(['balance_credited', 'balance_debited']);
    const reason = this.#random.pick(['cashback', 'fee', 'correction']);
    const transaction_id = `t-${this.events.length}`;
    return this.#add(player, event, { amount, currency: 'EUR', transaction_id, reason }, true);
  }

  #place(player: string, stake: number): PlannedEvent {
    const kind = this.#random.pick(['casino', 'sport'] as const);
    const bet: Bet = { id: `b-${this.events.length}`, player, kind, stake, movements: [] };
    if (this.#open.length < MAX_OPEN) this.#open.push(bet);
    if (kind === 'casino') return this.#stake(bet, this.#random.chance(0.5));
    const properties = { ...this.#staked(bet), ...MATCH };
    return this.#add(player, 'sport_bet_placed', properties, true);
  }

  #stake(bet: Bet, has_movement: boolean): PlannedEvent {
    const movement = has_movement ? this.#move(bet) : {};
    return this.#add(bet.player, 'bet_placed', { ...this.#staked(bet), ...movement, ...GAME }, true);
  }

  /** What follows on a bet: of a casino bet movements or one settlement, of a sport bet several outcomes; or a void. */
  #goOn(): PlannedEvent {
    const bet = this.#random.pick(this.#open);
    return bet.kind === 'casino' ? this.#goOnInCasino(bet) : this.#goOnInSport(bet);
  }

  #goOnInCasino(bet: Bet): PlannedEvent {
    const { id: bet_id, player } = bet;
    const share = this.#random.next();
    if (share < 0.2) return this.#stake(bet, true);
    if (share < 0.5) return this.#add(player, 'bet_won', { ...this.#paid(bet), ...this.#move(bet) }, true);
    const movement_id = share < 0.65 ? bet.movements.pop() : undefined;
    if (movement_id !== undefined) return this.#add(player, 'bet_voided', { bet_id, movement_id }, true);
    this.#close(bet);
    if (share < 0.6) return this.#add(player, 'bet_voided', { bet_id }, true);
    const paid = this.#paid(bet);
    const outcome = paid.payout > 0 ? 'won' : 'lost';
    return this.#add(player, 'bet_settled', { ...this.#staked(bet), ...paid, ...GAME, outcome }, true);
  }

  #goOnInSport(bet: Bet): PlannedEvent {
    const { id: bet_id, player } = bet;
    if (this.#random.chance(0.4)) this.#close(bet);
    const event = this.#random.pick([
      'sport_bet_settled',
      'sport_cashout',
      'sport_bet_voided',
      'sport_bet_reopened',
    ]);
    if (event === 'sport_cashout') {
      const movement = this.#random.chance(0.5) ? this.#move(bet) : {};
      return this.#add(player, event, { ...this.#paid(bet), ...movement }, true);
    }
    if (event === 'sport_bet_settled') return this.#add(player, event, this.#paid(bet), true);
    const movement_id = event === 'sport_bet_voided' ? bet.movements.pop() : undefined;
    return this.#add(player, event, { bet_id, ...(movement_id !== undefined && { movement_id }) }, true);
  }

  #close(bet: Bet): void {
    this.#open.splice(this.#open.indexOf(bet), 1);
  }

  /** A movement_id that no other event has. */
  #move(bet: Bet): { movement_id: string } {
    const movement_id = `m-${this.events.length}`;
    bet.movements.push(movement_id);
    return { movement_id };
  }

  #staked({ id: bet_id, stake: amount }: Bet) {
    const bonus = this.#random.chance(0.3) ? { bonus_stake: this.#random.integer(0, amount) } : {};
    return { bet_id, currency: 'EUR', amount, ...bonus };
  }

  #paid({ id: bet_id }: Bet) {
    const payout = this.#random.integer(0, 2_000_000);
    const bonus = this.#random.chance(0.3) ? { bonus_payout: this.#random.integer(0, payout) } : {};
    return { bet_id, currency: 'EUR', payout, ...bonus };
  }

  #add(player: string, event: string, properties: Record<string, unknown>, has_id: boolean): PlannedEvent {
    const n = this.events.length;
    const timestamp = new Date(this.#time()).toISOString();
    const body = { event, anonymous_id: player, timestamp, properties: { ...properties, n } };
    const planned = { n, player, has_id, body, accepted: 0, ambiguous: 0, accepted_ms: undefined };
    this.events.push(planned);
    return planned;
  }

  /** Every event has a time of its own, so that outcomes of one bet have an order. */
  #time(): number {
    return this.#first_event_ms + this.events.length * 10;
  }
}

function totalsOf(sums: ReferenceSums): ExpectedTotals {
  const numbers = Object.fromEntries(
    Object.entries(sums).map(([sum, value]) => [sum, Number(value)]),
  ) as Record<keyof ReferenceSums, number>;
  const ggr = numbers.total_wagered - numbers.total_won;
  const bonus = numbers.total_bonus_wagered - numbers.total_bonus_won;
  const ngr = ggr - bonus - numbers.total_credited + numbers.total_debited;
  return { ...numbers, ggr, ngr, sessions: { least: 0, most: 0 } };
}
