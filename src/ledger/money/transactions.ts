import { COUNTS_NOTHING, type NotCountedReason, type ReferenceEffect, type RowCounts } from './bets.ts';
import { toBase } from './conversion.ts';
import type { LedgerRow, MoneyEvent } from './ledger.ts';
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
  const not_counted = new Map<LedgerRow, NotCountedReason>();
  const reversals: LedgerRow[] = [];
  for (const row of rows) {
    if (row === original) continue;
    if (row.event !== reversed) not_counted.set(row, 'in_no_total');
    else if (original === undefined) not_counted.set(row, 'no_original');
    else if (row.currency !== original.currency) not_counted.set(row, 'other_currency');
    else reversals.push(row);
  }
  if (original?.amount == null) return { deltas: [], counts: new Map(), not_counted, left: null };
  const latest = latestOf(reversals, not_counted);
  const counts = new Map([[original, countOf(original.base_amount)]]);
  let taken_back = 0n;
  let amount_left = original.amount;
  let base_left = original.base_amount;
  for (const row of latest) {
    taken_back += row.amount ?? 0n;
    amount_left = taken_back < original.amount ? original.amount - taken_back : 0n;
    const left = leftInBase(original, amount_left);
    counts.set(row, countOf(base_left === null || left === null ? 0n : base_left - left));
    base_left = left;
  }
  const deltas = [deltaOf(original.player_id, total, base_left)];
  return { deltas, counts, not_counted, left: amount_left };
}

/** The latest of each reversal in the order of their times; earlier ones of the same id are superseded. */
function latestOf(
  reversals: readonly LedgerRow[],
  not_counted: Map<LedgerRow, NotCountedReason>,
): readonly LedgerRow[] {
  const latest = new Map<string, LedgerRow>();
  for (const row of reversals) {
    const id = row.movement_id ?? '';
    const other = latest.get(id);
    const is_later = other === undefined || other.occurrence < row.occurrence;
    if (other !== undefined) not_counted.set(is_later ? other : row, 'superseded');
    if (is_later) latest.set(id, row);
  }
  return [...latest.values()].toSorted(
    (a, b) => a.occurrence - b.occurrence || ((a.movement_id ?? '') < (b.movement_id ?? '') ? -1 : 1),
  );
}

function countOf(stake: bigint | null): RowCounts {
  return { ...COUNTS_NOTHING, stake: stake ?? 0n };
}

/** What a balance event counts: each is a transaction of its own. */
export function balanceEffect(row: LedgerRow): ReferenceEffect {
  if (IN_NO_TOTAL.has(row.reason ?? '')) {
    return { deltas: [], counts: new Map(), not_counted: new Map([[row, 'in_no_total']]) };
  }
  const total = row.event === 'balance_credited' ? 'total_credited' : 'total_debited';
  return {
    deltas: [deltaOf(row.player_id, total, row.base_amount)],
    counts: new Map([[row, countOf(row.base_amount)]]),
    not_counted: new Map(),
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
