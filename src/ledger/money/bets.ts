import { isVoid, select, type BetKind, type LedgerRow, type MoneyEvent } from './ledger.ts';
import type { TotalsDelta } from './totals.ts';

export type BetStatus = 'placed' | 'settled' | 'voided' | 'cashed_out';

/** Why a row of the ledger that has money of its own counts nothing (docs/feeds.md, What counts how). */
export const NOT_COUNTED_REASONS = [
  'voided',
  // The same movement came with a movement_id.
  'twin',
  // Another row says it: a later outcome, the movements, the placed stake.
  'superseded',
  'in_no_total',
  'other_currency',
  'no_original',
] as const;
export type NotCountedReason = (typeof NOT_COUNTED_REASONS)[number];

/**
 * What one row counts, in the smallest unit of the base currency; 0 while no rate is known. Of a transaction `stake` is
 * its amount, and of a reversal what it takes back.
 */
export interface RowCounts {
  stake: bigint;
  payout: bigint;
  bonus_stake: bigint;
  bonus_payout: bigint;
}

export const COUNTS_NOTHING: RowCounts = { stake: 0n, payout: 0n, bonus_stake: 0n, bonus_payout: 0n };

/** What the rows of one reference count, and what they add to the totals of their players. */
export interface ReferenceEffect {
  deltas: TotalsDelta[];
  /** The rows that count; the others count nothing. */
  counts: ReadonlyMap<LedgerRow, RowCounts>;
  /** The rows with money of their own that count nothing. A row that counts in part is not among them. */
  notCounted: () => Map<LedgerRow, NotCountedReason>;
}

export interface BetEffect extends ReferenceEffect {
  status: BetStatus;
  /** The rows whose amounts are the stake that counts, by event time, then by movement_id. */
  stakes: readonly LedgerRow[];
}

/** What counts of one bet. A row may be both a stake and a payout. */
interface Counted {
  stakes: readonly LedgerRow[];
  payouts: readonly LedgerRow[];
}

/** At equal times a void takes precedence over a cash-out, a cash-out over a settlement, and that over a reopened bet. */
const OUTCOME_RANK: Partial<Record<MoneyEvent, number>> = {
  sport_bet_reopened: 0,
  sport_bet_settled: 1,
  sport_cashout: 2,
  sport_bet_voided: 3,
};
/** Casino settlements without movement_id have the same payout; the one with the most fields is taken. */
const SETTLEMENT_RANK: Partial<Record<MoneyEvent, number>> = { bet_lost: 0, bet_won: 1, bet_settled: 2 };

/**
 * The effect of a bet: a function of its ledger rows alone, in any order. `rows` are all rows of one bet, at
 * least one.
 */
export function betEffect(kind: BetKind, rows: readonly LedgerRow[]): BetEffect {
  return kind === 'casino' ? casinoEffect(rows) : sportEffect(rows);
}

function casinoEffect(rows: readonly LedgerRow[]): BetEffect {
  const twins = twinsOf(rows);
  // A void of the whole bet is final, whatever comes before or after it.
  if (rows.some((row) => row.event === 'bet_voided' && row.movement_id === null))
    return voidedEffect(rows, twins);
  const voided = voidedMovements(rows);
  const isLive = (row: LedgerRow) =>
    !twins.has(row) && (row.movement_id === null || !voided.has(row.movement_id));

  const settled = rows.find((row) => row.event === 'bet_settled');
  const is_placed = rows.some((row) => row.event === 'bet_placed');
  const stakes = is_placed
    ? select(rows, (row) => row.event === 'bet_placed' && isLive(row))
    : listOf(settled);
  const payouts = hasMovement(rows, 'bet_won')
    ? select(rows, (row) => (row.event === 'bet_won' || row.event === 'bet_lost') && isLive(row))
    : listOf(greatest(rows, SETTLEMENT_RANK));
  const is_counted =
    stakes.length > 0 ||
    payouts.some((row) => row.payout !== null && row.payout > 0n) ||
    (payouts.length > 0 && !is_placed);
  const status = payouts.length > 0 ? 'settled' : stakes.length > 0 || !is_placed ? 'placed' : 'voided';
  return {
    status,
    stakes: stakes.length > 1 ? stakes.toSorted((a, b) => (isBefore(a, b) ? -1 : 1)) : stakes,
    ...countedOf({ stakes, payouts }, is_counted),
    notCounted: () =>
      notCounted(rows, { stakes, payouts }, (row) =>
        twins.has(row) ? 'twin' : isLive(row) ? 'superseded' : 'voided',
      ),
  };
}

function sportEffect(rows: readonly LedgerRow[]): BetEffect {
  const twins = twinsOf(rows);
  const voided = voidedMovements(rows);
  const outcome = greatest(
    select(rows, (row) => row.movement_id === null && !twins.has(row)),
    OUTCOME_RANK,
  );
  if (outcome?.event === 'sport_bet_voided') return voidedEffect(rows, twins);
  const stakes = listOf(rows.find((row) => row.event === 'sport_bet_placed') ?? settledStake(rows));
  const cashed_out = select(
    rows,
    (row) => row.event === 'sport_cashout' && row.movement_id !== null && !voided.has(row.movement_id),
  );
  const payouts = [...listOf(outcome?.event === 'sport_bet_reopened' ? undefined : outcome), ...cashed_out];
  return {
    status: sportStatus(outcome, cashed_out.length > 0),
    stakes,
    ...countedOf({ stakes, payouts }, stakes.length > 0 || payouts.length > 0),
    notCounted: () =>
      notCounted(rows, { stakes, payouts }, (row) =>
        twins.has(row) ? 'twin' : row.movement_id !== null ? 'voided' : 'superseded',
      ),
  };
}

/** A bet with a partial cash-out stays open until an outcome ends it. */
function sportStatus(outcome: LedgerRow | undefined, has_cash_outs: boolean): BetStatus {
  if (outcome?.event === 'sport_cashout') return 'cashed_out';
  if (outcome?.event === 'sport_bet_settled') return 'settled';
  return has_cash_outs && outcome === undefined ? 'cashed_out' : 'placed';
}

function countsOf({ stakes, payouts }: Counted): Map<LedgerRow, RowCounts> {
  const counts = new Map<LedgerRow, RowCounts>();
  for (const row of stakes) {
    const [stake, bonus_stake] = [row.base_amount ?? 0n, row.base_bonus_stake ?? 0n];
    counts.set(row, { stake, payout: 0n, bonus_stake, bonus_payout: 0n });
  }
  for (const row of payouts) {
    const { stake, bonus_stake } = counts.get(row) ?? COUNTS_NOTHING;
    const [payout, bonus_payout] = [row.base_payout ?? 0n, row.base_bonus_payout ?? 0n];
    counts.set(row, { stake, payout, bonus_stake, bonus_payout });
  }
  return counts;
}

/** The effect of a bet that is voided as a whole. */
function voidedEffect(rows: readonly LedgerRow[], twins: ReadonlySet<LedgerRow>): BetEffect {
  return {
    status: 'voided',
    stakes: [],
    deltas: [],
    counts: new Map(),
    notCounted: () =>
      notCounted(rows, { stakes: [], payouts: [] }, (row) => (twins.has(row) ? 'twin' : 'voided')),
  };
}

function hasMovement(rows: readonly LedgerRow[], event: MoneyEvent): boolean {
  return rows.some((row) => row.event === event && row.movement_id !== null);
}

const NONE: ReadonlySet<never> = new Set();

/** The movements that are taken back. */
function voidedMovements(rows: readonly LedgerRow[]): ReadonlySet<string> {
  const voids = select(rows, isVoid);
  return voids.length === 0 ? NONE : new Set(voids.flatMap(({ movement_id }) => movement_id ?? []));
}

/**
 * Rows without movement_id that repeat one with it: the same event, time and money. A caller that begins to send
 * movement_id and sends its history again doubles nothing.
 */
function twinsOf(rows: readonly LedgerRow[]): ReadonlySet<LedgerRow> {
  const movements = select(rows, (row) => row.movement_id !== null && !isVoid(row));
  if (movements.length === 0) return NONE;
  const moved = new Set(movements.map(twinKeyOf));
  return new Set(rows.filter((row) => row.movement_id === null && !isVoid(row) && moved.has(twinKeyOf(row))));
}

/** What a row without movement_id and its twin with it have in common. */
export function twinKeyOf({ event, occurred_at_ms, amount, payout, currency }: LedgerRow): string {
  return `${event} ${occurred_at_ms} ${amount} ${payout} ${currency}`;
}

/** What the rows count, and the same for their players' totals; `is_counted`: the bet itself counts. */
function countedOf(
  { stakes, payouts }: Counted,
  is_counted: boolean,
): Pick<ReferenceEffect, 'deltas' | 'counts'> {
  const counts = countsOf({ stakes, payouts });
  const deltas: TotalsDelta[] = [];
  for (const [{ player_id }, { stake, payout, bonus_stake, bonus_payout }] of counts) {
    deltas.push({
      player_id,
      total_wagered: stake,
      total_won: payout,
      total_bonus_wagered: bonus_stake,
      total_bonus_won: bonus_payout,
    });
  }
  const owner = first(stakes) ?? first(payouts);
  if (is_counted && owner !== undefined) deltas.push({ player_id: owner.player_id, bet_count: 1n });
  for (const { player_id } of pendingOf({ stakes, payouts }))
    deltas.push({ player_id, pending_conversions: 1n });
  return { deltas, counts };
}

/** The rows without a rate, each once: a row that is both a stake and a payout is one pending conversion. */
function pendingOf({ stakes, payouts }: Counted): Iterable<LedgerRow> {
  const pending = [
    ...select(stakes, (row) => row.amount !== null && row.base_amount === null),
    ...select(payouts, (row) => row.payout !== null && row.base_payout === null),
  ];
  return pending.length > 1 ? new Set(pending) : pending;
}

/** The first by event time, then by movement_id, one without it before. */
function first(rows: readonly LedgerRow[]): LedgerRow | undefined {
  return rows.reduce<LedgerRow | undefined>(
    (best, row) => (best === undefined || isBefore(row, best) ? row : best),
    undefined,
  );
}

/** Whether a row comes before another: by event time, then by movement_id, one without it first. */
export function isBefore(a: LedgerRow, b: LedgerRow): boolean {
  if (a.occurred_at_ms !== b.occurred_at_ms) return a.occurred_at_ms < b.occurred_at_ms;
  if (a.movement_id !== b.movement_id) return (a.movement_id ?? '') < (b.movement_id ?? '');
  // A win of 0 and a loss at one time: the order must not depend on which came first.
  return a.event > b.event;
}

function notCounted(
  rows: readonly LedgerRow[],
  { stakes, payouts }: Counted,
  why: (row: LedgerRow) => NotCountedReason,
): Map<LedgerRow, NotCountedReason> {
  const counted = new Set([...stakes, ...payouts]);
  const of_money = rows.filter((row) => (row.amount !== null || row.payout !== null) && !counted.has(row));
  return new Map(of_money.map((row) => [row, why(row)]));
}

/** Whether the placed and the settled stake of a bet are known and differ. The placed one counts; a metric shows it. */
export function stakesDiffer(rows: readonly LedgerRow[]): boolean {
  const placed = rows.find((row) => row.event === 'bet_placed' || row.event === 'sport_bet_placed');
  const settled = rows.find((row) => row.event === 'bet_settled') ?? settledStake(rows);
  return (
    placed !== undefined &&
    settled !== undefined &&
    !hasMovement(rows, 'bet_placed') &&
    (placed.amount !== settled.amount || placed.currency !== settled.currency)
  );
}

/** The settlement with a stake that is the latest by event time. */
function settledStake(rows: readonly LedgerRow[]): LedgerRow | undefined {
  return greatest(
    select(rows, (row) => row.amount !== null && row.event === 'sport_bet_settled'),
    OUTCOME_RANK,
  );
}

/** The greatest of the ranked rows by time, then by rank. Casino events happen once: their time is 0. */
function greatest(
  rows: readonly LedgerRow[],
  rank: Partial<Record<MoneyEvent, number>>,
): LedgerRow | undefined {
  let best: LedgerRow | undefined;
  for (const row of rows) {
    if (rank[row.event] === undefined) continue;
    if (best === undefined || row.occurrence > best.occurrence) best = row;
    else if (row.occurrence === best.occurrence && (rank[row.event] ?? 0) > (rank[best.event] ?? 0))
      best = row;
  }
  return best;
}

function listOf<T>(one: T | undefined): T[] {
  return one === undefined ? [] : [one];
}
