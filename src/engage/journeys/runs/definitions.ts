import { BoundedCache } from '../../../platform/bounded-cache.ts';
import { isUuid } from '../../../platform/ids.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { readJourney } from '../graph/read-journey.ts';
import { isMoneyProperty } from '../../../segments/language/fields.ts';
import type { Definition, Node, NodeType } from '../graph/shapes.ts';
import { selectVersions } from './facts-queries.ts';
import { versionKey, type VersionRef } from './run-row.ts';
import type { AmountUse } from './shapes.ts';

/** Versions kept in memory; a graph has at most 50 nodes. */
const MAX_VERSIONS = 1_000;
/** A version never changes, but a restored database may give its number to another one. */
const MAX_AGE_MS = 60_000;

/** A version in memory; `unreadable`: why this program cannot read it, for example because a later one has stored it. */
export type LoadedVersion =
  | { definition: Definition; uses: DefinitionUses }
  | { definition?: undefined; uses?: undefined; unreadable: string };

/** What a definition refers to. */
export interface DefinitionUses {
  template_ids: readonly string[];
  provider_ids: readonly string[];
  /** Only UUIDs: other texts are ids of no bonus template. */
  bonus_template_ids: readonly string[];
  /** The amounts of the context that nodes use, each once per use. */
  amounts: readonly AmountUse[];
  waits_for_events: boolean;
  /** Some node asks something about the player. */
  needs_players: boolean;
}

/** Nodes that are the same for every player: the gate of the messenger looks at the player of a message. */
const PLAYERLESS = new Set<NodeType>(['wait', 'wait_for_event', 'split', 'send_message', 'end']);

/** The versions of journeys that this process has read; a version never changes. */
export class Definitions {
  readonly #versions = new BoundedCache<string, LoadedVersion>({ max: MAX_VERSIONS, ttl: MAX_AGE_MS });

  /** These versions by {@link versionKey}; one that does not exist is unreadable. */
  async load(sql: Tx, refs: readonly VersionRef[]): Promise<ReadonlyMap<string, LoadedVersion>> {
    const wanted = new Map(refs.map((ref) => [versionKey(ref), ref]));
    const found = new Map<string, LoadedVersion>();
    const missing: VersionRef[] = [];
    for (const [key, ref] of wanted) {
      const known = this.#versions.get(key);
      if (known === undefined) missing.push(ref);
      else found.set(key, known);
    }
    if (missing.length === 0) return found;
    for (const stored of await selectVersions(sql, missing)) {
      const loaded = read(stored);
      const key = versionKey(stored);
      found.set(key, loaded);
      // What cannot be read now may be readable by the next program; it is rare, so it is read again each time.
      if (loaded.definition !== undefined) this.#versions.set(key, loaded);
    }
    for (const key of wanted.keys()) {
      if (!found.has(key)) found.set(key, { unreadable: 'the version does not exist' });
    }
    return found;
  }
}

function read(stored: { trigger: unknown; graph: unknown; settings: unknown }): LoadedVersion {
  try {
    const definition = readJourney(stored);
    return { definition, uses: usesOf(definition) };
  } catch (error) {
    return { unreadable: (error as Error).message };
  }
}

/** What a definition refers to, each id once. */
export function usesOf({ graph }: Definition): DefinitionUses {
  const nodes = [...graph.nodes.values()];
  const sends = nodes.filter((node) => node.type === 'send_message');
  const grants = nodes.filter((node) => node.type === 'grant_bonus');
  return {
    template_ids: [...new Set(sends.map(({ template_id }) => template_id))],
    provider_ids: [...new Set(sends.map(({ provider_id }) => provider_id))],
    bonus_template_ids: [...new Set(grants.map(({ template_id }) => template_id).filter(isUuid))],
    amounts: nodes.flatMap(amountsUsed),
    waits_for_events: nodes.some(({ type }) => type === 'wait_for_event'),
    needs_players: nodes.some(({ type }) => !PLAYERLESS.has(type)),
  };
}

/** The amounts of the context that a node grants for, or that it compares as money. */
function amountsUsed(node: Node): AmountUse[] {
  if (node.type === 'grant_bonus') {
    const { deposit_amount: from, template_id } = node;
    const is_of_context = typeof from === 'object' && from.root === 'context' && isUuid(template_id);
    return is_of_context ? [{ path: from.path, template_id }] : [];
  }
  if (node.type !== 'branch') return [];
  const compared = node.branches.flatMap(({ condition }) =>
    condition.kind === 'context' ? condition.where.map(({ property }) => property.split('.')) : [],
  );
  return compared
    .filter((path) => isMoneyProperty(path.at(-1) ?? '', undefined))
    .map((path) => ({ path, template_id: undefined }));
}
