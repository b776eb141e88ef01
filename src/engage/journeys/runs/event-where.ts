import type { PlayerEvent } from '../../../ingest/events/envelope.ts';
import type { Where } from '../graph/shapes.ts';
import { matchesValues, ownValue } from '../graph/where.ts';

/** What filters read of an event. */
export type JudgedEvent = Pick<
  PlayerEvent,
  'event' | 'properties' | 'base_amount' | 'base_payout' | 'received_at'
>;

/** Whether the event satisfies the filter. Amounts are compared in the base currency, as segments do. */
export function satisfiesWhere(where: Where, event: JudgedEvent): boolean {
  // Every event of a name is judged by every journey that it may start: nothing is copied for it.
  return matchesValues(where, (property) => valueOf(event, property), event.received_at);
}

function valueOf({ base_amount, base_payout, properties }: JudgedEvent, property: string): unknown {
  if (property === 'amount' && base_amount !== null) return base_amount;
  if (property === 'payout' && base_payout !== null) return base_payout;
  return ownValue(properties, property);
}
