import type { EventSet } from '../../../segments/language/conditions.ts';
import type { Bindings } from '../../../segments/sql/bindings.ts';
import { OWNER, SCOPE } from '../../../segments/sql/owner-sql.ts';
import type { Statement } from '../kind.ts';
import type { CompiledFilter } from '../sql/filter.ts';
import { whereSql } from '../sql/filter.ts';

/** The events of one name that satisfy all clauses; their times are those of the question. */
export type EventChoice = Omit<EventSet, 'window'>;

/** Times in milliseconds since the epoch; `to_ms` is exclusive. */
export interface Span {
  from_ms: number;
  to_ms: number;
}

/**
 * Whose events a statement reads. Deleted players are in no count of players: no list and no segment could name them.
 * Events of a merged player belong to the survivor.
 */
export interface Population {
  /** Of the whole statement. */
  bindings: Bindings;
  filter: CompiledFilter;
}

/** What is summed over events of these names: each adds `adds`, SQL over its row that gives an integer. */
export interface Amount {
  events: readonly string[];
  adds: string;
  /** It is not summed: different values count one each. */
  is_distinct?: true;
}

/** The milliseconds of an event's time. */
export const AT_MS = 'toUnixTimestamp64Milli(occurred_at)';

/** What must hold of an event's time, or of another column, so that it is in the span. */
export function within({ from_ms, to_ms }: Span, bindings: Bindings, column = 'occurred_at'): string {
  const time = (at_ms: number) => `fromUnixTimestamp64Milli(${bindings.bind('Int64', at_ms)}, 'UTC')`;
  return `${column} >= ${time(from_ms)} and ${column} < ${time(to_ms)}`;
}

/** Whether an event is chosen, as an expression over its row that is 0 or 1. */
export function isChosen(choice: EventChoice, bindings: Bindings): string {
  const clauses = whereSql(choice, bindings);
  const of_name = `event = ${bindings.bind('String', choice.event)}`;
  return clauses === '' ? of_name : `(${of_name} and ${clauses})`;
}

/** Whether an event has one of these names. */
export function isNamed(names: readonly string[], bindings: Bindings): string {
  return `event in ${bindings.bind('Array(String)', [...new Set(names)])}`;
}

/**
 * The present rows of events for which the conditions hold, with `columns` and their `owner`. Names and times among the
 * conditions decide what is read.
 */
export function eventsSql(
  columns: readonly string[],
  conditions: readonly string[],
  { filter }: Population,
): string {
  const filtered = [filter.events === '' ? '' : `(${filter.events})`, filter.owners];
  const all = [SCOPE, ...conditions, ...filtered].filter((condition) => condition !== '');
  return `select ${[OWNER, ...columns].join(', ')} from events final\nwhere ${all.join(' and ')}`;
}

/** A statement with the parameters of its population. */
export function statementOf(sql: string, { bindings, filter }: Population): Statement {
  return { sql, params: { ...filter.params, ...bindings.params } };
}

/** The rows (`owner`, `value`, an integer) of a statement as the players behind a figure: `player_id`, `value`. */
export function playersOf(sql: string, population: Population): Statement {
  return statementOf(`select owner as player_id, toInt128(value) as value from (${sql})`, population);
}
