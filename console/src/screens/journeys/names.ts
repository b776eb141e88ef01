import { idOf, isObject, listOf, type Graph, type Written } from './graph.ts';
import { useBonusTemplates, useProviders, useSegments, useTemplates, type Named } from './queries.ts';
import type { NameOf } from './words.ts';

/** A record that a definition names. */
export interface Use {
  kind: 'template' | 'provider' | 'bonus' | 'segment' | 'webhook';
  /** The id; of a webhook the URL. */
  id: string;
}

/** What a definition refers to, each once. */
export function usesOf(trigger: Written, graph: Graph, settings: Written): Use[] {
  const found = new Map<string, Use>();
  const add = (kind: Use['kind'], id: unknown) => {
    if (typeof id === 'string' && id !== '') found.set(`${kind} ${id}`, { kind, id });
  };
  add('segment', trigger['segment_id']);
  for (const rule of listOf(settings, 'exit_on')) add('segment', rule['segment_exited']);
  for (const node of graph.nodes) {
    if (node['type'] === 'send_message') {
      add('template', node['template_id']);
      add('provider', node['provider_id']);
    }
    if (node['type'] === 'grant_bonus') add('bonus', node['template_id']);
    if (node['type'] === 'call_webhook') add('webhook', node['url']);
    for (const branch of listOf(node, 'branches'))
      addSegments(branch['condition'], (id) => add('segment', id));
  }
  return [...found.values()];
}

function addSegments(condition: unknown, add: (id: unknown) => void): void {
  if (!isObject(condition)) return;
  add(condition['segment_id']);
  for (const inner of listOf(condition, 'conditions')) addSegments(inner, add);
}

const NO_NODES: Graph = { start_node_id: '', nodes: [] };

/** The names of what a definition refers to, as soon as they are known. */
export function useNames(trigger: Written, graph: Graph = NO_NODES, settings: Written = {}): NameOf {
  const kinds = new Set(usesOf(trigger, graph, settings).map(({ kind }) => kind));
  const lists: (readonly Named[] | undefined)[] = [
    useSegments(kinds.has('segment')).rows,
    useTemplates(kinds.has('template')).rows,
    useProviders(kinds.has('provider')).rows,
    useBonusTemplates(kinds.has('bonus')).rows,
  ];
  const names = new Map(lists.flatMap((rows) => rows ?? []).map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}

/** The titles of nodes by their ids. */
export function titlesOf({ nodes }: Graph, titleOf: (node: Written) => string): ReadonlyMap<string, string> {
  return new Map(nodes.map((node) => [idOf(node), titleOf(node)]));
}
