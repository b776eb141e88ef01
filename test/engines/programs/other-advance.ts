import type { Definition, Node } from '../../../src/engage/journeys/graph/shapes.ts';
import { advance as presentAdvance } from '../../../src/engage/journeys/runs/advance.ts';
import type { Advanced, Facts, RunState } from '../../../src/engage/journeys/runs/shapes.ts';

/** How many times as long runs rest. */
const LONGER = 3;

/** An `advance` that decides otherwise: runs rest longer, and take the other branches of splits. */
export function advance(definition: Definition, run: RunState, facts: Facts, now_ms: number): Advanced {
  const nodes = new Map([...definition.graph.nodes].map(([id, node]) => [id, changed(node)]));
  const graph = { ...definition.graph, nodes };
  return presentAdvance({ ...definition, graph }, run, facts, now_ms);
}

function changed(node: Node): Node {
  if (node.type === 'wait') return { ...node, duration_ms: node.duration_ms * LONGER };
  if (node.type === 'wait_for_event') return { ...node, timeout_ms: node.timeout_ms * LONGER };
  if (node.type === 'split') return { ...node, branches: node.branches.toReversed() };
  return node;
}
