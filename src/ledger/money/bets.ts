import type { BetKind, LedgerRow, MoneyEvent } from './ledger.ts';
import type { TotalsDelta } from './totals.ts';

export type BetStatus = 'placed' | 'settled' | 'voided' | 'cashed_out';

/** The status of one bet, and what the bet adds to the totals of its players. */
export interface BetEffect {
  status: BetStatus;
  /** The stake counts for the player that placed it, the payout for the player that was paid: usually the same. */
  deltas: TotalsDelta[];
}

/** At equal times a void takes precedence over a cash-out, and a cash-out over a settlement. */
const OUTCOME_RANK: Partial<Record<MoneyEvent, number>> = {
  sport_bet_settled: 0,
  sport_cashout: 1,
  sport_bet_voided: 2,
};
/** All casino settlements of one bet have the same payout; the one with the most fields is taken. */
const SETTLEMENT_RANK: Partial<Record<MoneyEvent, number>> = { bet_lost: 0, bet_won: 1, bet_settled: 2 };

/**
 * The effect of a bet: a function of its ledger rows alone, in any order. `rows` are all rows of one bet, at
 * least one.
 */
export function betEffect(kind: BetKind, rows: readonly LedgerRow[]): BetEffect {
  const placed = rows.find((row) => row.event === 'bet_placed' || row.event === 'sport_bet_placed');
  const outcome = kind === 'casino' ? bestBy(rows, SETTLEMENT_RANK) : latestBy(rows, OUTCOME_RANK);
  if (outcome?.event === 'sport_bet_voided') return { status: 'voided', deltas: [] };
  const stake = placed ?? settledStake(rows);
  const deltas: TotalsDelta[] = [];
  const counted = stake ?? outcome;
  if (counted !== undefined) deltas.push({ player_id: counted.player_id, bet_count: 1n });
  // A row without a rate is one pending conversion, even when both its stake and its payout would count.
  const pending = new Set<LedgerRow>();
  if (stake !== undefined) {
    const { player_id, base_amount } = stake;
    if (base_amount === null) pending.add(stake);
    else deltas.push({ player_id, total_wagered: base_amount });
  }
  if (outcome !== undefined && outcome.payout !== null) {
    const { player_id, base_payout } = outcome;
    if (base_payout === null) pending.add(outcome);
    else deltas.push({ player_id, total_won: base_payout });
  }
  for (const { player_id } of pending) deltas.push({ player_id, pending_conversions: 1n });
  return { status: statusOf(outcome), deltas };
}

/** Whether the placed and the settled stake of a bet are known and differ. The placed one counts; a metric shows it. */
export function stakesDiffer(rows: readonly LedgerRow[]): boolean {
  const placed = rows.find((row) => row.event === 'bet_placed' || row.event === 'sport_bet_placed');
  const settled = settledStake(rows);
  return (
    placed !== undefined &&
    settled !== undefined &&
    (placed.amount !== settled.amount || placed.currency !== settled.currency)
  );
}

function settledStake(rows: readonly LedgerRow[]): LedgerRow | undefined {
  const withStake = rows.filter(
    (row) => row.amount !== null && (row.event === 'bet_settled' || row.event === 'sport_bet_settled'),
  );
  return withStake.reduce<LedgerRow | undefined>(
    (last, row) => (last === undefined || row.occurrence > last.occurrence ? row : last),
    undefined,
  );
}

function statusOf(outcome: LedgerRow | undefined): BetStatus {
  if (outcome === undefined) return 'placed';
  return outcome.event === 'sport_cashout' ? 'cashed_out' : 'settled';
}

function bestBy(
  rows: readonly LedgerRow[],
  rank: Partial<Record<MoneyEvent, number>>,
): LedgerRow | undefined {
  return pick(rows, rank, (a, b) => (rank[a.event] ?? 0) - (rank[b.event] ?? 0));
}

function latestBy(
  rows: readonly LedgerRow[],
  rank: Partial<Record<MoneyEvent, number>>,
): LedgerRow | undefined {
  return pick(
    rows,
    rank,
    (a, b) => a.occurrence - b.occurrence || (rank[a.event] ?? 0) - (rank[b.event] ?? 0),
  );
}

/** The greatest of the ranked rows. */
function pick(
  rows: readonly LedgerRow[],
  rank: Partial<Record<MoneyEvent, number>>,
  compare: (a: LedgerRow, b: LedgerRow) => number,
): LedgerRow | undefined {
  let best: LedgerRow | undefined;
  for (const row of rows) {
    if (rank[row.event] !== undefined && (best === undefined || compare(row, best) > 0)) best = row;
  }
  return best;
}
