import type { RuleProduct } from './rule.ts';

/** What a player plays who has the event; undefined: it is no bet. */
export function productOfEvent(event: string): RuleProduct | undefined {
  if (/^bet_(placed|won|lost|settled)$/.test(event)) return 'casino';
  return event.startsWith('sport_') ? 'betting' : undefined;
}

/** What a bonus is given for when these events lead to it: null for no bet, `any` for bets on several products. */
export function qualifyingProductOf(events: Iterable<string>): RuleProduct | null {
  const products = new Set<RuleProduct>();
  for (const event of events) {
    const product = productOfEvent(event);
    if (product !== undefined) products.add(product);
  }
  const [first = null] = products;
  return products.size > 1 ? 'any' : first;
}
