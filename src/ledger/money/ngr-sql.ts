import { BET_EVENTS } from './ledger.ts';

/** What an event of a bet adds to the gross revenue, in ClickHouse. */
export const GGR_SQL = 'toInt128(stake_counted) - payout_counted';

/** The events that net gaming revenue is made of. */
export const NGR_EVENTS: readonly string[] = [...BET_EVENTS, 'balance_credited', 'balance_debited'];

/** What one of {@link NGR_EVENTS} adds to it, in ClickHouse: the same as in the totals of its player (`ngrOf`). */
export const NGR_SQL = `multiIf(event = 'balance_credited', -toInt128(stake_counted), event = 'balance_debited', toInt128(stake_counted),
      ${GGR_SQL} - bonus_stake_counted + bonus_payout_counted)`;
