import {
  conditionsOf,
  isGroup,
  type Condition,
  type DefinitionNode,
  type EventSet,
  type Group,
} from '../language/conditions.ts';
import { MONEY_PROPERTIES } from '../language/fields.ts';
import { KNOWN_EVENTS, NOW, totalsSql, type AsOf, type HistoricTotal } from './as-of.ts';
import { Bindings } from './bindings.ts';
import { nodeSql, valueSql, type ConditionContext } from './condition-sql.ts';
import { EventScan } from './event-scan.ts';
import { isOfPresence } from './interval.ts';
import { OWNER, playerIdsSql, SCOPE } from './owner-sql.ts';

/**
 * A statement and its parameters, except those that the caller adds: `tenant_id`, `project_id` and `now_ms`; for
 * statements about some players also `players` and `former` (ids of players merged into them that rows may still
 * carry).
 */
export interface CompiledQuery {
  sql: string;
  params: Record<string, unknown>;
}

/** Selects the `player_id` of every player of a project that matches (spec part 2, "compiled_query"). */
export function compileMembers(definition: Group): CompiledQuery {
  const context = contextOf([definition], false);
  const condition = nodeSql(definition, context);
  const sql = `select p.player_id as player_id\nfrom ${sourceSql(context)}\nwhere ${condition}`;
  return { sql, params: context.bindings.params };
}

/** Conditions and groups of a statement about an earlier moment, with those of all segments that it refers to. */
const MAX_NODES_AS_OF = 2_000;

/**
 * As {@link compileMembers}, for an earlier moment, which is `now_ms` then: of events and messages what was known at it,
 * totals as the events until then give them, and the players who were there. `inlined`: the definitions of all segments that are
 * referred to, which are asked for the same moment.
 */
export function compileMembersAsOf(
  definition: Group,
  inlined: ReadonlyMap<string, Group> = new Map(),
): CompiledQuery {
  const as_of = { inlined, totals: new Set<HistoricTotal>(), nodes_left: MAX_NODES_AS_OF };
  const context = { ...contextOf([definition, ...inlined.values()], false), as_of };
  const condition = nodeSql(definition, context);
  const source = sourceSql(context);
  const totals =
    as_of.totals.size === 0
      ? ''
      : `\nany left join (\n${totalsSql(as_of.totals)}\n) as h on h.owner = p.player_id`;
  const sql = `select p.player_id as player_id\nfrom ${source}${totals}\nwhere ${condition}`;
  return { sql, params: context.bindings.params };
}

/**
 * For every player of a project that is not deleted: whether it matches, as `matches`, and whether each condition alone
 * holds, as `c0`, `c1` … in the order in which they are written. One scan of the events answers all.
 */
export function compileConditions(definition: Group): CompiledQuery & { columns: string[] } {
  const context = contextOf([definition], false);
  const conditions = [...conditionsOf(definition)].map((one) => nodeSql(one, context));
  const columns = conditions.map((_, i) => `c${i}`);
  const selected = [
    'p.player_id as player_id',
    `${nodeSql(definition, context)} as matches`,
    ...conditions.map((sql, i) => `${sql} as c${i}`),
  ];
  const sql = `select ${selected.join(', ')}\nfrom ${sourceSql(context)}`;
  return { sql, params: context.bindings.params, columns };
}

/** A node of a definition with the names of its columns in {@link compileExplanation}'s row. */
export interface ExplainedNode {
  node: DefinitionNode;
  /** The column that is 1 where the node holds. */
  holds: string;
  /** For conditions: the column of the value that was compared. */
  value?: string;
  children: ExplainedNode[];
}

/** Evaluates one definition for one player: a row with a column for each node, and one for each condition's value. */
export function compileExplanation(
  definition: Group,
  are_merged = false,
): CompiledQuery & { root: ExplainedNode } {
  const context = contextOf([definition], true);
  const columns: string[] = [];
  const explain = (node: DefinitionNode): ExplainedNode => {
    const n = columns.length;
    columns.push(`${nodeSql(node, context)} as n${n}`);
    if (isGroup(node)) return { node, holds: `n${n}`, children: node.children.map(explain) };
    columns.push(`${valueSql(node, context)} as v${n}`);
    return { node, holds: `n${n}`, value: `v${n}`, children: [] };
  };
  const root = explain(definition);
  const sql = `select ${columns.join(', ')}\nfrom ${sourceSql(context, are_merged)}`;
  return { sql, params: context.bindings.params, root };
}

/** What the conditions of a statement share. */
export function contextOf(definitions: readonly Group[], of_players: boolean): ConditionContext {
  const bindings = new Bindings();
  const conditions = definitions.flatMap((definition) => [...conditionsOf(definition)]);
  const of_presence = conditions.every(
    (condition) => eventSetsOf(condition).length === 0 || asksPresence(condition),
  );
  const scan = new EventScan(conditions.flatMap(eventSetsOf), bindings, {
    of_players,
    of_presence,
  });
  return { bindings, scan, columns: new Set(), of_players };
}

/** Whether the condition only asks if the player has any such event. */
function asksPresence(condition: Condition): boolean {
  if (condition.type !== 'event') return false;
  return condition.aggregate === 'count' && isOfPresence(condition.comparison.positive);
}

/** The events that a condition reads. */
export function eventSetsOf(condition: Condition): readonly EventSet[] {
  if (condition.type === 'event') return [condition];
  return condition.type === 'sequence' ? condition.steps : [];
}

/**
 * Players that are not deleted, each with the aggregates of its events. Call it after the conditions are compiled: they
 * register the columns and aggregates that they read.
 */
function sourceSql(context: ConditionContext, are_merged = false): string {
  const { scan, of_players } = context;
  if (scan.is_empty) return playersSql(context);
  const events = of_players
    ? eventsOfPlayersSql(scan, are_merged, scan.columns)
    : eventsOfAll(scan, context.as_of);
  return withEvents(playersSql(context), events);
}

/** Players joined with the aggregates of their events, `e`. Without events the columns have their types' defaults. */
export function withEvents(players: string, events: string): string {
  return `${players}\nany left join (\n${events}\n) as e on e.owner = p.player_id`;
}

/** Players that are not deleted, as `p`. */
export function playersSql({ columns, of_players, as_of }: ConditionContext): string {
  const some = of_players ? ' and player_id in {players:Array(UUID)}' : '';
  const there =
    as_of === undefined
      ? 'deleted_at is null'
      : `created_at <= ${NOW} and (deleted_at is null or deleted_at > ${NOW})`;
  return (
    `(\n  select ${['player_id', ...columns].join(', ')} from players final\n` +
    `  where ${SCOPE}${some} and ${there}\n) as p`
  );
}

function eventsOfAll(scan: EventScan, as_of: AsOf | undefined): string {
  const known = as_of === undefined ? '' : ` and ${KNOWN_EVENTS}`;
  return (
    `  select ${[OWNER, ...scan.columns].join(', ')}\n  from events final\n` +
    `  where ${SCOPE}${known} and ${scan.filter}${scan.grouping}`
  );
}

/** The columns that aggregates read. */
const EVENT_COLUMNS = [
  'tenant_id',
  'project_id',
  'player_id',
  'event',
  'occurred_at',
  ...Object.values(MONEY_PROPERTIES),
  'properties',
];

/**
 * Aggregates (`columns`) over the events of some players, from the table that is sorted by player. A merge does not
 * rewrite that table at once. So the query reads the events of every id of a player, and counts an event that has rows
 * under two ids once. `derived`: further columns of the events. `by`: what the events are grouped by, in addition to
 * their player.
 *
 * An event has several rows until ClickHouse has merged them: the highest revision counts. `limit 1 by` finds it with
 * less work than `final`, which merges the rows of all parts in the order of the whole key.
 */
export function eventsOfPlayersSql(
  scan: EventScan,
  are_merged: boolean,
  columns: readonly string[],
  derived: readonly string[] = [],
  by: readonly string[] = [],
): string {
  const ids = playerIdsSql(are_merged);
  return (
    `  select ${[are_merged ? OWNER : 'player_id as owner', ...by, ...columns].join(',\n    ')}\n  from (\n` +
    `    select ${[...EVENT_COLUMNS, ...derived].join(', ')}\n    from events_by_player\n` +
    `    where ${SCOPE} and player_id in ${ids} and ${scan.filter}\n` +
    `    order by revision desc limit 1 by ingestion_id, event_index\n  )\n  group by ${['owner', ...by].join(', ')}`
  );
}
