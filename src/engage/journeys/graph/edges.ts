import type { Graph, Node } from './shapes.ts';

/** One way on from a node: the field that names the next one, and its id. */
export interface Edge {
  path: readonly (string | number)[];
  to: string;
}

/** The edges of a node as a caller wrote it, so far as they can be read. */
export function writtenEdges(written: Readonly<Record<string, unknown>>): Edge[] {
  const edges: Edge[] = [];
  const add = (path: Edge['path'], to: unknown) => {
    if (typeof to === 'string') edges.push({ path, to });
  };
  for (const field of ['next', 'timeout_next', 'else_next']) add([field], written[field]);
  const branches = Array.isArray(written['branches']) ? (written['branches'] as unknown[]).slice(0, 10) : [];
  for (const [i, branch] of branches.entries()) {
    if (typeof branch === 'object' && branch !== null && 'next' in branch) {
      add(['branches', i, 'next'], branch.next);
    }
  }
  return edges;
}

/** The ids of the nodes to which a node may lead on, without repetitions. */
export function nextOf(node: Node): readonly string[] {
  switch (node.type) {
    case 'wait_for_event':
      return [...new Set([node.next, node.timeout_next])];
    case 'branch':
      return [...new Set([...node.branches.map(({ next }) => next), node.else_next])];
    case 'split':
      return [...new Set(node.branches.map(({ next }) => next))];
    case 'end':
      return [];
    case 'wait':
    case 'wait_until':
    case 'send_message':
    case 'update_player':
    case 'grant_bonus':
    case 'call_webhook':
      return [node.next];
  }
}

/** The ids of the nodes that a run can come to, the start included. */
export function reachableFrom(start: string, next: (id: string) => readonly string[]): ReadonlySet<string> {
  const reached = new Set([start]);
  for (const id of reached) for (const to of next(id)) reached.add(to);
  return reached;
}

/** The ids of the nodes that a run of this graph can come to. */
export function reachableOf({ start_node_id, nodes }: Graph): ReadonlySet<string> {
  return reachableFrom(start_node_id, (id) => {
    const node = nodes.get(id);
    return node === undefined ? [] : nextOf(node);
  });
}

/**
 * Cycles of a graph, each as the ids of its nodes in their order; together they explain why the graph has no order.
 * Linear but for the number of cycles: Kahn's order takes away what is in none.
 */
export function cyclesOf(next: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  let left = new Map(next);
  for (;;) {
    left = withoutOrdered(left);
    const [first] = left.keys();
    if (first === undefined) return cycles;
    const cycle = cycleBefore(first, left);
    cycles.push(cycle);
    for (const id of cycle) left.delete(id);
  }
}

/** What Kahn's algorithm leaves: every node has a predecessor that is left, too. */
function withoutOrdered(next: ReadonlyMap<string, readonly string[]>): Map<string, readonly string[]> {
  const left = new Map(next);
  const incoming = new Map([...next.keys()].map((id) => [id, 0]));
  for (const targets of next.values()) {
    for (const to of targets) if (incoming.has(to)) incoming.set(to, (incoming.get(to) ?? 0) + 1);
  }
  const free = [...incoming].filter(([, count]) => count === 0).map(([id]) => id);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    for (const to of left.get(id) ?? []) {
      const count = incoming.get(to);
      if (count === undefined) continue;
      incoming.set(to, count - 1);
      if (count === 1) free.push(to);
    }
    left.delete(id);
  }
  return left;
}

/** Walks backwards until a node comes twice: what lies between is a cycle. */
function cycleBefore(start: string, left: ReadonlyMap<string, readonly string[]>): string[] {
  const before = new Map<string, string>();
  for (const [id, targets] of left) for (const to of targets) if (left.has(to)) before.set(to, id);
  const walked: string[] = [];
  let id = start;
  while (!walked.includes(id)) {
    walked.push(id);
    id = before.get(id) ?? id;
  }
  return walked.slice(walked.indexOf(id)).reverse();
}
