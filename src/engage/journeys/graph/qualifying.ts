import { qualifyingProductOf, type RuleProduct } from '../../../tenants/licence/rule.ts';
import { nextOf, reachableFrom } from './edges.ts';
import type { Definition } from './shapes.ts';

const known = new WeakMap<Definition, Map<string, RuleProduct | null>>();

/**
 * What players bet on to get the bonus of a `grant_bonus` node: the products of the event that starts a run and of those
 * that a run waited for on some way to the node. Null: on nothing; `any`: on several products.
 */
export function qualifyingProductAt(definition: Definition, node_id: string): RuleProduct | null {
  const products = known.get(definition) ?? productsOf(definition);
  known.set(definition, products);
  return products.get(node_id) ?? null;
}

function productsOf({ trigger, graph: { nodes } }: Definition): Map<string, RuleProduct | null> {
  const events = new Map<string, string[]>();
  const first = trigger.kind === 'event' ? [trigger.event] : [];
  for (const node of nodes.values()) if (node.type === 'grant_bonus') events.set(node.id, [...first]);
  for (const node of nodes.values()) {
    if (node.type !== 'wait_for_event') continue;
    const after = reachableFrom(node.next, (id) => {
      const reached = nodes.get(id);
      return reached === undefined ? [] : nextOf(reached);
    });
    for (const id of after) events.get(id)?.push(node.event);
  }
  return new Map([...events].map(([id, of]) => [id, qualifyingProductOf(of)]));
}
