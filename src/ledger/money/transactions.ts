import type { NotCountedReason, ReferenceEffect } from './bets.ts';
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
  /** The reversals exceed the amount, which then counts as 0. */
  exceeds_original: boolean;
}

/**
 * What the deposit or withdrawal of one reference counts (`feeds.md` 2): its amount less the latest amount of each reversal
 * in its currency, at least 0, converted by its own rate: a full reversal leaves exactly 0. `rows` are those of this
 * kind, in any order. Reversals count for the player of what they reverse.
 */
export function transactionEffect(
  kind: keyof typeof REVERSIBLE,
  rows: readonly LedgerRow[],
): TransactionEffect {
  const { confirmed, reversed, total } = REVERSIBLE[kind];
  const original = rows.find((row) => row.event === confirmed);
  const reversals = rows.filter((row) => row.event === reversed);
  const not_counted = new Map<LedgerRow, NotCountedReason>();
  if (original?.amount == null) {
    for (const row of reversals) not_counted.set(row, 'no_original');
    return { deltas: [], not_counted, exceeds_original: false };
  }
  const latest = new Map<string, LedgerRow>();
  for (const row of reversals) {
    if (row.currency !== original.currency) {
      not_counted.set(row, 'other_currency');
      continue;
    }
    const id = row.movement_id ?? '';
    const other = latest.get(id);
    if (other !== undefined && other.occurrence > row.occurrence) {
      not_counted.set(row, 'superseded');
      continue;
    }
    if (other !== undefined) not_counted.set(other, 'superseded');
    latest.set(id, row);
  }
  let taken_back = 0n;
  for (const { amount } of latest.values()) taken_back += amount ?? 0n;
  const exceeds_original = taken_back > original.amount;
  const left = exceeds_original ? 0n : original.amount - taken_back;
  const base_left = taken_back === 0n ? original.base_amount : leftInBase(original, left);
  return { deltas: [deltaOf(original.player_id, total, base_left)], not_counted, exceeds_original };
}

/** What a balance event counts: each is a transaction of its own. */
export function balanceEffect(row: LedgerRow): ReferenceEffect {
  if (IN_NO_TOTAL.has(row.reason ?? '')) return { deltas: [], not_counted: new Map([[row, 'in_no_total']]) };
  const total = row.event === 'balance_credited' ? 'total_credited' : 'total_debited';
  return { deltas: [deltaOf(row.player_id, total, row.base_amount)], not_counted: new Map() };
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
