import { edgesOf, idOf, listOf, reachableFrom, type EdgePath, type Graph, type Written } from './graph.ts';
import type { Spot } from './outline.tsx';

// Changes of a graph. Each returns a graph that is as sound as the one before: every way leads to a node, in no circle.

export const NODE_TYPES = [
  'send_message',
  'wait',
  'wait_until',
  'wait_for_event',
  'branch',
  'split',
  'grant_bonus',
  'update_player',
  'call_webhook',
  'end',
] as const;
export type NodeType = (typeof NODE_TYPES)[number];

const DAY_MS = 86_400_000;

/** A node as it is when it is added, with all its ways leading to `next`. */
function firstNode(type: NodeType, id: string, next: string): Written {
  const base = { id, type };
  switch (type) {
    case 'wait':
      return { ...base, duration_ms: DAY_MS, next };
    case 'wait_until':
      return { ...base, local_time: '10:00', timezone: 'player', next };
    case 'wait_for_event':
      return { ...base, event: 'deposit_confirmed', timeout_ms: 3 * DAY_MS, next, timeout_next: next };
    case 'branch':
      return { ...base, branches: [{ condition: FIRST_CONDITION, next }], else_next: next };
    case 'split':
      return {
        ...base,
        branches: [
          { name: 'A', weight: 50, next },
          { name: 'B', weight: 50, next },
        ],
      };
    case 'send_message':
      return { ...base, template_id: '', provider_id: '', next };
    case 'update_player':
      return { ...base, set: { traits: {} }, next };
    case 'grant_bonus':
      return { ...base, template_id: '', next };
    case 'call_webhook':
      return { ...base, url: 'https://', next };
    case 'end':
      return base;
  }
}

export const FIRST_CONDITION: Written = { type: 'trait', field: 'total_deposited', op: 'gt', value: 0 };

/** The graph of a new journey. */
export const FIRST_GRAPH: Graph = { start_node_id: 'end', nodes: [{ id: 'end', type: 'end' }] };

/** The graph with a new node at the place, and the id of the node. */
export function withStep(graph: Graph, spot: Spot, type: NodeType): { graph: Graph; id: string } {
  const id = freeId(graph, type);
  if ('before' in spot) {
    const led = redirected(graph, spot.before, id);
    return { id, graph: { ...led, nodes: [...led.nodes, firstNode(type, id, spot.before)] } };
  }
  const from = graph.nodes.find((node) => idOf(node) === spot.node_id);
  const edge = from && edgesOf(from).find(({ path }) => path.join('.') === spot.path.join('.'));
  const next = edge?.to ?? '';
  const led = withEdge(graph, spot.node_id, spot.path, id);
  const grown = { ...led, nodes: [...led.nodes, firstNode(type, id, next)] };
  return { id, graph: pruned(graph, grown) };
}

function freeId({ nodes }: Graph, type: string): string {
  const taken = new Set(nodes.map(idOf));
  let id = type;
  for (let n = 2; taken.has(id); n++) id = `${type}-${n}`;
  return id;
}

/** Whether the node can go: not an end to which a way leads. */
export function mayRemove({ nodes, start_node_id }: Graph, node: Written): boolean {
  if (edgesOf(node).length > 0) return true;
  const id = idOf(node);
  return id !== start_node_id && nodes.every((one) => edgesOf(one).every(({ to }) => to !== id));
}

/** The graph without the node: ways to it lead to what follows. What only it led to goes, too. */
export function withoutStep(graph: Graph, id: string): Graph {
  const node = graph.nodes.find((one) => idOf(one) === id);
  if (node === undefined || !mayRemove(graph, node)) return graph;
  const edges = edgesOf(node);
  // After a branch, go on with the step for the case that no condition holds.
  const next = node['type'] === 'branch' ? edges.at(-1)?.to : edges[0]?.to;
  const without = { ...graph, nodes: graph.nodes.filter((one) => idOf(one) !== id) };
  return pruned(graph, next === undefined ? without : redirected(without, id, next));
}

/** The graph with another node at which a way goes on. */
export function withEdge(graph: Graph, id: string, path: EdgePath, to: string): Graph {
  return withNode(graph, id, (node) => setAt(node, path, to) as Written);
}

/** The graph with one node changed; keys whose value is undefined are omitted. */
export function withNode(graph: Graph, id: string, change: (node: Written) => Written): Graph {
  return { ...graph, nodes: graph.nodes.map((node) => (idOf(node) === id ? without(change(node)) : node)) };
}

/** JSON has no undefined values. */
export function without(written: Written): Written {
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined));
}

/** The nodes at which a way from this one may go on: those that do not lead back to it. */
export function targetsOf(graph: Graph, id: string): readonly Written[] {
  return graph.nodes.filter((node) => !reachableFrom(graph, idOf(node)).has(id));
}

/** A branching node with one more way, which leads where its last one leads. */
export function withBranch(node: Written): Written {
  const branches = listOf(node, 'branches');
  const next = edgesOf(node).at(-1)?.to ?? '';
  const more =
    node['type'] === 'split'
      ? { name: nextName(branches), weight: 50, next }
      : { condition: FIRST_CONDITION, next };
  return { ...node, branches: [...branches, more] };
}

function nextName(branches: readonly Written[]): string {
  const taken = new Set(branches.map(({ name }) => name));
  return 'ABCDEFGHIJKLMNOP'.split('').find((letter) => !taken.has(letter)) ?? String(branches.length + 1);
}

/** The graph without one way of a branching node, and without what only that way led to. */
export function withoutBranch(graph: Graph, id: string, index: number): Graph {
  const fewer = withNode(graph, id, (node) => ({
    ...node,
    branches: listOf(node, 'branches').filter((_, i) => i !== index),
  }));
  return pruned(graph, fewer);
}

/** The graph with another target of one way, without what nothing leads to any more. */
export function retargeted(graph: Graph, id: string, path: EdgePath, to: string): Graph {
  return pruned(graph, withEdge(graph, id, path, to));
}

function redirected({ start_node_id, nodes }: Graph, from: string, to: string): Graph {
  return {
    start_node_id: start_node_id === from ? to : start_node_id,
    nodes: nodes.map((node) =>
      edgesOf(node)
        .filter((edge) => edge.to === from)
        .reduce((changed, { path }) => setAt(changed, path, to) as Written, node),
    ),
  };
}

/** Removes from `after` what a run could come to in `before` and cannot any more. */
function pruned(before: Graph, after: Graph): Graph {
  const was = reachableFrom(before, before.start_node_id);
  const is = reachableFrom(after, after.start_node_id);
  const kept = after.nodes.filter((node) => is.has(idOf(node)) || !was.has(idOf(node)));
  return { ...after, nodes: kept };
}

function setAt(value: unknown, [key, ...rest]: EdgePath, to: unknown): unknown {
  if (key === undefined) return to;
  if (Array.isArray(value))
    return value.map((one, i) => (i === key ? setAt(one, rest, to) : (one as unknown)));
  const object = value as Written;
  return { ...object, [key]: setAt(object[key], rest, to) };
}
