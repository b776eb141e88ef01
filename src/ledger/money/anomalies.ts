import { twinKeyOf, type ReferenceEffect } from './bets.ts';
import type { LedgerRow, MoneyKind } from './ledger.ts';

/**
 * What metrics count of a reference whose rows do not fit together (docs/feeds.md, What counts how). Every count is of what ever was
 * so: later rows take nothing back.
 */
export interface Anomalies {
  /** 1: the movements of a casino bet differed from its settlement. */
  total_mismatches: number;
  /** How many times the reversals came to exceed what they reverse. */
  above_original: number;
  /** Reversals that went back to an earlier amount after 0. */
  reopened: number;
  /** Rows without movement_id that repeat one with it. */
  twins: number;
  /** Movements of a casino bet that happened after the void of the whole bet. */
  after_void: number;
}

const ANOMALIES = ['total_mismatches', 'above_original', 'reopened', 'twins', 'after_void'] as const;

export const NO_ANOMALIES: Readonly<Anomalies> = {
  total_mismatches: 0,
  above_original: 0,
  reopened: 0,
  twins: 0,
  after_void: 0,
};

/** Adds counts to a sum, or subtracts them. */
export function addAnomalies(sum: Anomalies, counts: Readonly<Anomalies>, sign: 1 | -1): void {
  if (counts === NO_ANOMALIES) return;
  for (const name of ANOMALIES) sum[name] += sign * counts[name];
}

/**
 * The anomalies of one reference. `rows` are those of one kind, in the order in which they were claimed, with their
 * `effect`. What more rows add is the difference to the anomalies of the rows before: that is the same wherever batches
 * are cut. Costs as much as there are rows.
 */
export function anomaliesOf(
  kind: MoneyKind,
  rows: readonly LedgerRow[],
  { notCounted }: Pick<ReferenceEffect, 'notCounted'>,
): Readonly<Anomalies> {
  // Most references have neither movements nor reversals nor voids.
  if (kind === 'balance' || rows.every(isPlain)) return NO_ANOMALIES;
  if (kind === 'deposit' || kind === 'withdrawal') return { ...NO_ANOMALIES, ...reversalAnomalies(rows) };
  let twins = 0;
  for (const reason of notCounted().values()) if (reason === 'twin') twins++;
  if (kind === 'sport') return { ...NO_ANOMALIES, twins };
  const total_mismatches = everDiffered(rows) ? 1 : 0;
  return { ...NO_ANOMALIES, total_mismatches, twins, after_void: movementsAfterVoid(rows).length };
}

function isPlain({ movement_id, event }: LedgerRow): boolean {
  return movement_id === null && event !== 'bet_voided';
}

/** The rows with money of a casino bet whose event time is after the void of the whole bet; none where there is no such void. */
export function movementsAfterVoid(rows: readonly LedgerRow[]): LedgerRow[] {
  const whole = rows.find(({ event, movement_id }) => event === 'bet_voided' && movement_id === null);
  if (whole === undefined) return [];
  return rows.filter(
    ({ amount, payout, occurred_at_ms }) =>
      (amount !== null || payout !== null) && occurred_at_ms > whole.occurred_at_ms,
  );
}

/**
 * Whether the sum of the stakes or of the payouts of a casino bet ever differed from its settlement, while its rows came:
 * where one of them is a movement. Nothing is compared once the whole bet is voided.
 */
function everDiffered(rows: readonly LedgerRow[]): boolean {
  const [stakes, payouts] = [new LiveSum(), new LiveSum()];
  let settlement: LedgerRow | undefined;
  for (const row of rows) {
    const { event, movement_id, amount, payout } = row;
    if (event === 'bet_voided') {
      if (movement_id === null) return false;
      stakes.void(movement_id);
      payouts.void(movement_id);
    } else if (event === 'bet_settled') settlement ??= row;
    else if (event === 'bet_placed') stakes.add(row, amount ?? 0n);
    else payouts.add(row, payout ?? 0n);
    if (settlement === undefined) continue;
    const { amount: stake, payout: paid } = settlement;
    if (stakes.differs(stake, settlement.currency) || payouts.differs(paid, settlement.currency)) return true;
  }
  return false;
}

/** What a row adds to a sum. */
interface Part {
  currency: string | null;
  amount: bigint;
}

/** The sum of the rows of stakes, or of payouts, that are neither voided nor twins, as rows and voids come. */
class LiveSum {
  #sums = new Map<string | null, bigint>();
  #has_movements = false;
  #voided = new Set<string>();
  #of_movement = new Map<string, Part>();
  /** Of rows without movement_id, by what makes them twins: one with it takes them out. */
  #plain = new Map<string, Part>();
  #moved = new Set<string>();

  add(row: LedgerRow, amount: bigint): void {
    const { movement_id, currency } = row;
    const key = twinKeyOf(row);
    const one = { currency, amount };
    if (movement_id === null) {
      if (this.#moved.has(key)) return;
      this.#plain.set(key, one);
    } else {
      this.#has_movements = true;
      this.#moved.add(key);
      this.#takeOut(this.#plain, key);
      if (this.#voided.has(movement_id)) return;
      this.#of_movement.set(movement_id, one);
    }
    this.#change(currency, amount);
  }

  void(movement_id: string): void {
    this.#voided.add(movement_id);
    this.#takeOut(this.#of_movement, movement_id);
  }

  /** Whether there are movements that do not add up to this amount. 0 is the same in every currency. */
  differs(amount: bigint | null, currency: string | null): boolean {
    if (!this.#has_movements || amount === null) return false;
    if ((this.#sums.get(currency) ?? 0n) !== amount) return true;
    return this.#sums.size > (this.#sums.has(currency) ? 1 : 0);
  }

  #takeOut(from: Map<string, Part>, key: string): void {
    const part = from.get(key);
    if (part !== undefined) this.#change(part.currency, -part.amount);
    from.delete(key);
  }

  #change(currency: string | null, by: bigint): void {
    const sum = (this.#sums.get(currency) ?? 0n) + by;
    if (sum === 0n) this.#sums.delete(currency);
    else this.#sums.set(currency, sum);
  }
}

/** The latest amounts of the reversals in one currency. */
interface Reversed {
  latest: Map<string, LedgerRow>;
  sum: bigint;
}

function reversalAnomalies(rows: readonly LedgerRow[]): Pick<Anomalies, 'above_original' | 'reopened'> {
  const by_currency = new Map<string | null, Reversed>();
  let original: LedgerRow | undefined;
  let [above_original, was_above] = [0, false];
  for (const row of rows) {
    if (row.movement_id !== null) addReversal(by_currency, row);
    else if (row.event === 'deposit_confirmed' || row.event === 'withdrawal_confirmed') original ??= row;
    if (original === undefined) continue;
    const is_above = (by_currency.get(original.currency)?.sum ?? 0n) > (original.amount ?? 0n);
    if (is_above && !was_above) above_original++;
    was_above = is_above;
  }
  return { above_original, reopened: reopenedReversals(rows) };
}

function addReversal(by_currency: Map<string | null, Reversed>, row: LedgerRow): void {
  const { currency, movement_id, amount, occurrence } = row;
  const of = by_currency.get(currency) ?? { latest: new Map<string, LedgerRow>(), sum: 0n };
  by_currency.set(currency, of);
  const other = of.latest.get(movement_id ?? '');
  if (other !== undefined && other.occurrence > occurrence) return;
  of.sum += (amount ?? 0n) - (other?.amount ?? 0n);
  of.latest.set(movement_id ?? '', row);
}

/** Reversals, by their times, of an amount above 0 that the same reversal had before it was 0: retries that were stamped anew. */
function reopenedReversals(rows: readonly LedgerRow[]): number {
  const reversals = rows.filter(({ movement_id }) => movement_id !== null);
  if (reversals.length < 3) return 0;
  let reopened = 0;
  const amounts = new Map<string, { since_zero: Set<bigint>; before_zero: Set<bigint> }>();
  for (const { currency, movement_id, amount } of reversals.toSorted((a, b) => a.occurrence - b.occurrence)) {
    const key = `${currency} ${movement_id}`;
    const seen = amounts.get(key) ?? { since_zero: new Set<bigint>(), before_zero: new Set<bigint>() };
    amounts.set(key, seen);
    if (amount === null) continue;
    if (amount === 0n) {
      for (const one of seen.since_zero) seen.before_zero.add(one);
      seen.since_zero.clear();
    } else {
      if (seen.before_zero.has(amount)) reopened++;
      seen.since_zero.add(amount);
    }
  }
  return reopened;
}
