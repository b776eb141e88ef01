import type { BetKind, LedgerRow, MoneyEvent } from './ledger.ts';
import type { TotalsDelta } from './totals.ts';

export type BetStatus = 'placed' | 'settled' | 'voided' | 'cashed_out';

/** What one bet adds to the totals of the players it names, and how it stands. */
export interface BetEffect {
  status: BetStatus;
  /** The stake counts for who placed it, the payout for who was paid: usually one player. */
  deltas: TotalsDelta[];
}

/** At equal times a void holds before a cash-out before a settlement. */
const OUTCOME_RANK: Partial<Record<MoneyEvent, number>> = {
  sport_bet_settled: 0,
  sport_cashout: 1,
  sport_bet_voided: 2,
};
/** Several casino settlements of one bet agree on the payout; the one that says most is taken. */
const SETTLEMENT_RANK: Partial<Record<MoneyEvent, number>> = { bet_lost: 0, bet_won: 1, bet_settled: 2 };

/**
 * The effect of a bet as a function of its ledger rows alone, in whatever order they came.
 * `rows` are all rows of one bet, at least one.
 */
export function betEffect(kind: BetKind, rows: readonly LedgerRow[]): BetEffect {
  const placed = rows.find((row) => row.event === 'bet_placed' || row.event === 'sport_bet_placed');
  const outcome = kind === 'casino' ? bestBy(rows, SETTLEMENT_RANK) : latestBy(rows, OUTCOME_RANK);
  if (outcome?.event === 'sport_bet_voided') return { status: 'voided', deltas: [] };
  const stake = placed ?? settledStake(rows);
  const deltas: TotalsDelta[] = [];
  const counted = stake ?? outcome;
  if (counted !== undefined) deltas.push({ player_id: counted.player_id, bet_count: 1n });
  // A row without a rate is pending once, also when both its stake and its payout would count.
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

/** Whether both stakes of a bet are known and differ: the placed one stands, and operators should know. */
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
