import { BoundedCache } from '../../../platform/bounded-cache.ts';
import type { PlayerEvent } from '../../../ingest/events/envelope.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { Definition, Where } from '../graph/shapes.ts';
import type { Definitions } from './definitions.ts';
import { verdictOn } from './event-where.ts';
import { selectWatchers, type EventName, type Watcher } from './match-queries.ts';
import { versionKey, type VersionRef } from './run-row.ts';

/** If more versions watch a name, every event of the name is looked up. */
const MAX_WATCHERS = 200;
/** With more filters an event costs more to judge than to look up. */
const MAX_WHERES = 50;
/** Names of which the filter is kept, and for how long: as long as the versions it was made of. */
const MAX_NAMES = 1_000;
const MAX_AGE_MS = 60_000;

/** The events of a name that may matter: those that satisfy one of these. */
type Wanted = readonly Where[] | 'all';

/** What the runs of all versions may want of the events of a name. */
export interface EventFilter {
  /** A run may wait for such an event. */
  wakes: Wanted;
  /** Such an event may end a run. */
  ends: Wanted;
}

/**
 * Tells, without looking up runs, which events matter to none: no version watches the name for it, or no version's filter
 * lets the event pass.
 */
export class EventFilters {
  readonly #definitions: Definitions;
  /** By name and the versions that watch it. */
  readonly #kept = new BoundedCache<string, EventFilter>({ max: MAX_NAMES, ttl: MAX_AGE_MS });

  constructor(definitions: Definitions) {
    this.#definitions = definitions;
  }

  /** By name. Which versions there are is read anew: the version of a run that is visible before the call counts. */
  async of(sql: Tx, names: readonly EventName[]): Promise<ReadonlyMap<EventName, EventFilter>> {
    const watchers = await selectWatchers(sql, names, MAX_WATCHERS + 1);
    const filters = new Map<EventName, EventFilter>();
    for (const [i, name] of names.entries()) {
      filters.set(name, await this.#filterOf(sql, name, watchers[i] ?? ''));
    }
    return filters;
  }

  async #filterOf(sql: Tx, name: EventName, watchers: string): Promise<EventFilter> {
    const key = `${name.tenant_id} ${name.project_id} ${name.event} ${watchers}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const read = JSON.parse(`[${watchers}]`) as Watcher[];
    if (read.length > MAX_WATCHERS) return { wakes: 'all', ends: 'all' };
    const { tenant_id, project_id } = name;
    const versions = read.map(([journey_id, version]) => ({ tenant_id, project_id, journey_id, version }));
    const loaded = await this.#definitions.load(sql, versions);
    const definitions = distinct(versions).map((ref) => loaded.get(ref)?.definition);
    const known = definitions.filter((definition) => definition !== undefined);
    // A version that this program cannot read may become readable, so its filter is not kept.
    if (known.length < definitions.length) return { wakes: 'all', ends: 'all' };
    const filter = filterOf(known, name.event);
    this.#kept.set(key, filter);
    return filter;
  }
}

/** What runs of these definitions want of the events of the name. */
export function filterOf(definitions: readonly Definition[], event: string): EventFilter {
  return {
    wakes: wantedOf(definitions.flatMap((definition) => awaited(definition, event))),
    ends: wantedOf(definitions.flatMap((definition) => ending(definition, event))),
  };
}

/**
 * Whether the event may matter, perhaps only once a rate is known; `read` is called when it depends on the event's content.
 */
export function mayMatter(wanted: Wanted, read: () => PlayerEvent): boolean {
  if (wanted === 'all') return true;
  if (wanted.length === 0) return false;
  const event = read();
  return wanted.some((where) => verdictOn(where, event) !== false);
}

function distinct(versions: readonly VersionRef[]): string[] {
  return [...new Set(versions.map(versionKey))];
}

function wantedOf(wheres: readonly Where[]): Wanted {
  if (wheres.some((where) => where.length === 0)) return 'all';
  const different = [...new Map(wheres.map((where) => [JSON.stringify(where, exactly), where])).values()];
  return different.length > MAX_WHERES ? 'all' : different;
}

/** JSON knows neither infinite numbers nor bigints: two filters must not become the same text. */
function exactly(_key: string, value: unknown): unknown {
  const is_other = typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value));
  return is_other ? `number ${value}` : value;
}

/** The filters of the nodes that wait for the event. */
function awaited({ graph }: Definition, event: string): Where[] {
  return [...graph.nodes.values()].flatMap((node) =>
    node.type === 'wait_for_event' && node.event === event ? [node.where] : [],
  );
}

/** The filters of the rules by which the event ends runs. */
function ending({ settings: { exit_on, goal } }: Definition, event: string): Where[] {
  const exits = exit_on.flatMap((rule) => ('event' in rule && rule.event === event ? [rule.where] : []));
  return goal?.exit === true && goal.event === event ? [goal.where, ...exits] : exits;
}
