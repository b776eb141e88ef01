import type { PlayerEvent } from '../../../ingest/events/envelope.ts';
import { amountOf, claimOf } from '../../../ledger/money/ledger.ts';
import type { Where } from '../graph/shapes.ts';
import { isMoneyProperty, MONEY_PROPERTIES, type MoneyProperty } from '../../../segments/language/fields.ts';
import { ownValue, UNRATED, verdictOf } from '../graph/where.ts';

/** What filters read of an event. */
export type JudgedEvent = Pick<
  PlayerEvent,
  'event' | 'properties' | (typeof MONEY_PROPERTIES)[MoneyProperty] | 'received_at'
>;

/**
 * Whether the event satisfies the filter. Amounts are compared in the base currency, as segments do. Undefined: that
 * depends on an amount whose rate is not known yet; until it is, the event satisfies nothing.
 */
export function verdictOn(where: Where, event: JudgedEvent): boolean | undefined {
  // Every event of a name is judged by every journey that it may start: nothing is copied for it.
  return verdictOf(where, (property) => valueOf(event, property), event.received_at);
}

function valueOf(event: JudgedEvent, property: string): unknown {
  const { properties } = event;
  const sent = ownValue(properties, property);
  if (!isMoneyProperty(property, event.event)) return sent;
  const base = event[MONEY_PROPERTIES[property]];
  if (base !== null && base !== undefined) return base;
  const amount = amountOf(sent);
  if (amount === 0n) return amount;
  if (amount !== undefined && isPending(event, property)) return UNRATED;
  // The fold has converted what it could: as a number, an amount of another currency would be compared with base money.
  const currency = ownValue(properties, 'currency');
  return typeof currency === 'string' && currency !== '' ? undefined : (amount ?? sent);
}

/** Whether the ledger has the amount, as money whose rate may still come. */
function isPending({ event, properties, received_at }: JudgedEvent, property: MoneyProperty): boolean {
  const claim = claimOf(event, properties, received_at);
  return claim !== undefined && claim.currency !== null && claim[property] !== null;
}
