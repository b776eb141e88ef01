import { contextValue } from './where.ts';
import type { Definition, GrantBonusNode } from './shapes.ts';

/**
 * The transaction_id of the deposit for which a node of a run grants: the one whose amount the node takes, else the one that
 * has started the run; undefined: it is for no deposit.
 */
export function depositOfGrant(
  definition: Definition,
  { deposit_amount: from }: Pick<GrantBonusNode, 'deposit_amount'>,
  context: unknown,
): string | undefined {
  const taken = typeof from === 'object' && from.root === 'context' ? from.path.slice(0, -1) : [];
  for (const path of [taken, ['trigger_payload']]) {
    if (eventAt(definition, path) !== 'deposit_confirmed') continue;
    const id = contextValue(context, [...path, 'transaction_id']);
    if (typeof id === 'string') return id;
  }
  return undefined;
}

/** The event whose properties a run has at a path of its context; undefined: there are those of none. */
function eventAt(
  { trigger, graph }: Definition,
  [root, node_id, ...rest]: readonly string[],
): string | undefined {
  if (root === 'trigger_payload' && node_id === undefined)
    return trigger.kind === 'event' ? trigger.event : undefined;
  if (root !== 'events' || node_id === undefined || rest.length > 0) return undefined;
  const node = graph.nodes.get(node_id);
  return node?.type === 'wait_for_event' ? node.event : undefined;
}
