// The graph of a journey as it is written, and its order on the screen.

/** JSON of a node, a trigger or settings, including fields that the console does not know. */
export type Written = Readonly<Record<string, unknown>>;

export interface Graph {
  start_node_id: string;
  nodes: readonly Written[];
}

/** Where a node names the next one: the keys that lead to the id inside of it. */
export type EdgePath = readonly (string | number)[];

/** One way on from a node. */
export interface Edge {
  path: EdgePath;
  /** The id of the next node; empty or unknown: it leads nowhere yet. */
  to: string;
  kind: 'next' | 'event' | 'timeout' | 'branch' | 'share' | 'else';
  /** The branch of a branching node, else undefined. */
  branch?: Written;
}

export function isObject(value: unknown): value is Written {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The list of objects under a key; anything else in it is omitted. */
export function listOf(written: Written, key: string): readonly Written[] {
  const list = written[key];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

export function idOf(node: Written): string {
  return textOf(node['id']);
}

/** The graph of a stored journey or version; anything but a graph has no nodes. */
export function graphOf(written: unknown): Graph {
  if (!isObject(written)) return { start_node_id: '', nodes: [] };
  return { start_node_id: textOf(written['start_node_id']), nodes: listOf(written, 'nodes') };
}

/** The ways on from a node, in the order of the screen. */
export function edgesOf(node: Written): readonly Edge[] {
  const one = (key: string, kind: Edge['kind']): Edge => ({ path: [key], to: textOf(node[key]), kind });
  const branches = (kind: Edge['kind']) =>
    listOf(node, 'branches').map((branch, i): Edge => ({
      path: ['branches', i, 'next'],
      to: textOf(branch['next']),
      kind,
      branch,
    }));
  switch (node['type']) {
    case 'end':
      return [];
    case 'wait_for_event':
      return [one('next', 'event'), one('timeout_next', 'timeout')];
    case 'branch':
      return [...branches('branch'), one('else_next', 'else')];
    case 'split':
      return branches('share');
    default:
      return [one('next', 'next')];
  }
}

/** A node on the screen, with its ways if there are several. */
export interface Step {
  id: string;
  node: Written;
  /** Place in the list of the graph: issues name it. */
  index: number;
  ways: readonly Way[];
}

/** Steps one after the other; `on` is the node where it goes on, which is shown elsewhere; undefined: it ends here. */
export interface Sequence {
  steps: readonly Step[];
  on: string | undefined;
}

export interface Way extends Sequence {
  edge: Edge;
}

/** The graph as an indented list: from the start, and what no way leads to. */
export interface Outline {
  main: Sequence;
  unreached: readonly Step[];
}

/** What comes after all ways of a node have met is below that node again, not inside of one of its ways. */
export function outlineOf({ start_node_id, nodes }: Graph): Outline {
  const by_id = new Map(nodes.map((node, index) => [idOf(node), { node, index }]));
  const meeting = meetings(nodes);
  const seen = new Set<string>();
  const follow = (start: string, stops: ReadonlySet<string>): Sequence => {
    const steps: Step[] = [];
    let id = start;
    for (;;) {
      const found = by_id.get(id);
      if (found === undefined || stops.has(id) || seen.has(id)) return { steps, on: id };
      seen.add(id);
      const edges = edgesOf(found.node);
      const [first] = edges;
      if (first === undefined || edges.length === 1) {
        steps.push({ id, ...found, ways: [] });
        if (first === undefined) return { steps, on: undefined };
        id = first.to;
        continue;
      }
      const join = meeting(id);
      const inner = join === undefined ? stops : new Set([...stops, join]);
      steps.push({ id, ...found, ways: edges.map((edge) => ({ edge, ...follow(edge.to, inner) })) });
      if (join === undefined) return { steps, on: undefined };
      id = join;
    }
  };
  const main = follow(start_node_id, new Set());
  const unreached = [...by_id].filter(([id]) => !seen.has(id));
  return { main, unreached: unreached.map(([id, found]) => ({ id, ...found, ways: [] })) };
}

/** For a node the first one that every way from it comes to; undefined: there is none. */
function meetings(nodes: readonly Written[]): (id: string) => string | undefined {
  const next = new Map(nodes.map((node) => [idOf(node), edgesOf(node).map(({ to }) => to)]));
  const known = new Map<string, ReadonlySet<string>>();
  /** The nodes that every way from this one comes to, itself included. In a cycle: only some of them. */
  const inevitable = (id: string): ReadonlySet<string> => {
    const found = known.get(id);
    if (found !== undefined) return found;
    known.set(id, new Set([id]));
    const [first = new Set<string>(), ...others] = (next.get(id) ?? []).map(inevitable);
    const set = new Set([id, ...[...first].filter((one) => others.every((other) => other.has(one)))]);
    known.set(id, set);
    return set;
  };
  return (id) => {
    const common = [...inevitable(id)].filter((one) => one !== id && next.has(one));
    // The nearest one has all others behind it.
    return common.toSorted((a, b) => inevitable(b).size - inevitable(a).size)[0];
  };
}

/** The ids of the nodes that a run can come to from this one, itself included. */
export function reachableFrom({ nodes }: Graph, start: string): ReadonlySet<string> {
  const next = new Map(nodes.map((node) => [idOf(node), edgesOf(node).map(({ to }) => to)]));
  const reached = new Set([start]);
  for (const id of reached) for (const to of next.get(id) ?? []) reached.add(to);
  return reached;
}
