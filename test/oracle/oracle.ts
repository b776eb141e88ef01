import { expectedOf, type KycStatement } from '../players/kyc/kyc-oracle.ts';
import { LARGEST_TOTAL, OracleRates } from './rates.ts';
import {
  countedOf,
  factOf,
  isSameFact,
  familyOf,
  judge,
  noReferenceSums,
  referenceOf,
  sumsOf,
  type Fact,
  type Family,
  type ReferenceSums,
} from './references.ts';

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
  | 'counted'
  | 'duplicate'
  | 'DUPLICATE_DIFFERS'
  | 'CONFLICTING_DUPLICATE'
  | 'UNKNOWN_PLAYER'
  | 'AMOUNT_OUT_OF_RANGE';

/** The expected state of one player; money in the base currency's smallest unit. */
export interface ExpectedPlayer extends ReferenceSums {
  ggr: bigint;
  ngr: bigint;
  session_count: bigint;
  status: string;
  kyc_status: string;
  kyc_level: bigint;
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

const KYC_EVENT = 'kyc_';

export class Oracle {
  #base_currency: string;
  #rates: OracleRates;
  #by_anonymous_id = new Map<string, OraclePlayer>();
  #by_player_id = new Map<string, OraclePlayer>();
  /** The accepted facts of every reference. */
  #references = new Map<string, { family: Family; facts: Fact<OraclePlayer>[] }>();

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

  /** Records that the player of one anonymous_id was merged into that of another. */
  merged(from_anonymous_id: string, into_anonymous_id: string): void {
    const from = this.#by_anonymous_id.get(from_anonymous_id);
    const into = this.#by_anonymous_id.get(into_anonymous_id);
    if (from === undefined || into === undefined || from === into) return;
    into.sessions += from.sessions;
    into.kyc.push(...from.kyc);
    into.excluded = bothExcluded(from.excluded, into.excluded);
    for (const named of [this.#by_anonymous_id, this.#by_player_id]) {
      for (const [id, player] of named) if (player === from) named.set(id, into);
    }
    for (const { facts } of this.#references.values()) {
      for (const fact of facts) if (fact.player === from) fact.player = into;
    }
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
    const references = [...this.#references.values()].map(({ family, facts }) => countedOf(family, facts));
    const sums = sumsOf(references, (amount, { currency = '', at_ms }) =>
      this.#rates.convert(amount, currency, this.#base_currency, at_ms),
    );
    const named = [...this.#by_anonymous_id, ...this.#by_player_id];
    return new Map(named.map(([id, player]) => [id, expectedPlayer(player, sums.get(player))]));
  }

  /** When an event has both ids, player_id decides. */
  #playerOf({ anonymous_id, player_id }: SentEvent): OraclePlayer | undefined {
    if (player_id !== undefined) return this.#by_player_id.get(player_id.toLowerCase());
    return this.#by_anonymous_id.get(anonymous_id ?? '') ?? unknownPlayer();
  }

  /** Records a money event, unless its key was recorded before: the first event with a key wins. */
  #claim(sent: SentEvent, player: OraclePlayer): Verdict {
    const family = familyOf(sent.event);
    const id = referenceOf(sent.event, sent.properties);
    if (family === undefined || id === undefined) return 'counted';
    const fact = factOf(sent, player);
    const key = JSON.stringify([family, id]);
    const reference = this.#references.get(key) ?? { family, facts: [] };
    const verdict = judge(fact, reference.facts);
    const first = reference.facts.find((other) => isSameFact(other, fact));
    if (verdict === 'duplicate' && first?.details !== fact.details) return 'DUPLICATE_DIFFERS';
    if (verdict !== 'counted') return verdict;
    if (this.#isTooLarge(fact)) return 'AMOUNT_OUT_OF_RANGE';
    reference.facts.push(fact);
    this.#references.set(key, reference);
    return 'counted';
  }

  #isTooLarge({ amount = 0n, payout = 0n, currency }: Fact<OraclePlayer>): boolean {
    return currency === this.#base_currency && (amount > LARGEST_TOTAL || payout > LARGEST_TOTAL);
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

function expectedPlayer(player: OraclePlayer, sums = noReferenceSums()): ExpectedPlayer {
  const kyc = expectedOf(player.kyc);
  const ggr = sums.total_wagered - sums.total_won;
  return {
    ...sums,
    ggr,
    ngr: ggr - (sums.total_bonus_wagered - sums.total_bonus_won) - sums.total_credited + sums.total_debited,
    session_count: player.sessions,
    status: player.excluded?.value === true ? 'self_excluded' : 'active',
    kyc_status: kyc.status,
    kyc_level: BigInt(kyc.level),
  };
}

/** An exclusion of one of two merged players holds; of two equal statements the later one. */
function bothExcluded(a: Said<boolean> | undefined, b: Said<boolean> | undefined): Said<boolean> | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.value !== b.value) return a.value ? a : b;
  return a.at_ms > b.at_ms ? a : b;
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
