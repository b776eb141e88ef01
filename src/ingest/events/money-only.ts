import { definitionOf, EVENTS } from './catalogue.ts';

/** What an amount may look like: a number, or digits as text. */
const AMOUNT = /^[0-9]{1,38}$/;
/** What a currency may look like. */
const CURRENCY = /^[A-Za-z0-9]{1,16}$/;

/**
 * The properties that stay of the events of an erased player: what the ledger has of them as well. `text`: what the value
 * must look like, because a caller may write anything.
 */
export const MONEY_PROPERTIES: readonly { name: string; text: RegExp | undefined }[] = [
  { name: 'amount', text: AMOUNT },
  { name: 'payout', text: AMOUNT },
  { name: 'currency', text: CURRENCY },
  { name: 'transaction_id', text: undefined },
  { name: 'bet_id', text: undefined },
];

/** The events that have the property in the catalogue. */
export function eventsWith(property: string): string[] {
  return Object.entries(EVENTS).flatMap(([event, { properties }]) =>
    Object.hasOwn(properties, property) ? [event] : [],
  );
}

/** The properties of an event of an erased player: those about money, as they were sent, and nothing else. */
export function moneyOnly(event: string, properties: Record<string, unknown>): Record<string, unknown> {
  const known = definitionOf(event)?.properties ?? {};
  const kept = MONEY_PROPERTIES.filter(({ name, text }) => {
    const value = properties[name];
    if (!Object.hasOwn(known, name) || !Object.hasOwn(properties, name)) return false;
    if (text === undefined) return typeof value === 'string';
    return (typeof value === 'string' || typeof value === 'number') && text.test(String(value));
  });
  return Object.fromEntries(kept.map(({ name }) => [name, properties[name]]));
}
