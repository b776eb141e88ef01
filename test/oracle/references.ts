/**
 * The rules of one reference, a transaction or a bet, as an independent recomputation: what counts is stated over the
 * set of its accepted events. Like the oracle, this file is written from the decided rules only and imports no code of
 * the service.
 */

/** A money event; `Player` names who it belongs to. Amounts are in the smallest unit of its own currency. */
export interface Fact<Player> {
  event: string;
  player: Player;
  at_ms: number;
  /** movement_id where it is read, and the reversal_id of a reversal. */
  movement: string | undefined;
  amount: bigint | undefined;
  payout: bigint | undefined;
  bonus_stake: bigint | undefined;
  bonus_payout: bigint | undefined;
  currency: string | undefined;
  /** Of balance events only: no other reason decides anything. */
  reason: string | undefined;
  /** What decides nothing, but tells whether an event that came again is the same in all. */
  details: string;
}

export type MoneyTotal =
  | 'total_deposited'
  | 'total_withdrawn'
  | 'total_wagered'
  | 'total_won'
  | 'total_bonus_wagered'
  | 'total_bonus_won'
  | 'total_credited'
  | 'total_debited';

/** An amount that counts in a total of the fact's player, at the fact's rate. */
export interface Posting<Player> {
  total: MoneyTotal;
  fact: Fact<Player>;
  amount: bigint;
  /** What was sent, of which the amount is a part or the rest: while it cannot be converted, the part waits with it. */
  whole: bigint;
}

/** What a reference counts, and whose bet it is; null for a transaction and for a bet of which nothing counts. */
export interface Counted<Player> {
  postings: Posting<Player>[];
  bettor: { player: Player } | null;
}

export type Family = 'deposit' | 'withdrawal' | 'casino' | 'sport' | 'balance';

const FAMILIES: Readonly<Record<Family, readonly string[]>> = {
  deposit: ['deposit_initiated', 'deposit_confirmed', 'deposit_failed', 'deposit_reversed'],
  withdrawal: ['withdrawal_requested', 'withdrawal_confirmed', 'withdrawal_failed', 'withdrawal_reversed'],
  casino: ['bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'bet_voided'],
  sport: ['sport_bet_placed', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided', 'sport_bet_reopened'],
  balance: ['balance_credited', 'balance_debited'],
};
const FAMILY_OF = new Map(
  Object.entries(FAMILIES).flatMap(([family, events]) => events.map((event) => [event, family as Family])),
);
const WITH_MOVEMENT = ['bet_placed', 'bet_won', 'bet_voided', 'sport_cashout', 'sport_bet_voided'];
/** The outcomes of a sport bet. Of several at the same time, the one later in this list wins. */
const OUTCOMES = ['sport_bet_reopened', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided'];
const WITHOUT_CONTENT = ['bet_voided', 'sport_bet_voided', 'sport_bet_reopened'];
const IN_NO_TOTAL = ['correction', 'tip'];

export function familyOf(event: string): Family | undefined {
  return FAMILY_OF.get(event);
}

/** The id that the events of a reference share; undefined if the event has none. */
export function referenceOf(
  event: string,
  properties: Readonly<Record<string, unknown>>,
): string | undefined {
  const isBet = familyOf(event) === 'casino' || familyOf(event) === 'sport';
  return text(properties[isBet ? 'bet_id' : 'transaction_id']);
}

/** The fact that a sent event states. */
export function factOf<Player>(
  {
    event,
    timestamp,
    properties,
  }: { event: string; timestamp: string; properties: Readonly<Record<string, unknown>> },
  player: Player,
): Fact<Player> {
  const isBet = familyOf(event) === 'casino' || familyOf(event) === 'sport';
  const amount = digits(properties['amount']);
  const payout = event === 'bet_lost' ? 0n : digits(properties['payout']);
  return {
    event,
    player,
    at_ms: Date.parse(timestamp),
    movement: isReversal(event)
      ? text(properties['reversal_id'])
      : WITH_MOVEMENT.includes(event)
        ? text(properties['movement_id'])
        : undefined,
    amount,
    payout,
    bonus_stake: isBet && amount !== undefined ? digits(properties['bonus_stake']) : undefined,
    bonus_payout: isBet && payout !== undefined ? digits(properties['bonus_payout']) : undefined,
    currency: text(properties['currency']),
    reason: familyOf(event) === 'balance' ? text(properties['reason']) : undefined,
    details: JSON.stringify([
      Date.parse(timestamp),
      ...['game_id', 'payment_method', 'sport', 'event_ref'].map((name) => properties[name] ?? null),
    ]),
  };
}

/** The verdict on a new fact about a reference of which these were accepted. */
export function judge<Player>(
  fact: Fact<Player>,
  accepted: readonly Fact<Player>[],
): 'counted' | 'duplicate' | 'CONFLICTING_DUPLICATE' {
  const original = accepted.find(({ event }) => event === fact.event.replace('_reversed', '_confirmed'));
  if (isReversal(fact.event) && original !== undefined && original.currency !== fact.currency)
    return 'CONFLICTING_DUPLICATE';
  const key = keyOf(fact);
  const first = accepted.find((other) => keyOf(other) === key);
  if (first !== undefined) return hasContent(first, fact) ? 'duplicate' : 'CONFLICTING_DUPLICATE';
  return accepted.some((other) => isOtherSettlement(other, fact)) ? 'CONFLICTING_DUPLICATE' : 'counted';
}

/** What the accepted facts of one reference count. */
export function countedOf<Player>(family: Family, facts: readonly Fact<Player>[]): Counted<Player> {
  switch (family) {
    case 'deposit':
      return { postings: transaction('total_deposited', 'deposit', facts), bettor: null };
    case 'withdrawal':
      return { postings: transaction('total_withdrawn', 'withdrawal', facts), bettor: null };
    case 'balance':
      return { postings: balance(facts), bettor: null };
    case 'casino':
      return casino(facts);
    case 'sport':
      return sport(facts);
  }
}

/** The sums of one player over references. */
export type ReferenceSums = Record<MoneyTotal | 'bet_count' | 'pending_conversions', bigint>;

/**
 * Adds up per player what references count. `convert` gives what an amount of a fact is worth, or undefined: then the
 * fact is one pending conversion, however many of its amounts wait.
 */
export function sumsOf<Player>(
  references: Iterable<Counted<Player>>,
  convert: (amount: bigint, fact: Fact<Player>) => bigint | undefined,
): Map<Player, ReferenceSums> {
  const sums = new Map<Player, ReferenceSums>();
  const of = (player: Player) => {
    let of_player = sums.get(player);
    if (of_player === undefined) sums.set(player, (of_player = noReferenceSums()));
    return of_player;
  };
  const pending = new Set<Fact<Player>>();
  for (const { postings, bettor } of references) {
    if (bettor !== null) of(bettor.player).bet_count += 1n;
    for (const { total, fact, amount, whole } of postings) {
      if (amount === 0n) continue;
      const converted = convert(amount, fact);
      if (converted === undefined || convert(whole, fact) === undefined) pending.add(fact);
      else of(fact.player)[total] += converted;
    }
  }
  for (const { player } of pending) of(player).pending_conversions += 1n;
  return sums;
}

export function noReferenceSums(): ReferenceSums {
  return {
    total_deposited: 0n,
    total_withdrawn: 0n,
    total_wagered: 0n,
    total_won: 0n,
    total_bonus_wagered: 0n,
    total_bonus_won: 0n,
    total_credited: 0n,
    total_debited: 0n,
    bet_count: 0n,
    pending_conversions: 0n,
  };
}

/** What was confirmed less the latest amount of every reversal in its currency, but not below 0. */
function transaction<Player>(
  total: MoneyTotal,
  family: 'deposit' | 'withdrawal',
  facts: readonly Fact<Player>[],
): Posting<Player>[] {
  const confirmed = facts.find(is(`${family}_confirmed`));
  if (confirmed === undefined) return [];
  const reversals = facts
    .filter(is(`${family}_reversed`))
    .filter(({ currency }) => currency === confirmed.currency);
  const latest = reversals.filter(
    (one) => !reversals.some((other) => other.movement === one.movement && other.at_ms > one.at_ms),
  );
  const { amount: whole = 0n } = confirmed;
  const left = whole - sum(latest.map(({ amount }) => amount));
  return [{ total, fact: confirmed, amount: left > 0n ? left : 0n, whole }];
}

function balance<Player>(facts: readonly Fact<Player>[]): Posting<Player>[] {
  return facts
    .filter(({ reason }) => !IN_NO_TOTAL.includes(reason ?? ''))
    .map((fact) => {
      const total = fact.event === 'balance_credited' ? 'total_credited' : 'total_debited';
      return { total, fact, amount: fact.amount ?? 0n, whole: fact.amount ?? 0n };
    });
}

function casino<Player>(facts: readonly Fact<Player>[]): Counted<Player> {
  const voids = facts.filter(is('bet_voided'));
  if (voids.some(({ movement }) => movement === undefined)) return { postings: [], bettor: null };
  const isLive = (fact: Fact<Player>) =>
    fact.movement === undefined
      ? !facts.some((other) => isTwin(fact, other))
      : !voids.some(({ movement }) => movement === fact.movement);
  const settled = facts.filter(is('bet_settled'));
  const placed = facts.filter(is('bet_placed'));
  const won = facts.filter(is('bet_won'));
  const lost = facts.filter(is('bet_lost'));
  const stakes = placed.length > 0 ? placed.filter(isLive) : settled;
  const payouts = won.some(({ movement }) => movement !== undefined)
    ? [...won, ...lost].filter(isLive)
    : ([settled, won, lost].find(({ length }) => length > 0) ?? []);
  const isBet =
    stakes.length > 0 ||
    payouts.some(({ payout = 0n }) => payout > 0n) ||
    (payouts.length > 0 && placed.length === 0);
  return bet(stakes, payouts, isBet);
}

function sport<Player>(facts: readonly Fact<Player>[]): Counted<Player> {
  const voids = facts.filter(is('sport_bet_voided'));
  const outcomes = facts
    .filter((fact) => OUTCOMES.includes(fact.event) && fact.movement === undefined)
    // A void is never a twin: without movement_id it is of the whole bet.
    .filter((fact) => fact.event === 'sport_bet_voided' || !facts.some((other) => isTwin(fact, other)))
    .sort((a, b) => a.at_ms - b.at_ms || OUTCOMES.indexOf(a.event) - OUTCOMES.indexOf(b.event));
  const outcome = outcomes.at(-1);
  if (outcome?.event === 'sport_bet_voided') return { postings: [], bettor: null };
  const cash_outs = facts
    .filter(is('sport_cashout'))
    .filter(({ movement }) => movement !== undefined && !voids.some((other) => other.movement === movement));
  const placed = facts.filter(is('sport_bet_placed'));
  const said = outcomes.filter(({ event, amount }) => event === 'sport_bet_settled' && amount !== undefined);
  const stakes = placed.length > 0 ? placed : said.slice(-1);
  const paid = outcome === undefined || outcome.event === 'sport_bet_reopened' ? [] : [outcome];
  const payouts = [...paid, ...cash_outs];
  return bet(stakes, payouts, stakes.length > 0 || payouts.length > 0);
}

/** What a bet of these stakes and payouts counts; `isBet`: it counts as a bet at all. */
export function bet<Player>(
  stakes: readonly Fact<Player>[],
  payouts: readonly Fact<Player>[],
  isBet: boolean,
): Counted<Player> {
  const post = (total: MoneyTotal, fact: Fact<Player>, amount = 0n, whole = 0n) => ({
    total,
    fact,
    amount,
    whole,
  });
  const postings = [
    ...stakes.flatMap((fact) => [
      post('total_wagered', fact, fact.amount, fact.amount),
      post('total_bonus_wagered', fact, fact.bonus_stake, fact.amount),
    ]),
    ...payouts.flatMap((fact) => [
      post('total_won', fact, fact.payout, fact.payout),
      post('total_bonus_won', fact, fact.bonus_payout, fact.payout),
    ]),
  ];
  const bettor = [...stakes].sort(byTime)[0] ?? [...payouts].sort(byTime)[0];
  return { postings, bettor: isBet && bettor !== undefined ? { player: bettor.player } : null };
}

/** By event time, then by movement_id, an absent one first; a win comes before a loss of the same time. */
function byTime<Player>(a: Fact<Player>, b: Fact<Player>): number {
  const [x, y] = [a.movement ?? '', b.movement ?? ''];
  const isLost = is<Player>('bet_lost');
  return a.at_ms - b.at_ms || Number(x > y) - Number(x < y) || Number(isLost(a)) - Number(isLost(b));
}

/** Whether `plain`, without movement_id, states again what `other` states with one. */
function isTwin<Player>(plain: Fact<Player>, other: Fact<Player>): boolean {
  return (
    other.movement !== undefined &&
    other.event === plain.event &&
    other.at_ms === plain.at_ms &&
    other.amount === plain.amount &&
    other.payout === plain.payout &&
    other.currency === plain.currency
  );
}

/** What of a reference happens once. An outcome of a sport bet and a reversal happen once a time. */
function keyOf<Player>({ event, movement, at_ms, currency }: Fact<Player>): string {
  if (isReversal(event)) return JSON.stringify([event, movement, at_ms, currency]);
  if (movement !== undefined) return JSON.stringify([event, movement]);
  return JSON.stringify([event, null, OUTCOMES.includes(event) ? at_ms : null]);
}

/** Whether both are the same thing that happens once, whatever they say about it. */
export function isSameFact<Player>(a: Fact<Player>, b: Fact<Player>): boolean {
  return keyOf(a) === keyOf(b);
}

function hasContent<Player>(a: Fact<Player>, b: Fact<Player>): boolean {
  return (
    WITHOUT_CONTENT.includes(a.event) ||
    (a.player === b.player &&
      a.amount === b.amount &&
      a.payout === b.payout &&
      a.currency === b.currency &&
      a.bonus_stake === b.bonus_stake &&
      a.bonus_payout === b.bonus_payout &&
      a.reason === b.reason)
  );
}

/** Whether two settlements of a whole casino bet differ. A payout of 0 is equal in every currency. */
function isOtherSettlement<Player>(a: Fact<Player>, b: Fact<Player>): boolean {
  const isSettlement = ({ event, movement }: Fact<Player>) =>
    ['bet_settled', 'bet_won', 'bet_lost'].includes(event) && movement === undefined;
  if (!isSettlement(a) || !isSettlement(b)) return false;
  return a.payout !== b.payout || (a.payout !== 0n && a.currency !== b.currency);
}

function isReversal(event: string): boolean {
  return event.endsWith('_reversed');
}

function is<Player>(event: string): (fact: Fact<Player>) => boolean {
  return (fact) => fact.event === event;
}

function sum(amounts: readonly (bigint | undefined)[]): bigint {
  return amounts.reduce<bigint>((all, amount = 0n) => all + amount, 0n);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function digits(value: unknown): bigint | undefined {
  return typeof value === 'number' || typeof value === 'string' ? BigInt(value) : undefined;
}
