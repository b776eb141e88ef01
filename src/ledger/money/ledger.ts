import { definitionOf, referenceOf, type EventName } from '../../ingest/events/catalogue.ts';
import type { Rate } from './conversion.ts';

/** What a bet is about: a game and its category, or a sport and the type of the bet. An empty text: the event does not say. */
export interface Item {
  item: string;
  item_group: string;
}

/**
 * One distinct money event: a row of the table `ledger`. `amount` and `payout` are in the smallest unit of `currency`.
 */
export interface LedgerRow {
  tenant_id: string;
  project_id: string;
  /** transaction_id or bet_id, as the caller sent it. */
  reference: string;
  /** The rows of a reference are numbered from 0 on, in the order in which they were claimed. */
  ordinal: number;
  event: MoneyEvent;
  /** See {@link occurrenceOf}. */
  occurrence: number;
  /** The player that holds the row now: the survivor, if the player that claimed it was merged. */
  player_id: string;
  occurred_at_ms: number;
  currency: string | null;
  /** The provider's id of one debit or credit of a bet; of a reversal its reversal_id; null: not sent. */
  movement_id: string | null;
  amount: bigint | null;
  payout: bigint | null;
  /** The parts of amount and payout that are bonus money; null: not sent. */
  bonus_stake: bigint | null;
  bonus_payout: bigint | null;
  /** Why a balance changed; null on all other events. */
  reason: string | null;
  /**
   * 32 bits of the details that do not count, such as the game: a duplicate with others is reported. Null in rows from before
   * there were such.
   */
  detail_hash: number | null;
  /** Of a placed bet what it is about; null on all others, where it does not say, and in rows from before it was kept. */
  item: Item | null;
  /** In the smallest unit of the base currency; null while no rate is known, or when no amount was sent. */
  base_amount: bigint | null;
  base_payout: bigint | null;
  base_bonus_stake: bigint | null;
  base_bonus_payout: bigint | null;
  /** The decimal places of both currencies, of a deposit or a withdrawal with a rate: what is left of it is converted anew. */
  scales: { from_scale: number; to_scale: number } | null;
  /** The rate that converted the row; null when none was needed or none is known. */
  rate: Rate | null;
  ingestion_id: string;
  event_index: number;
  log_partition: number;
  log_offset: bigint;
}

/** The key and the content of a money event: they decide whether it is a duplicate of another. */
export type Claim = Pick<
  LedgerRow,
  | 'reference'
  | 'event'
  | 'occurrence'
  | 'currency'
  | 'movement_id'
  | 'amount'
  | 'payout'
  | 'bonus_stake'
  | 'bonus_payout'
  | 'reason'
>;

/** The money events of each kind. The rows of one kind and one reference decide together what they count. */
const KINDS = {
  deposit: ['deposit_initiated', 'deposit_confirmed', 'deposit_failed', 'deposit_reversed'],
  withdrawal: ['withdrawal_requested', 'withdrawal_confirmed', 'withdrawal_failed', 'withdrawal_reversed'],
  balance: ['balance_credited', 'balance_debited'],
  casino: ['bet_placed', 'bet_settled', 'bet_won', 'bet_lost', 'bet_voided'],
  sport: ['sport_bet_placed', 'sport_bet_settled', 'sport_cashout', 'sport_bet_voided', 'sport_bet_reopened'],
} as const satisfies Record<string, readonly EventName[]>;

export type MoneyKind = keyof typeof KINDS;
export type BetKind = 'casino' | 'sport';
export type MoneyEvent = (typeof KINDS)[MoneyKind][number];

/** The order of the ledger's keys, in which all writers lock rows. */
export function byLedgerKey(a: LedgerRow, b: LedgerRow): number {
  if (a.project_id !== b.project_id) return a.project_id < b.project_id ? -1 : 1;
  return a.reference === b.reference ? a.ordinal - b.ordinal : a.reference < b.reference ? -1 : 1;
}

const kinds = new Map<string, MoneyKind>(
  Object.entries(KINDS).flatMap(([kind, events]) =>
    events.map((event) => [event, kind as MoneyKind] as const),
  ),
);

/** Every event that can have a ledger row. */
export const MONEY_EVENTS = [...kinds.keys()] as readonly MoneyEvent[];

/** Every event of a bet. */
export const BET_EVENTS: readonly MoneyEvent[] = [...KINDS.casino, ...KINDS.sport];

/** The events of a kind. */
export function eventsOfKind(kind: MoneyKind): readonly MoneyEvent[] {
  return KINDS[kind];
}

/** The kind of money event; undefined for other events. */
export function moneyKindOf(event: MoneyEvent): MoneyKind;
export function moneyKindOf(event: string): MoneyKind | undefined;
export function moneyKindOf(event: string): MoneyKind | undefined {
  return kinds.get(event);
}

/** Whether a change of rates may change the base amounts of the row: those converted by a rate, and those without a known one. */
export function isRestatable(
  row: Pick<LedgerRow, 'amount' | 'payout' | 'base_amount' | 'base_payout' | 'rate'>,
): boolean {
  return (
    row.rate !== null ||
    (row.amount !== null && row.base_amount === null) ||
    (row.payout !== null && row.base_payout === null)
  );
}

/** The wanted rows, mostly one or none. A list that begins with its first element takes a fraction of the room of `filter`'s. */
export function select(rows: readonly LedgerRow[], isWanted: (row: LedgerRow) => boolean): LedgerRow[] {
  let selected: LedgerRow[] | undefined;
  for (const row of rows) {
    if (!isWanted(row)) continue;
    if (selected === undefined) selected = [row];
    else selected.push(row);
  }
  return selected ?? [];
}

/** Whether the event takes back a bet or a movement of it. */
export function isVoid({ event }: Pick<LedgerRow, 'event'>): boolean {
  return event === 'bet_voided' || event === 'sport_bet_voided';
}

/** The kind of bet to which the event belongs; undefined for other events. */
export function betKindOf(event: string): BetKind | undefined {
  const kind = moneyKindOf(event);
  return kind === 'casino' || kind === 'sport' ? kind : undefined;
}

/**
 * The claim of an event; undefined for events without money or without transaction_id or bet_id (a failed deposit may
 * have none). Only properties that the catalogue defines for the event are read: on other events a caller may use the
 * name `amount` for anything. Throws RangeError for an amount that violates the catalogue's schema.
 */
export function claimOf(
  event: string,
  properties: Record<string, unknown>,
  occurred_at_ms: number,
): Claim | undefined {
  const kind = moneyKindOf(event);
  if (kind === undefined) return undefined;
  const reference = referenceOf(event, properties);
  if (reference === undefined) return undefined;
  const known = definitionOf(event)?.properties ?? {};
  const movement_id = textOf(known, properties, isReversal(event) ? 'reversal_id' : 'movement_id');
  return {
    reference,
    event: event as MoneyEvent,
    occurrence: occurrenceOf(event, movement_id, occurred_at_ms),
    movement_id,
    currency: textOf(known, properties, 'currency'),
    amount: moneyOf(valueOf(known, properties, 'amount')),
    // The event of a lost bet has no payout: it is 0.
    payout: event === 'bet_lost' ? 0n : moneyOf(valueOf(known, properties, 'payout')),
    // Intake checks them since they are known. Before, callers could use these names for anything.
    bonus_stake: amountOf(valueOf(known, properties, 'bonus_stake')) ?? null,
    bonus_payout: amountOf(valueOf(known, properties, 'bonus_payout')) ?? null,
    reason: kind === 'balance' ? textOf(known, properties, 'reason') : null,
  };
}

/** The value of a property; undefined for one that is not `known` of the event. */
function valueOf(known: object, properties: Record<string, unknown>, name: string): unknown {
  const value = properties[name];
  return value !== undefined && Object.hasOwn(known, name) ? value : undefined;
}

function textOf(known: object, properties: Record<string, unknown>, name: string): string | null {
  const value = valueOf(known, properties, name);
  return typeof value === 'string' ? value : null;
}

/**
 * Whether the ledger has the amount of every event of this name, so that its conversion is the only thing to read. It has
 * none of most events, and of an event without a currency or without a reference.
 */
export function isAlwaysInLedger(
  event: string,
  property: 'amount' | 'payout' | 'bonus_stake' | 'bonus_payout',
): boolean {
  const { required = [], properties = {} } = definitionOf(event) ?? {};
  if (moneyKindOf(event) === undefined) return false;
  if (event === 'bet_lost') return property === 'payout';
  return Object.hasOwn(properties, property) && required.includes('currency');
}

/**
 * What tells money events of one name, reference and movement apart. The outcome of a sport bet and a reversal may be
 * corrected: each correction, by its event time in milliseconds, is an event of its own. All others happen once: 0.
 */
export function occurrenceOf(event: string, movement_id: string | null, occurred_at_ms: number): number {
  if (isReversal(event)) return occurred_at_ms;
  const is_outcome = moneyKindOf(event) === 'sport' && event !== 'sport_bet_placed' && movement_id === null;
  return is_outcome ? occurred_at_ms : 0;
}

/** Whether the event takes back a part of a deposit or a withdrawal. */
function isReversal(event: string): boolean {
  return event === 'deposit_reversed' || event === 'withdrawal_reversed';
}

const DIGITS = /^[0-9]{1,38}$/;

/**
 * The amount that a caller wrote: a whole number of the smallest unit, not negative, or its digits (an amount above 2^53
 * needs them). Undefined for anything else.
 */
export function amountOf(value: unknown): bigint | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  return typeof value === 'string' && DIGITS.test(value) ? BigInt(value) : undefined;
}

function moneyOf(value: unknown): bigint | null {
  if (value === undefined) return null;
  const amount = amountOf(value);
  if (amount === undefined) throw new RangeError('an amount is a whole number of the smallest unit');
  return amount;
}

/** Amounts of an event that is not in the ledger, as they were sent with a currency. */
export type SentMoney = Pick<Claim, 'amount' | 'payout'> & { currency: string };

/**
 * The amounts that an event without a claim names a currency for; undefined when it has none. They count for nothing,
 * but are compared in the base currency, as those of the ledger are.
 */
export function sentMoneyOf({ currency, amount, payout }: Record<string, unknown>): SentMoney | undefined {
  if (typeof currency !== 'string' || currency === '') return undefined;
  const money = { currency, amount: amountOf(amount) ?? null, payout: amountOf(payout) ?? null };
  return money.amount === null && money.payout === null ? undefined : money;
}

export type ClaimVerdict = 'new' | 'duplicate' | 'conflict';

/** Events that say nothing but their key. */
const WITHOUT_CONTENT: ReadonlySet<string> = new Set<MoneyEvent>([
  'bet_voided',
  'sport_bet_voided',
  'sport_bet_reopened',
]);

/**
 * Judges a claim against all rows of the same reference (docs/feeds.md, What counts how). The first row of a key counts. A claim with the
 * same key, content and player is a duplicate; with the same key and another content or player it is a conflict. So is a
 * settlement of a casino bet whose payout differs from an earlier one's, and a reversal in another currency than its
 * original.
 */
export function judgeClaim(
  claim: Claim,
  player_id: string | undefined,
  rows: readonly LedgerRow[],
): ClaimVerdict {
  const original = isReversal(claim.event) ? rows.find((row) => isOriginalOf(row, claim)) : undefined;
  if (original !== undefined && original.currency !== claim.currency) return 'conflict';
  const row = rowOfKey(claim, rows);
  if (row !== undefined) {
    if (WITHOUT_CONTENT.has(claim.event)) return 'duplicate';
    return sameContent(row, claim) && row.player_id === player_id ? 'duplicate' : 'conflict';
  }
  if (!isSettlement(claim)) return 'new';
  // A transaction may have the same reference: only settlements can contradict a settlement.
  return rows.some((row) => isSettlement(row) && !samePayout(row, claim)) ? 'conflict' : 'new';
}

/** The row that a claim is a duplicate of, or contradicts by its key; undefined when the key is new. */
export function rowOfKey<R extends Claim>(claim: Claim, rows: readonly R[]): R | undefined {
  return rows.find((row) => hasSameKey(row, claim));
}

/** Rows of one reference beyond which it takes no movements: all of them are read for each event, and judged together. */
export const MAX_ROWS_WITH_MOVEMENTS = 10_000;

/** Whether a new claim is one movement too many. Events without movement_id or reversal_id have no such limit. */
export function isMovementTooMany(
  { movement_id }: Pick<Claim, 'movement_id'>,
  rows: readonly LedgerRow[],
): boolean {
  return movement_id !== null && rows.length >= MAX_ROWS_WITH_MOVEMENTS;
}

function isOriginalOf({ event }: Pick<Claim, 'event'>, reversal: Pick<Claim, 'event'>): boolean {
  return event === (reversal.event === 'deposit_reversed' ? 'deposit_confirmed' : 'withdrawal_confirmed');
}

/** The currency of a reversal is a part of its key: one in another currency, which came first, is no earlier one of it. */
function hasSameKey(a: Claim, b: Claim): boolean {
  return (
    a.event === b.event &&
    a.movement_id === b.movement_id &&
    a.occurrence === b.occurrence &&
    (!isReversal(a.event) || a.currency === b.currency)
  );
}

function sameContent(a: Claim, b: Claim): boolean {
  return (
    a.amount === b.amount &&
    a.payout === b.payout &&
    a.currency === b.currency &&
    a.bonus_stake === b.bonus_stake &&
    a.bonus_payout === b.bonus_payout &&
    a.reason === b.reason
  );
}

/** Payouts of 0 are the same in every currency. */
function samePayout(a: Claim, b: Claim): boolean {
  return a.payout === b.payout && (a.payout === 0n || a.currency === b.currency);
}

/** A statement about the payout of a whole casino bet. */
function isSettlement({ event, movement_id }: Pick<Claim, 'event' | 'movement_id'>): boolean {
  return (event === 'bet_settled' || event === 'bet_won' || event === 'bet_lost') && movement_id === null;
}
