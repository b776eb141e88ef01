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
 * What the ledger's rows of one bet say about its wagering, in any order of the rows; undefined while its stake is not known.
 * The stake is that of the placement, else that of the settlement. A sport bet counts from its first settlement on: a
 * correction of the outcome does not move it.
 */
export function ledgerBet(kind: BetKind, rows: readonly LedgerRow[]): LedgerBet | undefined {
  const placed = rows.find(
    ({ event, amount }) => (event === 'bet_placed' || event === 'sport_bet_placed') && amount !== null,
  );
  const settled = rows
    .filter(({ event }) => event === 'bet_settled' || event === 'sport_bet_settled')
    .sort((a, b) => a.occurrence - b.occurrence);
  const staked = placed ?? settled.findLast(({ amount }) => amount !== null);
  if (staked === undefined || staked.amount === null || staked.currency === null) return undefined;
  const counted = kind === 'casino' ? staked : (settled[0] ?? staked);
  return {
    kind,
    player_id: staked.player_id,
    state: betEffect(kind, rows).status,
    stake: staked.amount,
    currency: staked.currency,
    occurred_at_ms: counted.occurred_at_ms,
    counted_event: staked.event,
  };
}
