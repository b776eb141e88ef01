import { betEffect } from '../money/bets.ts';
import { betKindOf, MONEY_EVENTS, type BetKind, type LedgerRow, type MoneyEvent } from '../money/ledger.ts';
import { transactionEffect } from '../money/transactions.ts';
import { TotalsAccumulator, type TotalsDelta } from '../money/totals.ts';

/** The events whose number in ClickHouse can be derived from Postgres: those with ledger rows, and session starts. */
export const COUNTED_EVENTS: readonly string[] = [...MONEY_EVENTS, 'session_start'];

/** Count and sums of one money event of one player. Sums are in base currency; rows without a rate add nothing. */
export interface EventSums {
  count: bigint;
  base_amount: bigint;
  base_payout: bigint;
}

/**
 * Recomputes players' totals from ledger rows, which must come in the order of their references. Keeps only the deltas
 * of players for which `isWanted` is true, which bounds memory. A bet is computed from all its rows, of all players.
 */
export class LedgerRecomputation {
  readonly totals = new TotalsAccumulator();
  /** player_id → event → sums. */
  readonly events = new Map<string, Map<string, EventSums>>();
  rows = 0;
  #isWanted: (player_id: string) => boolean;
  #key = '';
  #rows_of_key: LedgerRow[] = [];

  constructor(isWanted: (player_id: string) => boolean) {
    this.#isWanted = isWanted;
  }

  /** Takes the next row; `finish` must follow the last one. */
  take(row: LedgerRow): void {
    this.rows++;
    if (row.reference !== this.#key) {
      this.finish();
      this.#key = row.reference;
    }
    this.#rows_of_key.push(row);
    if (!this.#isWanted(row.player_id)) return;
    const sums = this.#sumsOf(row.player_id, row.event);
    sums.count++;
    sums.base_amount += row.base_amount ?? 0n;
    sums.base_payout += row.base_payout ?? 0n;
  }

  /** Adds the contribution of the rows of the last reference. */
  finish(): void {
    const bets: Record<BetKind, LedgerRow[]> = { casino: [], sport: [] };
    for (const row of this.#rows_of_key) {
      const kind = betKindOf(row.event);
      if (kind === undefined) this.#addTransaction(row);
      else bets[kind].push(row);
    }
    for (const kind of ['casino', 'sport'] as const) {
      if (bets[kind].length === 0) continue;
      for (const delta of betEffect(kind, bets[kind]).deltas) this.#add(delta);
    }
    this.#rows_of_key = [];
  }

  #addTransaction(row: LedgerRow): void {
    const delta = transactionEffect(row);
    if (delta !== undefined) this.#add(delta);
  }

  #add(delta: TotalsDelta): void {
    if (this.#isWanted(delta.player_id)) this.totals.add(delta);
  }

  #sumsOf(player_id: string, event: MoneyEvent): EventSums {
    let ofPlayer = this.events.get(player_id);
    if (ofPlayer === undefined) this.events.set(player_id, (ofPlayer = new Map<string, EventSums>()));
    let sums = ofPlayer.get(event);
    if (sums === undefined) ofPlayer.set(event, (sums = { count: 0n, base_amount: 0n, base_payout: 0n }));
    return sums;
  }
}
