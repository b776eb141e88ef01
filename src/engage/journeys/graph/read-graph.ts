import { z } from 'zod';
import { isObject } from '../../../platform/json-object.ts';
import { cyclesOf, writtenEdges } from './edges.ts';
import { quoted, type Place } from './issues.ts';
import { readNode, type RefuseUrl } from './read-node.ts';
import type { Graph, Node } from './shapes.ts';

const MAX_NODES = 50;
const MAX_ID = 64;

const graph = z.strictObject({
  start_node_id: z.string({ error: 'must be the id of a node' }),
  nodes: z.array(z.unknown(), { error: 'must be a list of nodes' }),
});

/** Reads the graph. Undefined after having reported what is wrong. */
export function readGraph(written: unknown, at: Place, refuseUrl: RefuseUrl): Graph | undefined {
  const read = at.read(graph, written);
  const nodes = isObject(written) && Array.isArray(written['nodes']) ? (written['nodes'] as unknown[]) : [];
  if (isObject(written) && Array.isArray(written['nodes']) && nodes.length === 0) {
    return at.in('nodes').report('NO_NODES', 'must have at least one node');
  }
  if (nodes.length > MAX_NODES) {
    const message = `has ${nodes.length} nodes: at most ${MAX_NODES} are allowed`;
    return at.in('nodes').report('TOO_MANY_NODES', message);
  }
  const sound = new Map<string, Node>();
  for (const [i, one] of nodes.entries()) {
    const node = readNode(one, at.in('nodes', i).of(idOf(one)), refuseUrl);
    if (node !== undefined) sound.set(node.id, node);
  }
  checkIds(nodes, at);
  const start = isObject(written) ? written['start_node_id'] : undefined;
  checkEdges(nodes, start, at);
  if (read === undefined || sound.size !== nodes.length) return undefined;
  return { start_node_id: read.start_node_id, nodes: sound };
}

/** The id of a node as written, if it can be shown as one. */
function idOf(written: unknown): string | undefined {
  const id = isObject(written) ? written['id'] : undefined;
  return typeof id === 'string' && id.length <= MAX_ID ? id : undefined;
}

function checkIds(nodes: readonly unknown[], at: Place): void {
  const first = new Map<string, number>();
  for (const [i, node] of nodes.entries()) {
    const id = idOf(node);
    if (id === undefined) continue;
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, i);
    else {
      const message = `${quoted(id)} is the id of graph.nodes.${earlier} already: ids must differ`;
      at.in('nodes', i, 'id').of(id).report('DUPLICATE_NODE_ID', message);
    }
  }
}

/** Whether every edge and the start lead to a node, and the graph has no cycle; also where nodes have other faults. */
function checkEdges(nodes: readonly unknown[], start: unknown, at: Place): void {
  const next = new Map<string, string[]>();
  for (const node of nodes) {
    const id = idOf(node);
    if (id !== undefined && !next.has(id)) next.set(id, []);
  }
  if (typeof start === 'string' && !next.has(start)) {
    at.in('start_node_id').report('START_NODE_MISSING', `no node has the id ${quoted(start)}`);
  }
  for (const [i, node] of nodes.entries()) {
    if (!isObject(node)) continue;
    const id = idOf(node);
    for (const { path, to } of writtenEdges(node)) {
      if (!next.has(to)) {
        const message = `no node has the id ${quoted(to)}`;
        at.in('nodes', i, ...path)
          .of(id)
          .report('NEXT_NODE_MISSING', message);
      } else if (id !== undefined) next.get(id)?.push(to);
    }
  }
  for (const cycle of cyclesOf(next)) {
    const i = nodes.findIndex((node) => cycle.includes(idOf(node) ?? ''));
    const id = idOf(nodes[i]) ?? '';
    const way = [...cycle.slice(cycle.indexOf(id)), ...cycle.slice(0, cycle.indexOf(id)), id].join(' → ');
    at.in('nodes', i).of(id).report('CYCLE', `the journey never ends: ${way}`);
  }
}
