import type { PlayerEvent } from '../../ingest/events/envelope.ts';
import { parseExact } from '../../platform/exact-json.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { ATTRIBUTE_PREFIX, isTraitField, TRAIT_FIELDS } from '../language/fields.ts';
import { holds } from '../language/holds.ts';
import { addEvents, subtract, type Counted, type Counts } from './count.ts';
import {
  forgetEvaluated,
  selectEvaluated,
  updateEvaluated,
  type EvaluatedPlayer,
  type NextContent,
} from './evaluated-queries.ts';
import { NO_STAMP, type Plan, type PlannedTotal, type PlannedTrait } from './plan.ts';

/** An evaluated player whose row can be read. */
export type Known = EvaluatedPlayer & Counts;

/** By player: the names of the events that changed a condition; undefined: the player has no row of the plan. */
export type Changes = ReadonlyMap<string, ReadonlySet<string> | undefined>;

/**
 * Adds events, which are in ClickHouse, to the counts of their players. Repeats are harmless. The transaction must also mark
 * the players whose conditions have changed, and those of whom nothing is known.
 */
export async function addToEvaluated(
  tx: Tx,
  project: ProjectRef,
  plan: Plan,
  events: ReadonlyMap<string, readonly PlayerEvent[]>,
  now_ms: number,
): Promise<Changes> {
  return change(tx, project, plan, [...events.keys()], (row) =>
    addEvents(row, plan, events.get(row.player_id) ?? [], now_ms),
  );
}

/** What of a player's events has crossed the edge of a window. */
export interface Passed {
  /** How much of a total has left its window. */
  amountOf: (planned: PlannedTotal) => number;
  /** The names of these events. */
  names: readonly string[];
  /** An event of the future has entered a window, or one at an edge was received just now: it may not be counted yet. */
  is_unclear: boolean;
}

/**
 * Subtracts from the counts of players what left its window after `since_ms` and up to `now_ms`. A row whose windows end at
 * `now_ms` or later has that already and stays. A row whose windows end between is removed. The transaction must mark players
 * as with {@link addToEvaluated}.
 */
export async function passTime(
  tx: Tx,
  project: ProjectRef,
  plan: Plan,
  passed: ReadonlyMap<string, Passed>,
  { since_ms, now_ms }: { since_ms: number; now_ms: number },
): Promise<Changes> {
  return change(tx, project, plan, [...passed.keys()], (row) => {
    const of_player = passed.get(row.player_id);
    if (of_player?.is_unclear === false && row.edge_ms >= now_ms) return 'same';
    const is_of_then = row.edge_ms <= since_ms;
    if (of_player === undefined || of_player.is_unclear || !is_of_then) return undefined;
    const counted = subtract(row, plan, of_player.amountOf);
    return counted && { ...counted, edge_ms: now_ms };
  });
}

async function change(
  tx: Tx,
  project: ProjectRef,
  plan: Plan,
  player_ids: readonly string[],
  nextOf: (row: Known) => (Counted & Pick<NextContent, 'edge_ms'>) | 'same' | undefined,
): Promise<Changes> {
  const rows = await selectEvaluated(tx, project, player_ids, true);
  const next: (NextContent & Counted)[] = [];
  const same = new Map<string, ReadonlySet<string>>();
  for (const row of rows.values()) {
    if (!isKnown(row, plan)) continue;
    const { player_id, version } = row;
    const counted = nextOf(row);
    if (counted === 'same') same.set(player_id, new Set());
    else if (counted !== undefined) next.push({ ...counted, player_id, version });
  }
  const written = await updateEvaluated(tx, project, next);
  const changes = new Map(same);
  for (const { player_id, changed } of next) if (written.has(player_id)) changes.set(player_id, changed);
  await forgetEvaluated(
    tx,
    project,
    [...rows.keys()].filter((player_id) => !changes.has(player_id)),
  );
  return new Map(player_ids.map((player_id) => [player_id, changes.get(player_id)]));
}

/** Whether the row says what is true of the player, by this plan. */
export function isKnown(row: EvaluatedPlayer, { stamp }: Plan): row is Known {
  return stamp !== NO_STAMP && row.stamp === stamp && row.totals !== undefined;
}

/**
 * The players whose row says something else of a field than `line` does, and those without a row. `line`: the player in
 * ClickHouse, as JSON. The transaction must remove their rows.
 */
export async function changedByRows(
  sql: Tx,
  project: ProjectRef,
  plan: Plan,
  players: readonly { player_id: string; line: string }[],
  now_ms: number,
): Promise<string[]> {
  const ids = players.map(({ player_id }) => player_id);
  const rows = await selectEvaluated(sql, project, ids);
  return players
    .filter(({ player_id, line }) => {
      const row = rows.get(player_id);
      return row === undefined || !isKnown(row, plan) || traitsOf(plan, line, now_ms) !== row.traits;
    })
    .map(({ player_id }) => player_id);
}

/** `1` or `0` for each condition on a field, by a player's row as JSON. */
export function traitsOf({ traits }: Plan, line: string, now_ms: number): string {
  const row = parseExact(line) as Record<string, unknown>;
  const { custom_attributes: text } = row;
  const attributes = typeof text === 'string' ? (parseExact(text) as Record<string, unknown>) : {};
  return traits.map((trait) => (isTrue(trait, row, attributes, now_ms) ? '1' : '0')).join('');
}

function isTrue(
  { condition: { field, comparison } }: PlannedTrait,
  row: Readonly<Record<string, unknown>>,
  attributes: Readonly<Record<string, unknown>>,
  now_ms: number,
): boolean {
  if (!isTraitField(field)) {
    const key = field.slice(ATTRIBUTE_PREFIX.length);
    return holds(comparison, Object.hasOwn(attributes, key) ? attributes[key] : null, now_ms);
  }
  const value = row[field];
  const is_date = TRAIT_FIELDS[field].kind === 'date' && typeof value === 'number';
  return holds(comparison, is_date ? new Date(value).toISOString() : value, now_ms);
}
