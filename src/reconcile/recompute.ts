import { byKind, effectOf } from '../ledger/money/counting.ts';
import { SUMS, type TotalsDelta } from '../ledger/money/totals.ts';
import type { LedgerRow } from '../ledger/money/ledger.ts';
import { FIRST_DEPOSIT, type Sum } from './sums-queries.ts';
import { UnmatchedEvents } from './unmatched.ts';

/**
 * Recomputes players' totals and the sums of their money events from ledger rows, which must come in the order of their
 * key. Pure. It holds the sums since the last `drain`: the caller drains it often, which bounds memory.
 */
export class LedgerRecomputation {
  rows = 0;
  readonly unmatched: UnmatchedEvents;
  #reference: LedgerRow[] = [];
  #sums = new Map<string, Sum>();

  /** By the time `now_ms` it is judged whether an original is late. */
  constructor(now_ms: number) {
    this.unmatched = new UnmatchedEvents(now_ms);
  }

  /** The number of sums that it holds. */
  get size(): number {
    return this.#sums.size;
  }

  /** Takes the next row; `finish` must follow the last one. */
  take(row: LedgerRow): void {
    this.rows++;
    const [first] = this.#reference;
    const isSame =
      first?.reference === row.reference &&
      first.project_id === row.project_id &&
      first.tenant_id === row.tenant_id;
    if (!isSame) this.finish();
    this.#reference.push(row);
    if (row.event === 'deposit_confirmed') this.#addDeposit(row);
    this.#add(row, row.player_id, row.event, 'count', 1n);
    this.#add(row, row.player_id, row.event, 'sum_amount', row.base_amount ?? 0n);
    this.#add(row, row.player_id, row.event, 'sum_payout', row.base_payout ?? 0n);
  }

  /** Adds the contribution of the rows of the last reference: a reference is computed from all its rows, of all players. */
  finish(): void {
    for (const [kind, rows] of byKind(this.#reference)) {
      const [first] = rows;
      if (first === undefined) continue;
      const effect = effectOf(kind, rows);
      const { deltas, counts } = effect;
      this.unmatched.take(kind, rows, effect);
      for (const delta of deltas) this.#addDelta(first, delta);
      for (const [row, { stake, payout, bonus_stake, bonus_payout }] of counts) {
        this.#add(row, row.player_id, row.event, 'sum_stake_counted', stake);
        this.#add(row, row.player_id, row.event, 'sum_payout_counted', payout);
        this.#add(row, row.player_id, row.event, 'sum_bonus_counted', bonus_stake + bonus_payout);
      }
    }
    this.#reference = [];
  }

  /** Returns the sums and begins new ones, which add up with them. */
  drain(): Sum[] {
    const sums = [...this.#sums.values()].filter(({ value }) => value !== 0n);
    this.#sums.clear();
    return sums;
  }

  /** Whatever was taken back of it later: the first deposit that was ever confirmed stays the first. */
  #addDeposit({ tenant_id, project_id, player_id, occurred_at_ms }: LedgerRow): void {
    const value = BigInt(occurred_at_ms);
    const key = `${project_id} ${player_id}  ${FIRST_DEPOSIT}`;
    const first = this.#sums.get(key);
    if (first === undefined)
      this.#sums.set(key, {
        tenant_id,
        project_id,
        player_id,
        event: '',
        field: FIRST_DEPOSIT,
        source: 'ledger',
        value,
      });
    else if (value < first.value) first.value = value;
  }

  #addDelta(of: LedgerRow, delta: TotalsDelta): void {
    for (const sum of SUMS) this.#add(of, delta.player_id, '', sum, delta[sum] ?? 0n);
  }

  #add(
    { tenant_id, project_id }: LedgerRow,
    player_id: string,
    event: string,
    field: string,
    value: bigint,
  ): void {
    if (value === 0n) return;
    const key = `${project_id} ${player_id} ${event} ${field}`;
    const sum = this.#sums.get(key);
    if (sum !== undefined) sum.value += value;
    else this.#sums.set(key, { tenant_id, project_id, player_id, event, field, source: 'ledger', value });
  }
}
