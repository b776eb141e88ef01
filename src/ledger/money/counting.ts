import { betEffect, type ReferenceEffect } from './bets.ts';
import { moneyKindOf, type LedgerRow, type MoneyKind } from './ledger.ts';
import { balanceEffect, transactionEffect } from './transactions.ts';

/**
 * What the rows of one kind and one reference count, in any order: the one function by which the fold, the restater and
 * reconcile count money (`feeds.md` 2). `rows` are all of this kind, at least one.
 */
export function effectOf(kind: MoneyKind, rows: readonly LedgerRow[]): ReferenceEffect {
  if (kind === 'casino' || kind === 'sport') return betEffect(kind, rows);
  if (kind !== 'balance') return transactionEffect(kind, rows);
  const effects = rows.map(balanceEffect);
  return {
    deltas: effects.flatMap(({ deltas }) => deltas),
    not_counted: new Map(effects.flatMap(({ not_counted }) => [...not_counted])),
  };
}

/** The rows of a reference by their kind: a bet and a transaction may have the same reference. */
export function byKind(rows: readonly LedgerRow[]): Map<MoneyKind, LedgerRow[]> {
  const of_kind = new Map<MoneyKind, LedgerRow[]>();
  for (const row of rows) {
    const kind = moneyKindOf(row.event);
    if (kind === undefined) continue;
    const list = of_kind.get(kind);
    if (list === undefined) of_kind.set(kind, [row]);
    else list.push(row);
  }
  return of_kind;
}
