import { movementsAfterVoid } from '../ledger/money/anomalies.ts';
import type { ReferenceEffect } from '../ledger/money/bets.ts';
import { isVoid, type LedgerRow, type MoneyKind } from '../ledger/money/ledger.ts';
import { MAX_LISTED, type Unmatched } from './schema.ts';

/** How long the original of a void or a reversal may take. */
const PATIENCE_MS = 86_400_000;

/**
 * Collects events that undo what never came, and movements of voided bets (docs/feeds.md, What counts how), in bounded memory. They are
 * no differences: the ledger is right about what it has.
 */
export class UnmatchedEvents {
  count = 0;
  readonly listed: Unmatched[] = [];
  #now_ms: number;

  constructor(now_ms: number) {
    this.#now_ms = now_ms;
  }

  /** Takes all rows of one kind and one reference, with their effect. */
  take(
    kind: MoneyKind,
    rows: readonly LedgerRow[],
    { notCounted }: Pick<ReferenceEffect, 'notCounted'>,
  ): void {
    for (const [row, reason] of notCounted())
      if (reason === 'no_original' && this.#isOld(row)) this.#add(row, 'reversal_without_original');
    if (kind !== 'casino' && kind !== 'sport') return;
    const voids = rows.filter(isVoid);
    if (voids.length === 0) return;
    const others = rows.filter((row) => !isVoid(row));
    const movements = new Set(others.map(({ movement_id }) => movement_id));
    for (const row of voids) {
      const has_original = row.movement_id === null ? others.some(hasMoney) : movements.has(row.movement_id);
      if (!has_original && this.#isOld(row)) this.#add(row, 'void_without_original');
    }
    if (kind === 'casino') for (const row of movementsAfterVoid(rows)) this.#add(row, 'movement_after_void');
  }

  #isOld({ occurred_at_ms }: LedgerRow): boolean {
    return occurred_at_ms < this.#now_ms - PATIENCE_MS;
  }

  #add(row: LedgerRow, problem: Unmatched['problem']): void {
    this.count++;
    if (this.listed.length >= MAX_LISTED) return;
    const { tenant_id, project_id, player_id, event, reference, movement_id, occurred_at_ms } = row;
    const occurred_at = new Date(occurred_at_ms).toISOString();
    this.listed.push({
      problem,
      tenant_id,
      project_id,
      player_id,
      event,
      reference,
      movement_id,
      occurred_at,
    });
  }
}

function hasMoney({ amount, payout }: LedgerRow): boolean {
  return amount !== null || payout !== null;
}
