import { parseExactly, writeExactly } from '../../api/json.ts';
import { sameJson } from './difference.ts';
import { FIRST_GRAPH } from './edit-graph.ts';
import { graphOf, idOf, isObject, type Graph, type Written } from './graph.ts';
import type { JourneyIssue, JourneyRecord } from './queries.ts';

/** A journey while it is edited. */
export interface Draft {
  name: string;
  trigger: Written;
  graph: Graph;
  settings: Written;
}

/** A value whose text is not JSON yet. A draft with one cannot be saved. */
export class Unread {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The value of a text: JSON, nothing for an empty text, or what is unreadable. */
export function jsonOf(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return parseExactly(text);
  } catch {
    return new Unread(text);
  }
}

export function jsonText(value: unknown): string {
  if (value === undefined) return '';
  return value instanceof Unread ? value.text : writeExactly(value, 2);
}

export function newDraft(): Draft {
  return {
    name: '',
    trigger: { kind: 'event', event: 'deposit_confirmed' },
    graph: FIRST_GRAPH,
    settings: { re_entry: { mode: 'after_exit' } },
  };
}

export function draftOf({
  name,
  trigger,
  graph,
  settings,
}: Omit<JourneyRecord, 'graph'> & { graph: unknown }): Draft {
  return { name, trigger, graph: graphOf(graph), settings };
}

/** The parts in which two drafts differ. */
export function changesOf(now: Draft, before: Draft): (keyof Draft)[] {
  const parts = ['name', 'trigger', 'graph', 'settings'] as const;
  return parts.filter((part) => !sameJson(now[part], before[part]));
}

/** What keeps a draft from being sent: it has no name, or a text in it is not JSON. */
export function localIssues(draft: Draft, messages: { name: string; json: string }): JourneyIssue[] {
  const found: JourneyIssue[] = [];
  const report = (path: string, message: string, node_id?: string) =>
    found.push({ path, message, code: 'FIELD_INVALID', ...(node_id === undefined ? {} : { node_id }) });
  if (draft.name.trim() === '') report('name', messages.name);
  for (const path of unreadIn(draft.trigger, 'trigger')) report(path, messages.json);
  for (const path of unreadIn(draft.settings, 'settings')) report(path, messages.json);
  for (const [i, node] of draft.graph.nodes.entries()) {
    for (const path of unreadIn(node, `graph.nodes.${i}`)) report(path, messages.json, idOf(node));
  }
  return found;
}

function unreadIn(value: unknown, path: string): string[] {
  if (value instanceof Unread) return [path];
  if (Array.isArray(value)) return value.flatMap((one, i) => unreadIn(one, `${path}.${i}`));
  return isObject(value)
    ? Object.entries(value).flatMap(([key, one]) => unreadIn(one, `${path}.${key}`))
    : [];
}

/** The issues of the service that are still about what it was sent, by the part or the node that they are about. */
export function issuesByPart(
  now: Draft,
  sent: Draft,
  issues: readonly JourneyIssue[],
): ReadonlyMap<string, readonly JourneyIssue[]> {
  const found = new Map<string, JourneyIssue[]>();
  for (const issue of issues) {
    const part = partOf(issue, sent);
    if (contentOf(now, part) !== contentOf(sent, part)) continue;
    found.set(part, [...(found.get(part) ?? []), issue]);
  }
  return found;
}

/** `node <id>` for issues about a node, else the first key of the path. */
function partOf({ path, node_id }: JourneyIssue, { graph }: Draft): string {
  if (node_id !== undefined) return `node ${node_id}`;
  const [part = '', list, index] = path.split('.');
  const node = part === 'graph' && list === 'nodes' ? graph.nodes[Number(index)] : undefined;
  return node === undefined ? part : `node ${idOf(node)}`;
}

function contentOf({ graph, ...rest }: Draft, part: string): unknown {
  if (part.startsWith('node ')) return graph.nodes.find((node) => part === `node ${idOf(node)}`);
  if (part === 'graph') return graph;
  return rest[part as keyof typeof rest];
}
