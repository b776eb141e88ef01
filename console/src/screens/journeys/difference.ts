import { writeExactly } from '../../api/json.ts';
import { idOf, isObject, graphOf, type Written } from './graph.ts';

/** What a version, or what was saved last, has. */
export interface Content {
  trigger: Written;
  graph: unknown;
  settings: Written;
}

/** One part that differs. */
export interface Difference {
  kind: 'added' | 'removed' | 'changed';
  part: 'trigger' | 'settings' | 'start' | 'node';
  /** The node before, or after where it was added. */
  node?: Written;
  /** The field that differs, as a path; absent: the whole part. */
  field?: string;
  before?: unknown;
  after?: unknown;
}

/** What is different in `after`; the order of keys does not count. */
export function differencesOf(before: Content, after: Content): Difference[] {
  const [old_graph, new_graph] = [graphOf(before.graph), graphOf(after.graph)];
  const old_nodes = new Map(old_graph.nodes.map((node) => [idOf(node), node]));
  const new_nodes = new Map(new_graph.nodes.map((node) => [idOf(node), node]));
  const found: Difference[] = [
    ...fieldsOf(before.trigger, after.trigger).map((one) => ({ ...one, part: 'trigger' as const })),
    ...fieldsOf(before.settings, after.settings).map((one) => ({ ...one, part: 'settings' as const })),
  ];
  if (old_graph.start_node_id !== new_graph.start_node_id) {
    const [was, is] = [old_graph.start_node_id, new_graph.start_node_id];
    found.push({ kind: 'changed', part: 'start', before: was, after: is });
  }
  for (const [id, node] of old_nodes) {
    const now = new_nodes.get(id);
    if (now === undefined) found.push({ kind: 'removed', part: 'node', node });
    else found.push(...fieldsOf(node, now).map((one) => ({ ...one, part: 'node' as const, node: now })));
  }
  for (const [id, node] of new_nodes) {
    if (!old_nodes.has(id)) found.push({ kind: 'added', part: 'node', node });
  }
  return found;
}

type FieldDifference = Pick<Difference, 'kind' | 'field' | 'before' | 'after'>;

/** The fields that differ, inside of objects; lists differ as a whole. */
function fieldsOf(before: Written, after: Written, prefix = ''): FieldDifference[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key): FieldDifference[] => {
    const [was, is] = [before[key], after[key]];
    const field = `${prefix}${key}`;
    if (isObject(was) && isObject(is)) return fieldsOf(was, is, `${field}.`);
    if (sameJson(was, is)) return [];
    const kind = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';
    return [{ kind, field, before: was, after: is }];
  });
}

/** Whether two values have the same JSON; the order of keys does not count. */
export function sameJson(one: unknown, other: unknown): boolean {
  return writeExactly(sorted(one)) === writeExactly(sorted(other));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
