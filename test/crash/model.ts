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

/** The expected totals of a player. */
export interface ExpectedTotals {
  total_deposited: number;
  total_withdrawn: number;
  total_wagered: number;
  total_won: number;
  bet_count: number;
  /** At least every session answered with 202, and at most also those without an answer. */
  sessions: { least: number; most: number };
}

interface Outcome {
  at_ms: number;
  payout: number | null;
}

interface Bet {
  player: string;
  kind: 'casino' | 'sport';
  stake: number;
  /** Of several outcomes the latest by event time holds; a payout of null is a void. */
  outcomes: Outcome[];
}

const FIRST_EVENT_MS = Date.UTC(2025, 0, 1);
const MAX_OPEN_BETS = 200;

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
  #deposits = new Map<string, number>();
  #withdrawals = new Map<string, number>();
  #bets: Bet[] = [];
  #open: { bet: Bet; id: string }[] = [];

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
    if (share < 0.25) return this.#transaction('deposit_confirmed', player, amount, this.#deposits);
    if (share < 0.35) return this.#transaction('withdrawal_confirmed', player, amount, this.#withdrawals);
    if (share < 0.5) return this.#add(player, this.#random.pick(['session_start', 'login']), {}, false);
    if (share < 0.75 && this.#open.length > 0) return this.#settle();
    return this.#place(player, amount);
  }

  /** The expected totals of each player that has an event. */
  expected(): Map<string, ExpectedTotals> {
    const all = new Map<string, ExpectedTotals>();
    const of = (player: string) => {
      let totals = all.get(player);
      if (totals === undefined) all.set(player, (totals = noTotals()));
      return totals;
    };
    for (const { player, body, accepted, ambiguous } of this.events) {
      if (accepted + ambiguous === 0 || body.event !== 'session_start') continue;
      const { sessions } = of(player);
      sessions.least += accepted;
      sessions.most += accepted + ambiguous;
    }
    for (const [player, sum] of this.#deposits) of(player).total_deposited = sum;
    for (const [player, sum] of this.#withdrawals) of(player).total_withdrawn = sum;
    for (const bet of this.#bets) {
      const totals = of(bet.player);
      const outcome = bet.outcomes.toSorted((a, b) => b.at_ms - a.at_ms)[0];
      if (outcome?.payout === null) continue;
      totals.bet_count++;
      totals.total_wagered += bet.stake;
      totals.total_won += outcome?.payout ?? 0;
    }
    return all;
  }

  #transaction(event: string, player: string, amount: number, sums: Map<string, number>): PlannedEvent {
    sums.set(player, (sums.get(player) ?? 0) + amount);
    const transaction_id = `t-${this.events.length}`;
    return this.#add(
      player,
      event,
      { amount, currency: 'EUR', transaction_id, payment_method: 'card' },
      true,
    );
  }

  #place(player: string, stake: number): PlannedEvent {
    const kind = this.#random.pick(['casino', 'sport'] as const);
    const bet_id = `b-${this.events.length}`;
    const bet: Bet = { player, kind, stake, outcomes: [] };
    this.#bets.push(bet);
    if (this.#open.length < MAX_OPEN_BETS) this.#open.push({ bet, id: bet_id });
    const money = { amount: stake, currency: 'EUR', bet_id };
    return kind === 'casino'
      ? this.#add(player, 'bet_placed', { ...money, game_id: 'g-1', game_category: 'slots' }, true)
      : this.#add(
          player,
          'sport_bet_placed',
          { ...money, sport: 'football', bet_type: 'single', odds: '1.9', event_ref: 'match-1' },
          true,
        );
  }

  /** A casino bet is settled once; a sport bet may be settled, cashed out and voided several times. */
  #settle(): PlannedEvent {
    const place = this.#random.integer(0, this.#open.length - 1);
    const [{ bet, id: bet_id }] = this.#open.slice(place, place + 1) as [{ bet: Bet; id: string }];
    const payout = this.#random.integer(0, 2_000_000);
    const at_ms = this.#time();
    if (bet.kind === 'casino') {
      this.#open.splice(place, 1);
      bet.outcomes.push({ at_ms, payout });
      const properties = { amount: bet.stake, payout, currency: 'EUR', bet_id, game_id: 'g-1' };
      const outcome = payout > 0 ? 'won' : 'lost';
      return this.#add(bet.player, 'bet_settled', { ...properties, game_category: 'slots', outcome }, true);
    }
    if (this.#random.chance(0.6)) this.#open.splice(place, 1);
    const event = this.#random.pick(['sport_bet_settled', 'sport_cashout', 'sport_bet_voided']);
    bet.outcomes.push({ at_ms, payout: event === 'sport_bet_voided' ? null : payout });
    const money = event === 'sport_bet_voided' ? {} : { payout, currency: 'EUR' };
    return this.#add(bet.player, event, { bet_id, ...money }, true);
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

function noTotals(): ExpectedTotals {
  return {
    total_deposited: 0,
    total_withdrawn: 0,
    total_wagered: 0,
    total_won: 0,
    bet_count: 0,
    sessions: { least: 0, most: 0 },
  };
}
