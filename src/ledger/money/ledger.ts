import { definitionOf, type EventName } from '../../ingest/events/catalogue.ts';
import type { Rate } from './conversion.ts';

/** One distinct money event, as kept in the table `ledger`. Amounts are in the smallest unit. */
export interface LedgerRow {
  tenant_id: string;
  project_id: string;
  /** transaction_id or bet_id, as the caller gave it. */
  reference: string;
  event: MoneyEvent;
  /** Event time in milliseconds for outcomes of sport bets, else 0. */
  occurrence: number;
  /** Who holds it now: the survivor, where the player that claimed it was merged. */
  player_id: string;
  occurred_at_ms: number;
  currency: string | null;
  amount: bigint | null;
  payout: bigint | null;
  /** In the base currency; null while no rate is known, or where nothing was sent. */
  base_amount: bigint | null;
  base_payout: bigint | null;
  /** The rate that converted the row; null where none was needed or none is known. */
  rate: Rate | null;
  ingestion_id: string;
  event_index: number;
  log_partition: number;
  log_offset: bigint;
}

/** What makes a money event the same as another: key and content. */
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

/** Which kind of bet the event belongs to, if any. */
export function betKindOf(event: string): BetKind | undefined {
  if (casinoEvents.has(event)) return 'casino';
  return sportEvents.has(event) ? 'sport' : undefined;
}

/**
 * The claim an event makes, or undefined for events without money or id (a failed deposit may carry none). Only
 * properties that the catalogue knows for the event are read: a caller may call anything else `amount`. Throws
 * RangeError for an amount that the catalogue's schema would not have let through.
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
    // A lost bet pays nothing, without saying so.
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
 * Judges a claim against the rows of the same reference, of whatever kind. The first one stands: same key and
 * content is a duplicate, same key with another content a conflict, and so is a second, different settlement of a
 * casino bet.
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

/** Nothing is nothing in every currency. */
function samePayout(a: Content, b: Content): boolean {
  return a.payout === b.payout && (a.payout === 0n || a.currency === b.currency);
}

function isCasinoSettlement(event: MoneyEvent): boolean {
  return casinoEvents.has(event) && event !== 'bet_placed';
}
