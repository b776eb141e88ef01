import { isDeepStrictEqual } from 'node:util';
import { decryptText, encryptText, type EncryptionKeys } from '../../../platform/encryption.ts';
import { isObject } from '../../../platform/json-object.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';

/** What answers and the audit log show instead of the value of a header of a webhook. */
export const MASK = '***';

/** The value of a header as it is stored: encrypted, in base64. */
export interface SealedValue {
  sealed: string;
}

/** The value of a header: sealed, or the text that its author wrote. */
export type HeaderValue = string | SealedValue;

type Json = Readonly<Record<string, unknown>>;

/** Where a header is: the node, by its id, and the URL that the header is sent to. */
interface Header {
  node_id: unknown;
  /** The position of the node in the graph. */
  index: number;
  url: unknown;
  name: string;
  value: unknown;
}

/** Whether the value is one that {@link sealHeaders} has made. */
export function isSealed(value: unknown): value is SealedValue {
  return isObject(value) && typeof value['sealed'] === 'string';
}

/** The graph with {@link MASK} in place of the values of the headers of webhook nodes. */
export function maskHeaders<G extends Json>(graph: G): G {
  return withHeaders(graph, () => MASK);
}

/** A mask that cannot be kept, and what to do. */
export interface HeaderFault {
  /** The path of the header in the graph. */
  path: string;
  message: string;
}

/**
 * A graph as its author wrote it, with the stored value in place of each {@link MASK} that the node of the same id has
 * under the same header in `stored`. The faults are masks without a stored value, and those whose node calls another scheme,
 * host or port now: their values must be given again, so that nobody can have a value sent to an address of his choice who
 * does not know it. Anything but a text becomes null, which is refused when the graph is read.
 */
export function keepHeaders<G extends Json>(written: G, stored: Json): { graph: G; faults: HeaderFault[] } {
  const kept = headersOf(stored);
  const faults: HeaderFault[] = [];
  const graph = withHeaders(written, (header) => {
    const { value, index, name, url } = header;
    if (value !== MASK) return typeof value === 'string' ? value : null;
    const path = `nodes.${index}.headers.${name}`;
    const found = kept.get(keyOf(header));
    if (found === undefined) {
      faults.push({ path, message: `must have a value instead of ${MASK}: none is stored for this node` });
      return value;
    }
    const [from, to] = [originOf(found.url), originOf(url)];
    if (from !== to) {
      const message = `must be given again: the stored value is for ${from}, and the node calls ${to} now`;
      faults.push({ path, message });
    }
    return found.value;
  });
  return { graph, faults };
}

/** Whether the values of headers in the two graphs differ. */
export function haveOtherHeaders(graph: Json, other: Json): boolean {
  const valuesOf = (of: Json) => new Map([...headersOf(of)].map(([key, { value }]) => [key, value]));
  return !isDeepStrictEqual(valuesOf(graph), valuesOf(other));
}

/** The graph with sealed values in place of the texts of headers; see {@link openHeaders}. */
export function sealHeaders<G extends Json>(keys: EncryptionKeys, project: ProjectRef, graph: G): G {
  return withHeaders(graph, ({ name, value, url }) =>
    typeof value === 'string' ? sealHeader(keys, ownerOf(project, url, name), value) : value,
  );
}

/** Seals with the current key what another key has sealed. */
export interface Resealer {
  graph<G extends Json>(graph: G): G;
  /** The headers of a webhook that is called at this URL. */
  headers(url: string, headers: Json): Json;
  /** How many values no key opened so far; they stay as they are. */
  unreadable(): number;
}

/**
 * Seals values of one project with the current key, except those for which `isCurrent` holds. The same value at the same
 * address becomes the same in everything that is given: whether two graphs are equal stays as it was.
 */
export function resealer(
  keys: EncryptionKeys,
  project: ProjectRef,
  isCurrent: (sealed: SealedValue) => boolean,
): Resealer {
  const known = new Map<string, SealedValue>();
  let unreadable = 0;
  const anew = (url: unknown, name: string, value: unknown): unknown => {
    if (!isSealed(value) || isCurrent(value)) return value;
    const owner = ownerOf(project, url, name);
    const key = JSON.stringify([owner, value]);
    const found = known.get(key);
    if (found !== undefined) return found;
    const text = openedOrNothing(keys, owner, value);
    if (text === undefined) {
      unreadable++;
      return value;
    }
    const sealed = sealHeader(keys, owner, text);
    known.set(key, sealed);
    return sealed;
  };
  return {
    graph: (graph) => withHeaders(graph, ({ url, name, value }) => anew(url, name, value)),
    headers: (url, headers) =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, anew(url, name, value)])),
    unreadable: () => unreadable,
  };
}

/**
 * The texts of the headers of a webhook that is called at this URL. Throws DecryptionFailed when no key opens one of
 * them, also because it was sealed for another project, scheme, host, port or header.
 */
export function openHeaders(
  keys: EncryptionKeys,
  project: ProjectRef,
  { url, headers }: { url: string; headers: Readonly<Record<string, SealedValue>> },
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      openHeader(keys, ownerOf(project, url, name), value),
    ]),
  );
}

function sealHeader(keys: EncryptionKeys, owner: string, text: string): SealedValue {
  return { sealed: encryptText(keys, owner, text).toString('base64') };
}

function openHeader(keys: EncryptionKeys, owner: string, { sealed }: SealedValue): string {
  return decryptText(keys, owner, Buffer.from(sealed, 'base64'));
}

function openedOrNothing(keys: EncryptionKeys, owner: string, value: SealedValue): string | undefined {
  try {
    return openHeader(keys, owner, value);
  } catch {
    // Reported by the next call of the webhook.
    return undefined;
  }
}

/** Part of the encryption: a value cannot be opened for another address, even if a row says so. */
function ownerOf({ tenant_id, project_id }: ProjectRef, url: unknown, name: string): string {
  return `webhook header ${tenant_id} ${project_id} ${originOf(url)} ${name.toLowerCase()}`;
}

/** Scheme, host and port of a URL; empty for any other text. */
function originOf(url: unknown): string {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : '';
}

function headersOf(graph: Json): ReadonlyMap<string, Header> {
  const found = new Map<string, Header>();
  withHeaders(graph, (header) => {
    found.set(keyOf(header), header);
    return header.value;
  });
  return found;
}

function keyOf({ node_id, name }: Header): string {
  return JSON.stringify([node_id, name.toLowerCase()]);
}

/** The graph with other values of headers; anything but a header of a webhook node stays as it was written. */
function withHeaders<G extends Json>(graph: G, change: (header: Header) => unknown): G {
  const { nodes } = graph;
  if (!Array.isArray(nodes)) return graph;
  const changed = nodes.map((node: unknown, index) => {
    if (!isObject(node) || node['type'] !== 'call_webhook' || !isObject(node['headers'])) return node;
    const { id: node_id, url } = node;
    const headers = Object.entries(node['headers']).map(([name, value]) => [
      name,
      change({ node_id, index, url, name, value }),
    ]);
    return { ...node, headers: Object.fromEntries(headers) as Json };
  });
  return { ...graph, nodes: changed };
}
