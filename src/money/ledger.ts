import type { EventName } from '../events/catalogue.ts';

/** One distinct money event, as kept in the table `ledger` (design 5). Amounts are in the smallest unit. */
export interface LedgerRow {
  tenant_id: string;
  project_id: string;
  /** transaction_id or bet_id, as the caller gave it. */
  reference: string;
  event: MoneyEvent;
  /** Event time in milliseconds for outcomes of sport bets, else 0. */
  occurrence: number;
  player_id: string;
  occurred_at_ms: number;
  currency: string | null;
  amount: bigint | null;
  payout: bigint | null;
  /** In the base currency; null while no rate is known, or where nothing was sent. */
  base_amount: bigint | null;
  base_payout: bigint | null;
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

const transactionEvents = new Set<string>(TRANSACTIONS);
const casinoEvents = new Set<string>(CASINO);
const sportEvents = new Set<string>(SPORT);

/** Which kind of bet the event belongs to, if any. */
export function betKindOf(event: string): BetKind | undefined {
  if (casinoEvents.has(event)) return 'casino';
  return sportEvents.has(event) ? 'sport' : undefined;
}

/**
 * The claim an event makes, or undefined for events without money or id (a failed deposit may carry none).
 * `properties` have passed the catalogue's schema.
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
  const repeatable = sportEvents.has(event) && event !== 'sport_bet_placed';
  return {
    reference,
    event: event as MoneyEvent,
    occurrence: repeatable ? occurred_at_ms : 0,
    currency: typeof properties['currency'] === 'string' ? properties['currency'] : null,
    amount: moneyOf(properties['amount']),
    // A lost bet pays nothing, without saying so.
    payout: event === 'bet_lost' ? 0n : moneyOf(properties['payout']),
  };
}

function moneyOf(value: unknown): bigint | null {
  return typeof value === 'number' || typeof value === 'string' ? BigInt(value) : null;
}

export type ClaimVerdict = 'new' | 'duplicate' | 'conflict';

/**
 * Judges a claim against the rows of the same reference. The first one stands: same key and content is a
 * duplicate, same key with another content a conflict, and so is a second, different settlement of a casino bet.
 */
export function judgeClaim(claim: Claim, player_id: string, rows: readonly LedgerRow[]): ClaimVerdict {
  for (const row of rows) {
    if (row.event === claim.event && row.occurrence === claim.occurrence) {
      return sameContent(row, claim) && row.player_id === player_id ? 'duplicate' : 'conflict';
    }
  }
  if (!isCasinoSettlement(claim.event)) return 'new';
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
