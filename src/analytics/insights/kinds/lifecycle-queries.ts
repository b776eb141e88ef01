import { SCOPE } from '../../../segments/sql/owner-sql.ts';
import type { Bindings } from '../../../segments/sql/bindings.ts';
import {
  AT_MS,
  eventsSql,
  isNamed,
  playersOf,
  statementOf,
  within,
  type Population,
  type Span,
} from './events-queries.ts';
import type { LifecycleState } from './cells.ts';
import type { Statement } from '../kind.ts';

/** An interval with the quiet time before it. */
export interface LifecycleInterval extends Span {
  /** When the quiet time begins. */
  quiet_from_ms: number;
}

/** Intervals that follow each other; the quiet time of each begins after that of the one before. */
export interface Lifecycle {
  intervals: readonly LifecycleInterval[];
  /** The names of events that are a player's own activity. */
  activity: readonly string[];
}

/**
 * `what` happens at the beginning of an interval, of so many players: they are in the state, or, `begin` and `end`, are
 * churned from this interval on, or no more.
 */
export interface LifecycleRow {
  at: string;
  what: 'new' | 'returning' | 'reactivated' | 'begin' | 'end';
  players: string;
}

/** Players by what happens to them in the intervals, as {@link LifecycleRow}s. */
export function countLifecycle(lifecycle: Lifecycle, population: Population): Statement {
  const { bindings } = population;
  const { intervals } = lifecycle;
  const [first, last] = [intervals[0], intervals.at(-1)];
  if (first === undefined || last === undefined) throw new Error('a lifecycle has intervals');
  const list = (values: readonly number[]) => bindings.bind('Array(Int64)', values);
  const starts = list(intervals.map(({ from_ms }) => from_ms));
  const quiet = list(intervals.map(({ quiet_from_ms }) => quiet_from_ms));
  const ends = list(intervals.map(({ to_ms }) => to_ms));
  // What was before the first interval is one more, which is not reported.
  const all_starts = list([first.quiet_from_ms, ...intervals.map(({ from_ms }) => from_ms)]);
  const all_ends = list([first.from_ms, ...intervals.map(({ to_ms }) => to_ms)]);
  const span = { from_ms: first.quiet_from_ms, to_ms: last.to_ms };
  const by_interval =
    `select owner, roundDown(at_ms, ${all_starts}) as start_ms, max(at_ms) as last_ms\n` +
    `from (${activeSql(lifecycle, span, population)}) group by owner, start_ms`;
  // One row per interval in which a player was active, with the last activity before it and the next interval with any.
  const in_turn =
    `select owner, arrayJoin(arrayZip(starts, lasts, arrayPushFront(arrayPopBack(lasts), 0),\n` +
    `  arrayPushBack(arrayPopFront(starts), ${bindings.bind('Int64', last.to_ms)}))) as turn,\n` +
    `  turn.1 as start_ms, turn.2 as last_ms, turn.3 as before_ms, turn.4 as next_ms\n` +
    `from (select owner, arraySort(groupArray((start_ms, last_ms))) as turns, turns.1 as starts, turns.2 as lasts\n` +
    `  from (${by_interval}) group by owner)`;
  const quiet_from = `transform(start_ms, ${starts}, ${quiet}, toInt64(0))`;
  const state = `multiIf(before_ms >= ${quiet_from}, 'returning', known_ms < ${quiet_from}, 'reactivated', 'new')`;
  // Churned from the next interval on, until active again or until the activity is before the quiet time.
  const begin = `transform(start_ms, ${all_starts}, ${all_ends}, toInt64(0))`;
  const end = `least(next_ms, transform(roundDown(last_ms, ${quiet}), ${quiet}, ${ends}, toInt64(0)))`;
  const facts =
    `arrayConcat(if(start_ms >= ${bindings.bind('Int64', first.from_ms)}, [(start_ms, ${state})], []),\n` +
    `  if(begin_ms < end_ms, [(begin_ms, 'begin'), (end_ms, 'end')], []))`;
  return statementOf(
    `select toString(fact.1) as at, fact.2 as what, toString(count()) as players\n` +
      `from (select arrayJoin(${facts}) as fact\n` +
      `  from (select start_ms, known_ms, before_ms, ${begin} as begin_ms, ${end} as end_ms\n` +
      `    from (${in_turn}) as t inner join (${KNOWN}) as k on k.player_id = t.owner))\n` +
      `group by fact`,
    population,
  );
}

/** The players that are in a state in an interval; `value`: their events in it, of churned players those before it. */
export function listLifecycle(
  lifecycle: Lifecycle,
  { interval, state }: { interval: LifecycleInterval; state: LifecycleState },
  population: Population,
): Statement {
  const { bindings } = population;
  const span = { from_ms: interval.quiet_from_ms, to_ms: interval.to_ms };
  const start = bindings.bind('Int64', interval.from_ms);
  const by_player =
    `select owner, countIf(at_ms >= ${start}) as now, countIf(at_ms < ${start}) as before\n` +
    `from (${activeSql(lifecycle, span, population)}) group by owner having ${holdsOf(state)}`;
  const known = KNOWN_OF[state]?.(bindings.bind('Int64', interval.quiet_from_ms)) ?? '1';
  const sql =
    `select owner, toInt128(${state === 'churned' ? 'before' : 'now'}) as value\n` +
    `from (${by_player}) as t inner join (${KNOWN}) as k on k.player_id = t.owner where ${known}`;
  return playersOf(sql, population);
}

/** What holds of a player's numbers of events before an interval and in it. */
function holdsOf(state: LifecycleState): string {
  if (state === 'churned') return 'now = 0 and before > 0';
  return state === 'returning' ? 'now > 0 and before > 0' : 'now > 0 and before = 0';
}

const KNOWN_OF: Partial<Record<LifecycleState, (quiet_from: string) => string>> = {
  new: (quiet_from) => `known_ms >= ${quiet_from}`,
  reactivated: (quiet_from) => `known_ms < ${quiet_from}`,
};

/** When each player that is not deleted was first known. */
const KNOWN =
  'select player_id, toUnixTimestamp64Milli(first_seen_at) as known_ms from players final ' +
  `where ${SCOPE} and deleted_at is null`;

/** The times of the players' own activity. */
function activeSql({ activity }: Lifecycle, span: Span, population: Population): string {
  const { bindings }: { bindings: Bindings } = population;
  const read = [isNamed(activity, bindings), within(span, bindings)];
  return eventsSql([`${AT_MS} as at_ms`], read, population);
}
