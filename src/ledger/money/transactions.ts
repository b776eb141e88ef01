import { COUNTS_NOTHING, type NotCountedReason, type ReferenceEffect, type RowCounts } from './bets.ts';
import { toBase } from './conversion.ts';
import { select, type LedgerRow, type MoneyEvent } from './ledger.ts';
import type { TotalsDelta } from './totals.ts';

/** What a kind of transaction is: the event whose amount counts, the one that takes it back, and the total. */
interface ReversibleKind {
  confirmed: MoneyEvent;
  reversed: MoneyEvent;
  total: 'total_deposited' | 'total_withdrawn';
}

const REVERSIBLE = {
  deposit: { confirmed: 'deposit_confirmed', reversed: 'deposit_reversed', total: 'total_deposited' },
  withdrawal: {
    confirmed: 'withdrawal_confirmed',
    reversed: 'withdrawal_reversed',
    total: 'total_withdrawn',
  },
} as const satisfies Record<string, ReversibleKind>;

/** Balance events of these reasons count in no total: the wallet was repaired, or the money went to staff. */
const IN_NO_TOTAL = new Set(['correction', 'tip']);

export interface TransactionEffect extends ReferenceEffect {
  /** What is left of the amount, in the smallest unit of its own currency; null: it was not confirmed, or has no amount. */
  left: bigint | null;
}

/**
 * What the deposit or withdrawal of one reference counts (docs/feeds.md, What counts how): its amount less the latest amount of each reversal
 * in its currency, at least 0, converted by its own rate: a full reversal leaves exactly 0. `rows` are those of this
 * kind, in any order. Reversals count for the player of what they reverse.
 */
export function transactionEffect(
  kind: keyof typeof REVERSIBLE,
  rows: readonly LedgerRow[],
): TransactionEffect {
  const { confirmed, reversed, total } = REVERSIBLE[kind];
  const original = rows.find((row) => row.event === confirmed);
  const amount = original?.amount ?? undefined;
  const counts = new Map<LedgerRow, RowCounts>();
  const notCounted = () =>
    new Map<LedgerRow, NotCountedReason>(
      select(rows, (row) => row !== original && !counts.has(row)).map((row) => {
        if (row.event !== reversed) return [row, 'in_no_total'];
        if (original === undefined || amount === undefined) return [row, 'no_original'];
        return [row, row.currency === original.currency ? 'superseded' : 'other_currency'];
      }),
    );
  if (original === undefined || amount === undefined) return { deltas: [], counts, notCounted, left: null };
  counts.set(original, countOf(original.base_amount));
  let taken_back = 0n;
  let amount_left = amount;
  let base_left = original.base_amount;
  const { currency } = original;
  for (const row of latestOf(select(rows, (one) => one.event === reversed && one.currency === currency))) {
    taken_back += row.amount ?? 0n;
    amount_left = taken_back < amount ? amount - taken_back : 0n;
    const left = leftInBase(original, amount_left);
    counts.set(row, countOf(base_left === null || left === null ? 0n : base_left - left));
    base_left = left;
  }
  const deltas = [deltaOf(original.player_id, total, base_left)];
  return { deltas, counts, notCounted, left: amount_left };
}

/** The latest of each reversal in the order of their times; earlier ones of the same id count nothing. */
function latestOf(reversals: readonly LedgerRow[]): readonly LedgerRow[] {
  if (reversals.length < 2) return reversals;
  const latest = new Map<string, LedgerRow>();
  for (const row of reversals) {
    const id = row.movement_id ?? '';
    const other = latest.get(id);
    if (other === undefined || other.occurrence < row.occurrence) latest.set(id, row);
  }
  return [...latest.values()].toSorted(
    (a, b) => a.occurrence - b.occurrence || ((a.movement_id ?? '') < (b.movement_id ?? '') ? -1 : 1),
  );
}

function countOf(stake: bigint | null): RowCounts {
  return { ...COUNTS_NOTHING, stake: stake ?? 0n };
}

/** What the balance events of one reference count: each is a transaction of its own. */
export function balanceEffect(rows: readonly LedgerRow[]): ReferenceEffect {
  const isCounted = ({ reason }: LedgerRow) => !IN_NO_TOTAL.has(reason ?? '');
  const counted = select(rows, isCounted);
  return {
    deltas: counted.map(({ player_id, event, base_amount }) =>
      deltaOf(player_id, event === 'balance_credited' ? 'total_credited' : 'total_debited', base_amount),
    ),
    counts: new Map(counted.map((row) => [row, countOf(row.base_amount)])),
    notCounted: () =>
      new Map(select(rows, (row) => !isCounted(row)).map((row) => [row, 'in_no_total'] as const)),
  };
}

/** What is left in the smallest unit of the base currency; null while the original is not converted, but 0 needs no rate. */
function leftInBase({ base_amount, rate, scales }: LedgerRow, left: bigint): bigint | null {
  if (left === 0n || base_amount === null) return left === 0n ? 0n : null;
  // Without a rate the original is in the base currency.
  if (rate === null || scales === null) return left;
  return toBase(left, { ...rate, ...scales });
}

function deltaOf(
  player_id: string,
  total: 'total_deposited' | 'total_withdrawn' | 'total_credited' | 'total_debited',
  base_amount: bigint | null,
): TotalsDelta {
  return base_amount === null ? { player_id, pending_conversions: 1n } : { player_id, [total]: base_amount };
}
