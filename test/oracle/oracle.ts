import { expectedOf, type KycStatement } from '../players/kyc/kyc-oracle.ts';
import { LARGEST_TOTAL, OracleRates } from './rates.ts';

/**
 * An independent recomputation of every player's expected state. It is written from the rules of the design only and
 * imports no code of the service. It keeps every distinct money event and sums at the end, by the rates at that time,
 * whereas the service keeps running totals.
 */

/** An event as it was sent. */
export interface SentEvent {
  event: string;
  anonymous_id?: string;
  player_id?: string;
  timestamp: string;
  properties: Readonly<Record<string, unknown>>;
}

/** The expected result of an accepted event. */
export type Verdict =
  'counted' | 'duplicate' | 'CONFLICTING_DUPLICATE' | 'UNKNOWN_PLAYER' | 'AMOUNT_OUT_OF_RANGE';

/** The expected state of one player; money in the base currency's smallest unit. */
export interface ExpectedPlayer {
  total_deposited: bigint;
  total_withdrawn: bigint;
  total_wagered: bigint;
  total_won: bigint;
  total_bonus_wagered: bigint;
  total_bonus_won: bigint;
  total_credited: bigint;
  total_debited: bigint;
  ggr: bigint;
  bet_count: bigint;
  session_count: bigint;
  pending_conversions: bigint;
  status: string;
  kyc_status: string;
  kyc_level: bigint;
}

/** A distinct money event of one player. */
interface Entry {
  player: OraclePlayer;
  event: string;
  at_ms: number;
  amount: bigint | undefined;
  payout: bigint | undefined;
  currency: string | undefined;
}

interface Said<T> {
  value: T;
  at_ms: number;
}

/** A player, with all of its ids. */
interface OraclePlayer {
  player_id: string | undefined;
  sessions: bigint;
  excluded: Said<boolean> | undefined;
  /** What events have said about KYC, which the tenant lets them decide. */
  kyc: KycStatement[];
}

const TRANSACTION = /^(deposit|withdrawal)_(initiated|requested|confirmed|failed)$/;
const CASINO = /^bet_/;
const SPORT = /^sport_(bet_|cashout)/;
const KYC_EVENT = 'kyc_';
/** Of sport outcomes at the same time, the one later in this list wins. */
const OUTCOMES = ['sport_bet_settled', 'sport_cashout', 'sport_bet_voided'];

export class Oracle {
  #base_currency: string;
  #rates: OracleRates;
  #by_anonymous_id = new Map<string, OraclePlayer>();
  #by_player_id = new Map<string, OraclePlayer>();
  #transactions = new Map<string, Entry>();
  #casino = new Map<string, Entry[]>();
  #sport = new Map<string, Entry[]>();

  constructor(base_currency: string, rates = new OracleRates()) {
    this.#base_currency = base_currency;
    this.#rates = rates;
  }

  /** Records an answer of identify: from now on the anonymous_id names the player of this player_id. */
  identified(anonymous_id: string, player_id: string): void {
    const player =
      this.#by_anonymous_id.get(anonymous_id) ?? this.#by_player_id.get(player_id) ?? unknownPlayer();
    player.player_id = player_id;
    this.#by_anonymous_id.set(anonymous_id, player);
    this.#by_player_id.set(player_id, player);
  }

  /** Takes the next accepted event, in the order of arrival. */
  take(sent: SentEvent): Verdict {
    const player = this.#playerOf(sent);
    if (player === undefined) return 'UNKNOWN_PLAYER';
    const verdict = this.#claim(sent, player);
    if (verdict !== 'counted') return verdict;
    // Only an event that counts creates its sender as a player.
    if (sent.player_id === undefined) this.#by_anonymous_id.set(sent.anonymous_id ?? '', player);
    if (sent.event === 'session_start') player.sessions += 1n;
    changeStatus(player, sent);
    return 'counted';
  }

  /** The expected state of every known player, by anonymous_id and by player_id. */
  players(): Map<string, ExpectedPlayer> {
    const sums = new Map<OraclePlayer, ExpectedPlayer>();
    for (const player of [...this.#by_anonymous_id.values(), ...this.#by_player_id.values()]) {
      if (!sums.has(player)) sums.set(player, emptySums(player));
    }
    const book = new Book(sums, this.#base_currency, this.#rates);
    for (const entry of this.#transactions.values()) {
      if (entry.event === 'deposit_confirmed') book.add('total_deposited', entry, entry.amount);
      if (entry.event === 'withdrawal_confirmed') book.add('total_withdrawn', entry, entry.amount);
    }
    for (const entries of this.#casino.values()) book.addCasinoBet(entries);
    for (const entries of this.#sport.values()) book.addSportBet(entries);
    const named = new Map<string, ExpectedPlayer>();
    for (const [anonymous_id, player] of this.#by_anonymous_id) {
      named.set(anonymous_id, book.close(player));
    }
    for (const [player_id, player] of this.#by_player_id) named.set(player_id, book.close(player));
    return named;
  }

  /** When an event has both ids, player_id decides. */
  #playerOf({ anonymous_id, player_id }: SentEvent): OraclePlayer | undefined {
    if (player_id !== undefined) return this.#by_player_id.get(player_id.toLowerCase());
    return this.#by_anonymous_id.get(anonymous_id ?? '') ?? unknownPlayer();
  }

  /** Records a money event, unless its id was recorded before: the first event with an id wins. */
  #claim(sent: SentEvent, player: OraclePlayer): Verdict {
    const entry = toEntry(sent, player);
    if (TRANSACTION.test(sent.event)) {
      const id = sent.properties['transaction_id'];
      if (typeof id !== 'string') return 'counted';
      const key = JSON.stringify([sent.event, id]);
      const first = this.#transactions.get(key);
      if (first !== undefined) return sameMoney(first, entry) ? 'duplicate' : 'CONFLICTING_DUPLICATE';
      if (this.#isTooLarge(entry)) return 'AMOUNT_OUT_OF_RANGE';
      this.#transactions.set(key, entry);
    } else if (CASINO.test(sent.event)) {
      return this.#claimBet(this.#casino, sent, entry, isOtherSettlement);
    } else if (SPORT.test(sent.event)) {
      return this.#claimBet(this.#sport, sent, entry, () => false);
    }
    return 'counted';
  }

  #claimBet(
    bets: Map<string, Entry[]>,
    sent: SentEvent,
    entry: Entry,
    contradicts: (a: Entry, b: Entry) => boolean,
  ): Verdict {
    const id = String(sent.properties['bet_id']);
    const entries = bets.get(id) ?? [];
    // An outcome of a sport bet at another time is a correction, not a repetition.
    const repeatable = OUTCOMES.includes(sent.event);
    const first = entries.find(
      (other) => other.event === entry.event && (!repeatable || other.at_ms === entry.at_ms),
    );
    if (first !== undefined) return sameMoney(first, entry) ? 'duplicate' : 'CONFLICTING_DUPLICATE';
    if (entries.some((other) => contradicts(other, entry))) return 'CONFLICTING_DUPLICATE';
    if (this.#isTooLarge(entry)) return 'AMOUNT_OUT_OF_RANGE';
    bets.set(id, [...entries, entry]);
    return 'counted';
  }

  #isTooLarge({ amount = 0n, payout = 0n, currency }: Entry): boolean {
    return currency === this.#base_currency && (amount > LARGEST_TOTAL || payout > LARGEST_TOTAL);
  }
}

/** Sums entries per player. */
class Book {
  #sums: Map<OraclePlayer, ExpectedPlayer>;
  #base_currency: string;
  #rates: OracleRates;
  #pending = new Map<OraclePlayer, Set<Entry>>();

  constructor(sums: Map<OraclePlayer, ExpectedPlayer>, base_currency: string, rates: OracleRates) {
    this.#sums = sums;
    this.#base_currency = base_currency;
    this.#rates = rates;
  }

  /** Adds an amount of the entry to its player. If it cannot be converted, the entry counts as one pending event. */
  add(
    total: 'total_deposited' | 'total_withdrawn' | 'total_wagered' | 'total_won',
    entry: Entry,
    amount: bigint | undefined,
  ): void {
    if (amount === undefined || amount === 0n) return;
    const converted = this.#rates.convert(amount, entry.currency ?? '', this.#base_currency, entry.at_ms);
    if (converted !== undefined) {
      this.#of(entry.player)[total] += converted;
      return;
    }
    const pending = this.#pending.get(entry.player) ?? new Set();
    this.#pending.set(entry.player, pending.add(entry));
  }

  addCasinoBet(entries: readonly Entry[]): void {
    const stake = entries.find(is('bet_placed')) ?? entries.find(is('bet_settled'));
    const settlement =
      entries.find(is('bet_settled')) ?? entries.find(is('bet_won')) ?? entries.find(is('bet_lost'));
    this.#addBet(stake, settlement);
  }

  addSportBet(entries: readonly Entry[]): void {
    const inOrder = [...entries].sort(
      (a, b) => a.at_ms - b.at_ms || OUTCOMES.indexOf(a.event) - OUTCOMES.indexOf(b.event),
    );
    const outcome = inOrder.filter((entry) => OUTCOMES.includes(entry.event)).at(-1);
    if (outcome?.event === 'sport_bet_voided') return;
    const settled = inOrder.filter(
      (entry) => entry.event === 'sport_bet_settled' && entry.amount !== undefined,
    );
    this.#addBet(entries.find(is('sport_bet_placed')) ?? settled.at(-1), outcome);
  }

  #addBet(stake: Entry | undefined, outcome: Entry | undefined): void {
    const any = stake ?? outcome;
    if (any === undefined) return;
    this.#of(any.player).bet_count += 1n;
    if (stake !== undefined) this.add('total_wagered', stake, stake.amount);
    if (outcome !== undefined) this.add('total_won', outcome, outcome.payout);
  }

  /** The player's sums with the values derived from them. */
  close(player: OraclePlayer): ExpectedPlayer {
    const sums = this.#of(player);
    const pending_conversions = BigInt(this.#pending.get(player)?.size ?? 0);
    return { ...sums, ggr: sums.total_wagered - sums.total_won, pending_conversions };
  }

  #of(player: OraclePlayer): ExpectedPlayer {
    const sums = this.#sums.get(player);
    if (sums === undefined) throw new Error('an entry of nobody');
    return sums;
  }
}

function unknownPlayer(): OraclePlayer {
  return {
    player_id: undefined,
    sessions: 0n,
    excluded: undefined,
    kyc: [],
  };
}

function emptySums(player: OraclePlayer): ExpectedPlayer {
  const kyc = expectedOf(player.kyc);
  return {
    total_deposited: 0n,
    total_withdrawn: 0n,
    total_wagered: 0n,
    total_won: 0n,
    total_bonus_wagered: 0n,
    total_bonus_won: 0n,
    total_credited: 0n,
    total_debited: 0n,
    ggr: 0n,
    bet_count: 0n,
    session_count: player.sessions,
    pending_conversions: 0n,
    status: player.excluded?.value === true ? 'self_excluded' : 'active',
    kyc_status: kyc.status,
    kyc_level: BigInt(kyc.level),
  };
}

function toEntry({ event, timestamp, properties }: SentEvent, player: OraclePlayer): Entry {
  const { amount, payout, currency } = properties;
  return {
    player,
    event,
    at_ms: Date.parse(timestamp),
    amount: digits(amount),
    payout: event === 'bet_lost' ? 0n : digits(payout),
    currency: typeof currency === 'string' ? currency : undefined,
  };
}

function digits(value: unknown): bigint | undefined {
  return typeof value === 'number' || typeof value === 'string' ? BigInt(value) : undefined;
}

function sameMoney(a: Entry, b: Entry): boolean {
  return a.player === b.player && a.amount === b.amount && a.payout === b.payout && a.currency === b.currency;
}

/** Whether the two settlements of a casino bet differ. A payout of 0 is equal in every currency. */
function isOtherSettlement(a: Entry, b: Entry): boolean {
  if (a.event === 'bet_placed' || b.event === 'bet_placed') return false;
  return a.payout !== b.payout || (a.payout !== 0n && a.currency !== b.currency);
}

function is(event: string): (entry: Entry) => boolean {
  return (entry) => entry.event === event;
}

/**
 * The latest change by event time wins. At equal times the later arrival wins, except that it does not lift an
 * exclusion.
 */
function changeStatus(player: OraclePlayer, { event, timestamp, properties }: SentEvent): void {
  const at_ms = Date.parse(timestamp);
  const isLater = (said: Said<unknown> | undefined) => said === undefined || at_ms >= said.at_ms;
  if (event === 'self_exclusion_set' && isLater(player.excluded)) player.excluded = { value: true, at_ms };
  if (event === 'self_exclusion_lifted' && (player.excluded === undefined || at_ms > player.excluded.at_ms)) {
    player.excluded = { value: false, at_ms };
  }
  if (!event.startsWith(KYC_EVENT)) return;
  const kind = event.slice(KYC_EVENT.length);
  const { level } = properties;
  player.kyc.push({ kind, at_ms, level: typeof level === 'number' ? level : null, expires_at_ms: null });
}
