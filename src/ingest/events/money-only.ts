import { definitionOf, EVENTS } from './catalogue.ts';

/** What an amount may look like: a number, or digits as text. */
const AMOUNT = /^[0-9]{1,38}$/;
/** What a currency may look like. */
const CURRENCY = /^[A-Za-z0-9]{1,16}$/;

interface MoneyProperty {
  name: string;
  /** What the value must look like, because a caller may write anything; undefined: any text. */
  text: RegExp | undefined;
  /** The events of which it is kept. */
  events: readonly string[];
}

/** The properties that stay of the events of an erased player: what the ledger has of them as well. */
export const MONEY_PROPERTIES: readonly MoneyProperty[] = [
  ...['amount', 'payout', 'bonus_stake', 'bonus_payout'].map((name) => kept(name, AMOUNT)),
  kept('currency', CURRENCY),
  ...['transaction_id', 'bet_id', 'movement_id', 'reversal_id'].map((name) => kept(name, undefined)),
  ...reasons(),
];

function kept(name: string, text: RegExp | undefined): MoneyProperty {
  return { name, text, events: eventsWith(name) };
}

/** The reasons of a balance's change are a list of words; the reason of a reversal is free text, and may be about anything. */
function reasons(): MoneyProperty[] {
  return eventsWith('reason').flatMap((event) => {
    const words = definitionOf(event)?.properties['reason']?.['enum'];
    if (!Array.isArray(words)) return [];
    return [{ name: 'reason', text: new RegExp(`^(${words.join('|')})$`), events: [event] }];
  });
}

/** The events that have the property in the catalogue. */
function eventsWith(property: string): string[] {
  return Object.entries(EVENTS).flatMap(([event, { properties }]) =>
    Object.hasOwn(properties, property) ? [event] : [],
  );
}

/** The properties of an event of an erased player: those about money, as they were sent, and nothing else. */
export function moneyOnly(event: string, properties: Record<string, unknown>): Record<string, unknown> {
  const rest = MONEY_PROPERTIES.filter(({ name, text, events }) => {
    const value = properties[name];
    if (!events.includes(event) || !Object.hasOwn(properties, name)) return false;
    if (text === undefined) return typeof value === 'string';
    return (typeof value === 'string' || typeof value === 'number') && text.test(String(value));
  });
  return Object.fromEntries(rest.map(({ name }) => [name, properties[name]]));
}
