import { parseExactly, writeExactly } from '../../api/json.ts';
import type { Written } from './vocabulary.ts';

export const GROUP_OPERATORS = ['AND', 'OR', 'NOT'] as const;
export type GroupOperator = (typeof GROUP_OPERATORS)[number];

/** A group of conditions in the builder. */
export interface Group {
  id: string;
  operator: GroupOperator;
  children: readonly Node[];
}

/** A condition; `written` is its JSON as it is stored, including fields that the builder does not know. */
export interface Leaf {
  id: string;
  written: Written;
}

/** A part of a definition as text that somebody types; it need not be JSON yet. */
export interface Raw {
  id: string;
  text: string;
}

export type Node = Group | Leaf | Raw;

/** Where the root stands in paths of issues and of counts. */
export const ROOT = 'definition';

let last_id = 0;
function newId(): string {
  last_id += 1;
  return `n${last_id}`;
}

export function isGroup(node: Node): node is Group {
  return 'children' in node;
}

export function isRaw(node: Node): node is Raw {
  return 'text' in node;
}

export function isObject(value: unknown): value is Written {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The node of a written group or condition; what is neither becomes text, so that nothing of it is lost. */
export function nodeOf(written: unknown): Node {
  if (isObject(written) && typeof written['type'] === 'string') return { id: newId(), written };
  if (isObject(written) && !('type' in written)) {
    const { operator, conditions, ...unknown } = written;
    const known = GROUP_OPERATORS.find((one) => one === operator);
    if (known !== undefined && Array.isArray(conditions) && Object.keys(unknown).length === 0)
      return newGroup(known, conditions.map(nodeOf));
  }
  return { id: newId(), text: writeExactly(written, 2) };
}

export function newGroup(operator: GroupOperator, children: readonly Node[] = []): Group {
  return { id: newId(), operator, children };
}

export function newLeaf(written: Written): Leaf {
  return { id: newId(), written };
}

/** The JSON of a node. Throws SyntaxError where the text of a part is not JSON. */
export function writtenOf(node: Node): unknown {
  if (isRaw(node)) return parseExactly(node.text);
  if (!isGroup(node)) return node.written;
  return { operator: node.operator, conditions: node.children.map(writtenOf) };
}

/** The node as the text of its JSON. Throws SyntaxError where the text of a part is not JSON. */
export function textOf(node: Node): Raw {
  return isRaw(node) ? node : { id: node.id, text: writeExactly(writtenOf(node), 2) };
}

/** Every node with its path, like `definition.conditions.0`, in the order of the screen. */
export function* walk(
  node: Node,
  path = ROOT,
  depth = 1,
): Generator<{ node: Node; path: string; depth: number }> {
  yield { node, path, depth };
  if (!isGroup(node)) return;
  for (const [i, child] of node.children.entries()) yield* walk(child, `${path}.conditions.${i}`, depth + 1);
}

/** Why a definition cannot be sent yet: groups without conditions, and text that is not JSON. */
export function unfinished(root: Node): { path: string; why: 'empty' | 'text' }[] {
  return [...walk(root)].flatMap(({ node, path }): { path: string; why: 'empty' | 'text' }[] => {
    if (isGroup(node)) return node.children.length === 0 ? [{ path, why: 'empty' }] : [];
    if (!isRaw(node)) return [];
    try {
      parseExactly(node.text);
      return [];
    } catch {
      return [{ path, why: 'text' }];
    }
  });
}

/** The tree with one node replaced by `change`; undefined removes it. The root is not removed. */
export function changed(root: Node, id: string, change: (node: Node) => Node | readonly Node[]): Node {
  if (root.id === id) {
    const next = change(root);
    return Array.isArray(next) ? root : (next as Node);
  }
  return isGroup(root)
    ? { ...root, children: root.children.flatMap((child) => below(child, id, change)) }
    : root;
}

function below(node: Node, id: string, change: (node: Node) => Node | readonly Node[]): readonly Node[] {
  if (node.id === id) return [change(node)].flat();
  if (!isGroup(node)) return [node];
  return [{ ...node, children: node.children.flatMap((child) => below(child, id, change)) }];
}

export function removed(root: Node, id: string): Node {
  return changed(root, id, () => []);
}

/** The tree with `node` as the last of the group. */
export function added(root: Node, group_id: string, node: Node): Node {
  return changed(root, group_id, (group) =>
    isGroup(group) ? { ...group, children: [...group.children, node] } : group,
  );
}

/** The tree with a copy behind the node. */
export function duplicated(root: Node, id: string): Node {
  return changed(root, id, (node) => [node, copied(node)]);
}

function copied(node: Node): Node {
  if (!isGroup(node)) return { ...node, id: newId() };
  return { ...node, id: newId(), children: node.children.map(copied) };
}

/** The tree with another operator of a group; NOT takes one member, so several go into a group of their own. */
export function operated(root: Node, id: string, operator: GroupOperator): Node {
  return changed(root, id, (group) => {
    if (!isGroup(group) || group.operator === operator) return group;
    if (operator !== 'NOT' || group.children.length < 2) return { ...group, operator };
    return { ...group, operator, children: [newGroup(group.operator, group.children)] };
  });
}

/** Whether a group takes a further member. */
export function hasRoom({ operator, children }: Group): boolean {
  return operator !== 'NOT' || children.length === 0;
}

/**
 * The tree with the node one place up or down: past its neighbour, into it when it is a group with room, and at the end of
 * its group out of it. The same tree when there is no further place.
 */
export function moved(root: Node, id: string, by: -1 | 1): Node {
  const parent = parentOf(root, id);
  if (parent === undefined) return root;
  const at = parent.children.findIndex((child) => child.id === id);
  const node = parent.children[at];
  const neighbour = parent.children[at + by];
  if (node === undefined) return root;
  const without = parent.children.filter((child) => child.id !== id);
  if (neighbour === undefined) {
    const above = parentOf(root, parent.id);
    if (above === undefined || !hasRoom(above)) return root;
    const kept = { ...parent, children: without };
    return changed(root, parent.id, () => (by < 0 ? [node, kept] : [kept, node]));
  }
  if (isGroup(neighbour) && hasRoom(neighbour)) {
    const children = by < 0 ? [...neighbour.children, node] : [node, ...neighbour.children];
    return changed(removed(root, id), neighbour.id, () => ({ ...neighbour, children }));
  }
  return changed(root, parent.id, () => ({ ...parent, children: without.toSpliced(at + by, 0, node) }));
}

export function parentOf(root: Node, id: string): Group | undefined {
  for (const { node } of walk(root)) {
    if (isGroup(node) && node.children.some((child) => child.id === id)) return node;
  }
  return undefined;
}

/** The node behind the one with the id, in its group. */
export function nextOf(root: Node, id: string): Node | undefined {
  const { children = [] } = parentOf(root, id) ?? {};
  return children[children.findIndex((child) => child.id === id) + 1];
}
