import { betEffect } from '../../ledger/money/bets.ts';
import type { BetKind, LedgerRow, MoneyEvent } from '../../ledger/money/ledger.ts';
import type { WageredBet } from './rules.ts';

/** A bet of the ledger, as far as it is known. */
export interface LedgerBet extends Omit<WageredBet, 'game_category'> {
  /** The player that staked it. */
  player_id: string;
  /** The event that has the stake of a casino bet; its category is that of the bet. */
  counted_event: MoneyEvent;
}

/**
 * What the ledger's rows of one bet say about its wagering, in any order of the rows; undefined while it has no stake. The
 * stake is what the totals count: the sum of the movements that were not voided (docs/feeds.md, What counts how). It is in the
 * currency of the first of them: movements in another currency, which no wallet has, count nothing here. A bet of which
 * every stake was voided is voided. A sport bet counts from its first settlement on: a correction of the outcome does not
 * move it, and a live cash-out, of a part or of the whole, makes it count nothing.
 */
export function ledgerBet(kind: BetKind, rows: readonly LedgerRow[]): LedgerBet | undefined {
  const effect = betEffect(kind, rows);
  const live = effect.stakes.filter(isStaked);
  const [staked] =
    live.length > 0 ? live : rows.filter(isStaked).sort((a, b) => a.occurred_at_ms - b.occurred_at_ms);
  if (staked === undefined) return undefined;
  const settlements = rows.filter(({ event }) => event === 'sport_bet_settled');
  const counted_at_ms = settlements.reduce(
    (first, { occurred_at_ms }) => Math.min(first, occurred_at_ms),
    Infinity,
  );
  const has_cash_out = [...effect.counts.keys()].some(({ event }) => event === 'sport_cashout');
  return {
    kind,
    player_id: staked.player_id,
    state: live.length === 0 ? 'voided' : has_cash_out ? 'cashed_out' : effect.status,
    stake: live.reduce(
      (sum, { amount, currency }) => (currency === staked.currency ? sum + amount : sum),
      0n,
    ),
    currency: staked.currency,
    occurred_at_ms: settlements.length > 0 ? counted_at_ms : staked.occurred_at_ms,
    counted_event: staked.event,
  };
}

function isStaked(row: LedgerRow): row is LedgerRow & { amount: bigint; currency: string } {
  return row.amount !== null && row.currency !== null;
}
