import type { LedgerRow } from './ledger.ts';
import type { TotalsDelta } from './totals.ts';

/** What a deposit or withdrawal adds to its player's totals: only confirmed ones count. */
export function transactionEffect({ event, player_id, base_amount }: LedgerRow): TotalsDelta | undefined {
  if (event !== 'deposit_confirmed' && event !== 'withdrawal_confirmed') return undefined;
  if (base_amount === null) return { player_id, pending_conversions: 1n };
  return event === 'deposit_confirmed'
    ? { player_id, total_deposited: base_amount }
    : { player_id, total_withdrawn: base_amount };
}
