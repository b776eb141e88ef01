import type { PlayerEvent } from '../../../ingest/events/envelope.ts';
import { amountOf } from '../../../ledger/money/ledger.ts';
import type { Where } from '../graph/shapes.ts';
import { ownValue, UNRATED, verdictOf } from '../graph/where.ts';

/** What filters read of an event. */
export type JudgedEvent = Pick<
  PlayerEvent,
  'event' | 'properties' | 'base_amount' | 'base_payout' | 'received_at'
>;

/**
 * Whether the event satisfies the filter. Amounts are compared in the base currency, as segments do. Undefined: that
 * depends on an amount whose rate is not known yet; until it is, the event satisfies nothing.
 */
export function verdictOn(where: Where, event: JudgedEvent): boolean | undefined {
  // Every event of a name is judged by every journey that it may start: nothing is copied for it.
  return verdictOf(where, (property) => valueOf(event, property), event.received_at);
}

function valueOf({ base_amount, base_payout, properties }: JudgedEvent, property: string): unknown {
  const sent = ownValue(properties, property);
  if (property !== 'amount' && property !== 'payout') return sent;
  const base = property === 'amount' ? base_amount : base_payout;
  if (base !== null) return base;
  const amount = amountOf(sent);
  // An amount of a currency is money; without one it is the number that was sent.
  const is_money =
    amount !== undefined && amount > 0n && typeof ownValue(properties, 'currency') === 'string';
  return is_money ? UNRATED : (amount ?? sent);
}
