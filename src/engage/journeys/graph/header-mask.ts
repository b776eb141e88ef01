import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../../platform/json-object.ts';

/** What answers and the audit log show instead of a header's value that may be a credential. */
export const MASK = '***';

const CREDENTIAL = /^(?:authorization|proxy-authorization|cookie)$|key|token|secret/i;

/** Whether the value of a header of this name is never shown. */
export function isCredential(header: string): boolean {
  return CREDENTIAL.test(header);
}

type Json = Readonly<Record<string, unknown>>;

/** The graph with {@link MASK} in place of the credentials in the headers of webhook nodes. */
export function maskHeaders<G extends Json>(graph: G): G {
  return withHeaders(graph, ([header, value]) => (isCredential(header) ? MASK : value));
}

/**
 * A graph as its author wrote it, with the stored value in place of each {@link MASK} that the node of the same id has
 * under the same header in `stored`; a mask without a stored value stays, and is refused when the graph is read.
 */
export function unmaskHeaders<G extends Json>(graph: G, stored: Json): G {
  const kept = credentialsOf(stored);
  return withHeaders(graph, ([header, value], node_id) => {
    const is_masked = value === MASK && isCredential(header);
    return is_masked ? (kept.get(keyOf(node_id, header)) ?? value) : value;
  });
}

/** Whether the credentials of the two graphs differ. */
export function haveOtherCredentials(graph: Json, other: Json): boolean {
  return !isDeepStrictEqual(credentialsOf(graph), credentialsOf(other));
}

/** The credentials of a graph, by node and header. */
function credentialsOf(graph: Json): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  withHeaders(graph, ([header, value], node_id) => {
    if (typeof value === 'string' && isCredential(header)) found.set(keyOf(node_id, header), value);
    return value;
  });
  return found;
}

function keyOf(node_id: unknown, header: string): string {
  return JSON.stringify([node_id, header.toLowerCase()]);
}

/** The graph with other values of headers; what is no header of a webhook node stays as it was written. */
function withHeaders<G extends Json>(
  graph: G,
  change: (header: readonly [string, unknown], node_id: unknown) => unknown,
): G {
  const { nodes } = graph;
  if (!Array.isArray(nodes)) return graph;
  const changed = nodes.map((node: unknown) => {
    if (!isObject(node) || node['type'] !== 'call_webhook' || !isObject(node['headers'])) return node;
    const headers = Object.entries(node['headers']).map((one) => [one[0], change(one, node['id'])]);
    return { ...node, headers: Object.fromEntries(headers) as Json };
  });
  return { ...graph, nodes: changed };
}
