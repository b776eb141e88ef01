import { nextOf, reachableFrom, reachableOf } from './edges.ts';
import type { JourneyIssue } from './issues.ts';
import type { Definition, Node } from './shapes.ts';

/** What is odd about a definition, but works. */
export function warningsOf({ graph }: Definition): JourneyIssue[] {
  const warnings: JourneyIssue[] = [];
  const reachable = reachableOf(graph);
  for (const [i, node] of [...graph.nodes.values()].entries()) {
    const warn = (code: JourneyIssue['code'], message: string) =>
      warnings.push({ path: `graph.nodes.${i}`, code, message, node_id: node.id });
    if (!reachable.has(node.id)) {
      warn('UNREACHABLE_NODE', `no way leads from ${graph.start_node_id} to ${node.id}`);
    }
    if (node.type === 'wait_for_event' && node.next === node.timeout_next) {
      warn('TIMEOUT_SAME_AS_NEXT', `with or without the event the run goes on at ${node.next}`);
    }
    if (node.type === 'send_message') {
      for (const id of sendsAfter(node, graph.nodes)) {
        warn(
          'NO_WAIT_BETWEEN_SENDS',
          `no wait is between ${node.id} and ${id}: they may arrive in any order`,
        );
      }
    }
  }
  return warnings;
}

/** The messages that a run may send after this one without having waited. */
function sendsAfter(first: Node, nodes: ReadonlyMap<string, Node>): string[] {
  const reached = reachableFrom(first.id, (id) => {
    const node = nodes.get(id);
    if (node === undefined || isWait(node)) return [];
    return node === first || node.type !== 'send_message' ? nextOf(node) : [];
  });
  return [...reached].filter((id) => id !== first.id && nodes.get(id)?.type === 'send_message');
}

function isWait(node: Node): boolean {
  if (node.type === 'wait') return node.duration_ms > 0;
  return node.type === 'wait_until' || node.type === 'wait_for_event';
}
