import { EVENT_MONEY, type EventMoney } from '../../ingest/events/envelope.ts';
import { betEffect, COUNTS_NOTHING, type ReferenceEffect, type RowCounts } from './bets.ts';
import { moneyKindOf, type LedgerRow, type MoneyKind } from './ledger.ts';
import { balanceEffect, transactionEffect } from './transactions.ts';

/**
 * What the rows of one kind and one reference count, in any order: the one function by which the fold, the restater and
 * reconcile count money (docs/feeds.md, What counts how). `rows` are all of this kind, at least one.
 */
export function effectOf(kind: MoneyKind, rows: readonly LedgerRow[]): ReferenceEffect {
  if (kind === 'casino' || kind === 'sport') return betEffect(kind, rows);
  return kind === 'balance' ? balanceEffect(rows) : transactionEffect(kind, rows);
}

/** The rows of a reference by their kind: a bet and a transaction may have the same reference. */
export function byKind(rows: readonly LedgerRow[]): Map<MoneyKind, LedgerRow[]> {
  const of_kind = new Map<MoneyKind, LedgerRow[]>();
  for (const row of rows) {
    const kind = moneyKindOf(row.event);
    const list = of_kind.get(kind);
    if (list === undefined) of_kind.set(kind, [row]);
    else list.push(row);
  }
  return of_kind;
}

/** Whether ClickHouse has the same money of an event before and after a change. */
export function isSameMoney(a: EventMoney, b: EventMoney): boolean {
  return EVENT_MONEY.every((name) => a[name] === b[name]);
}

/** Whether a row, whose own money is as it was, counts the same. Undefined: nothing. Cheaper than {@link isSameMoney}. */
export function isCountedAlike(a: RowCounts = COUNTS_NOTHING, b: RowCounts = COUNTS_NOTHING): boolean {
  return (
    a.stake === b.stake &&
    a.payout === b.payout &&
    a.bonus_stake === b.bonus_stake &&
    a.bonus_payout === b.bonus_payout
  );
}

/** What the rows of a reference count, of all kinds; a row that is not among the keys counts nothing. */
export function countsOf(rows: readonly LedgerRow[]): Map<LedgerRow, RowCounts> {
  const counts = new Map<LedgerRow, RowCounts>();
  for (const [kind, of_kind] of byKind(rows)) {
    for (const [row, count] of effectOf(kind, of_kind).counts) counts.set(row, count);
  }
  return counts;
}

/** The money of the event of a ledger row, as ClickHouse has it. */
export function eventMoneyOf(row: LedgerRow, counts: RowCounts = COUNTS_NOTHING): EventMoney {
  const { base_amount, base_payout, base_bonus_stake, base_bonus_payout } = row;
  return {
    base_amount,
    base_payout,
    base_bonus_stake,
    base_bonus_payout,
    stake_counted: counts.stake,
    payout_counted: counts.payout,
    bonus_stake_counted: counts.bonus_stake,
    bonus_payout_counted: counts.bonus_payout,
  };
}
