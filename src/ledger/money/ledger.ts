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
  event: MoneyEvent;
  /** Event time in milliseconds for the outcome of a sport bet, which may be corrected; else 0. */
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

/** Every event that can have a ledger row. */
export const MONEY_EVENTS: readonly MoneyEvent[] = [...TRANSACTIONS, ...CASINO, ...SPORT];

const transactionEvents = new Set<string>(TRANSACTIONS);
const casinoEvents = new Set<string>(CASINO);
const sportEvents = new Set<string>(SPORT);

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
  const repeatable = sportEvents.has(event) && event !== 'sport_bet_placed';
  return {
    reference,
    event: event as MoneyEvent,
    occurrence: repeatable ? occurred_at_ms : 0,
    currency: typeof currency === 'string' ? currency : null,
    amount: moneyOf(read('amount')),
    // The event of a lost bet has no payout: it is 0.
    payout: event === 'bet_lost' ? 0n : moneyOf(read('payout')),
  };
}

const DIGITS = /^[0-9]{1,38}$/;

function moneyOf(value: unknown): bigint | null {
  if (value === undefined) return null;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  if (typeof value === 'string' && DIGITS.test(value)) return BigInt(value);
  throw new RangeError('an amount is a whole number of the smallest unit');
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
