import {
  conditionsOf,
  isGroup,
  type Condition,
  type DefinitionNode,
  type EventSet,
  type Group,
} from '../conditions.ts';
import { Bindings } from './bindings.ts';
import { nodeSql, valueSql, type ConditionContext } from './condition-sql.ts';
import { EventScan } from './event-scan.ts';

/**
 * A statement and its values, but for those that its caller adds: `tenant_id`, `project_id`, `now_ms`, and of
 * statements about some players `players` and `former` (ids of players merged into them that events may still carry).
 */
export interface CompiledQuery {
  sql: string;
  params: Record<string, unknown>;
}

/** The members of a segment among all players of a project: rows of `player_id` (spec part 2, "compiled_query"). */
export function compileMembers(definition: Group): CompiledQuery {
  const context = contextOf([definition], false);
  const condition = nodeSql(definition, context);
  const sql = `select p.player_id as player_id\nfrom ${sourceSql(context)}\nwhere ${condition}`;
  return { sql, params: context.bindings.params };
}

/**
 * Which of some players match which segments: a row per player with a column `s0`, `s1`, … of 0 or 1 per definition.
 * `are_merged`: there are `former` ids.
 */
export function compileMatrix(definitions: readonly Group[], are_merged = false): CompiledQuery {
  const context = contextOf(definitions, true);
  const columns = definitions.map((definition, i) => `${nodeSql(definition, context)} as s${i}`);
  const sql = `select p.player_id as player_id, ${columns.join(', ')}\nfrom ${sourceSql(context, are_merged)}`;
  return { sql, params: context.bindings.params };
}

/** A node of a definition with the names of its columns in {@link compileExplanation}'s row. */
export interface ExplainedNode {
  node: DefinitionNode;
  holds: string;
  /** Of conditions. */
  value?: string;
  children: ExplainedNode[];
}

/** One player against one definition: a row with a column per node and per value a condition looks at. */
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

function contextOf(definitions: readonly Group[], of_players: boolean): ConditionContext {
  const bindings = new Bindings();
  const sets = definitions.flatMap((definition) => [...conditionsOf(definition)].flatMap(eventSetsOf));
  return { bindings, scan: new EventScan(sets, bindings), columns: new Set(), of_players };
}

/** The events that a condition reads. */
export function eventSetsOf(condition: Condition): readonly EventSet[] {
  if (condition.type === 'event') return [condition];
  return condition.type === 'sequence' ? condition.steps : [];
}

const SCOPE = 'tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}';

/** Players that are not deleted, each with the aggregates of its events. Made last: the conditions say what they read. */
function sourceSql({ scan, columns, of_players }: ConditionContext, are_merged = false): string {
  const some = of_players ? ' and player_id in {players:Array(UUID)}' : '';
  const players =
    `(\n  select ${['player_id', ...columns].join(', ')} from players final\n` +
    `  where ${SCOPE}${some} and deleted_at is null\n) as p`;
  if (scan.is_empty) return players;
  const events = of_players ? eventsOfPlayers(scan, are_merged) : eventsOfAll(scan);
  return `${players}\nany left join (\n${events}\n) as e on e.owner = p.player_id`;
}

/**
 * Whose an event is. Of merged players whose events still carry the old id there are few, mostly none, which is known
 * before the first row is read; resolving every row by the dictionary alone made the whole statement half as slow again.
 */
const ALIASES = `select player_id from player_aliases final where ${SCOPE}`;
const OWNER =
  `if((select count() from (${ALIASES})) = 0, player_id, if(player_id in (${ALIASES}), ` +
  "dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id), player_id)) as owner";

function eventsOfAll(scan: EventScan): string {
  return (
    `  select ${[OWNER, ...scan.columns].join(', ')}\n  from events final\n` +
    `  where ${SCOPE} and ${scan.filter}\n  group by owner`
  );
}

/** The table in the order of players, which a merge does not change at once: each id of a player is asked for. */
function eventsOfPlayers(scan: EventScan, are_merged: boolean): string {
  const filter = scan.filter;
  if (!are_merged) {
    return (
      `  select ${['player_id as owner', ...scan.columns].join(', ')}\n  from events_by_player final\n` +
      `  where ${SCOPE} and player_id in {players:Array(UUID)} and ${filter}\n  group by owner`
    );
  }
  // An event that is there under both ids of a merge counts once.
  return (
    `  select ${[OWNER, ...scan.columns].join(', ')}\n  from (\n    select * from events_by_player final\n` +
    `    where ${SCOPE} and player_id in arrayConcat({players:Array(UUID)}, {former:Array(UUID)}) and ${filter}\n` +
    `    order by revision desc limit 1 by ingestion_id, event_index\n  )\n  group by owner`
  );
}
