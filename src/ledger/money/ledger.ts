import { definitionOf, type EventName } from '../../ingest/events/catalogue.ts';
import type { Rate } from './conversion.ts';

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
  amount: bigint | null;
  payout: bigint | null;
  /** In the smallest unit of the base currency; null while no rate is known, or when no amount was sent. */
  base_amount: bigint | null;
  base_payout: bigint | null;
  /** The rate that converted the row; null when none was needed or none is known. */
  rate: Rate | null;
  ingestion_id: string;
  event_index: number;
  log_partition: number;
  log_offset: bigint;
}

/** The key and the content of a money event: they decide whether it is a duplicate of another. */
export interface Claim {
  reference: string;
  event: MoneyEvent;
  occurrence: number;
  currency: string | null;
  amount: bigint | null;
  payout: bigint | null;
}

const TRANSACTIONS = [
  'deposit_initiated',
  'deposit_confirmed',
  'deposit_failed',
  'withdrawal_requested',
  'withdrawal_confirmed',
  'withdrawal_failed',
] as const satisfies readonly EventName[];
const CASINO = ['bet_placed', 'bet_settled', 'bet_won', 'bet_lost'] as const satisfies readonly EventName[];
const SPORT = [
  'sport_bet_placed',
  'sport_bet_settled',
  'sport_cashout',
  'sport_bet_voided',
] as const satisfies readonly EventName[];

export type CasinoEvent = (typeof CASINO)[number];
export type SportEvent = (typeof SPORT)[number];
export type MoneyEvent = (typeof TRANSACTIONS)[number] | CasinoEvent | SportEvent;
export type BetKind = 'casino' | 'sport';

/** The order of the ledger's keys, in which all writers lock rows. */
export function byLedgerKey(a: LedgerRow, b: LedgerRow): number {
  if (a.project_id !== b.project_id) return a.project_id < b.project_id ? -1 : 1;
  return a.reference === b.reference ? a.ordinal - b.ordinal : a.reference < b.reference ? -1 : 1;
}

/** Every event that can have a ledger row. */
export const MONEY_EVENTS: readonly MoneyEvent[] = [...TRANSACTIONS, ...CASINO, ...SPORT];

const transactionEvents = new Set<string>(TRANSACTIONS);
const casinoEvents = new Set<string>(CASINO);
const sportEvents = new Set<string>(SPORT);

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

/** The kind of bet to which the event belongs; undefined for other events. */
export function betKindOf(event: string): BetKind | undefined {
  if (casinoEvents.has(event)) return 'casino';
  return sportEvents.has(event) ? 'sport' : undefined;
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
  const isBet = betKindOf(event) !== undefined;
  if (!isBet && !transactionEvents.has(event)) return undefined;
  const reference = properties[isBet ? 'bet_id' : 'transaction_id'];
  if (typeof reference !== 'string') return undefined;
  const known = definitionOf(event)?.properties ?? {};
  const read = (name: string) => (Object.hasOwn(known, name) ? properties[name] : undefined);
  const currency = read('currency');
  return {
    reference,
    event: event as MoneyEvent,
    occurrence: occurrenceOf(event, occurred_at_ms),
    currency: typeof currency === 'string' ? currency : null,
    amount: moneyOf(read('amount')),
    // The event of a lost bet has no payout: it is 0.
    payout: event === 'bet_lost' ? 0n : moneyOf(read('payout')),
  };
}

/**
 * Whether the ledger has the amount of every event of this name, so that its conversion is the only thing to read. It has
 * none of most events, and of an event without a currency or without a reference.
 */
export function isAlwaysInLedger(event: string, property: 'amount' | 'payout'): boolean {
  const { required = [], properties = {} } = definitionOf(event) ?? {};
  if (betKindOf(event) === undefined && !transactionEvents.has(event)) return false;
  if (event === 'bet_lost') return property === 'payout';
  return Object.hasOwn(properties, property) && required.includes('currency');
}

/**
 * What tells money events of one name and reference apart. The outcome of a sport bet may be corrected: each correction,
 * by its event time in milliseconds, is an event of its own. All others happen once: 0.
 */
export function occurrenceOf(event: string, occurred_at_ms: number): number {
  return sportEvents.has(event) && event !== 'sport_bet_placed' ? occurred_at_ms : 0;
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

/**
 * Judges a claim against all rows of the same reference. The first row of a key counts. A claim with the same key,
 * content and player is a duplicate; with the same key and another content or player it is a conflict. So is a
 * settlement of a casino bet whose payout differs from an earlier settlement's.
 */
export function judgeClaim(
  claim: Claim,
  player_id: string | undefined,
  rows: readonly LedgerRow[],
): ClaimVerdict {
  for (const row of rows) {
    if (row.event === claim.event && row.occurrence === claim.occurrence) {
      return sameContent(row, claim) && row.player_id === player_id ? 'duplicate' : 'conflict';
    }
  }
  if (!isCasinoSettlement(claim.event)) return 'new';
  // A transaction may have the same reference: only settlements can contradict a settlement.
  const contradicted = rows.some((row) => isCasinoSettlement(row.event) && !samePayout(row, claim));
  return contradicted ? 'conflict' : 'new';
}

type Content = Pick<Claim, 'amount' | 'payout' | 'currency'>;

function sameContent(a: Content, b: Content): boolean {
  return a.amount === b.amount && a.payout === b.payout && a.currency === b.currency;
}

/** Payouts of 0 are the same in every currency. */
function samePayout(a: Content, b: Content): boolean {
  return a.payout === b.payout && (a.payout === 0n || a.currency === b.currency);
}

function isCasinoSettlement(event: MoneyEvent): boolean {
  return casinoEvents.has(event) && event !== 'bet_placed';
}
