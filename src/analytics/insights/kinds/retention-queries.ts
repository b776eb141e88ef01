import {
  AT_MS,
  eventsSql,
  isChosen,
  isNamed,
  playersOf,
  statementOf,
  within,
  type Amount,
  type EventChoice,
  type Population,
  type Span,
} from './events-queries.ts';
import type { Statement } from '../kind.ts';
import { IS_LEFT } from '../../../segments/sql/owner-sql.ts';
import { firstDepositsSql } from '../metrics/measure-queries.ts';

/** Cohorts of players by the first of their events ever, and who of them returned in later periods. */
export interface Retention {
  /** When cohorts begin, in their order. */
  starts_ms: readonly number[];
  /** When the last cohort ends. */
  end_ms: number;
  /** The first of these events of a player, of all time, makes the player a member of a cohort. */
  cohort: EventChoice;
  /** The cohort is that of the first deposit, and `players` has it of everybody. */
  is_of_players: boolean;
  /** Who has one of these events in a period has returned: events of these names, or those that are chosen. */
  returns: readonly string[] | EventChoice;
  /** Summed over all members of a cohort; empty: none. */
  values: readonly Amount[];
  periods: Periods;
}

/**
 * `calendar`: intervals of the reporting zone that begin at these times, the first with the first cohort; `rolling`: so many
 * lengths of time, counted from the player's first event.
 */
export type Periods =
  | { mode: 'calendar'; starts_ms: readonly number[]; end_ms: number }
  | { mode: 'rolling'; length_ms: number; count: number };

/**
 * A cohort, or one period of it. `period`: the beginning of an interval (calendar) or the number of a length (rolling), and
 * null for the cohort itself, whose `players` are its size.
 */
export interface RetentionRow {
  cohort: string;
  period: string | null;
  players: string;
  /** Whose events are in the first of `sums`. */
  value_players: string;
  /** By value. */
  sums: string[];
}

/** The sizes of cohorts and what each period came to, as {@link RetentionRow}s; those without players are absent. */
export function countReturns(retention: Retention, population: Population): Statement {
  const { starts_ms } = retention;
  const cohorts = cohortsSql(retention, spanOf(retention), population);
  const cohort = `roundDown(first_ms, ${population.bindings.bind('Array(Int64)', starts_ms)})`;
  const totals = retention.values.map((_, i) => `, sum(adds_${i}) as total_${i}`).join('');
  const sums = retention.values.map((_, i) => `toString(sum(total_${i}))`).join(', ');
  const by_player =
    `select owner, ${cohort} as of_cohort, ${periodOf(retention, population)} as of_period,\n` +
    `  max(is_return) as returned, max(is_value) as is_paying${totals}\n` +
    `from ${joinedSql(retention, cohorts, reachOf(retention), population)} group by owner, of_cohort, of_period`;
  return statementOf(
    `select toString(of_cohort) as cohort, toString(of_period) as period, toString(countIf(returned)) as players,\n` +
      `  toString(countIf(is_paying)) as value_players, [${sums}] as sums\n` +
      `from (${by_player}) group by of_cohort, of_period\n` +
      `union all\n` +
      `select toString(${cohort} as of_cohort), null, toString(count()), '0', [] from (${cohorts}) group by of_cohort`,
    population,
  );
}

/** Which players of a retention: of one cohort those who returned in a period, whose money is in it, or all. */
export interface RetentionCell {
  cohort: Span;
  /** A span of time (calendar), or the number of a length (rolling); undefined: the whole cohort. */
  period: Span | number | undefined;
  of: 'players' | 'value';
}

/**
 * The players of a cell: `value` is the sum, of a whole cohort that over all periods; or the number of events by which they
 * returned, and 1 in a whole cohort.
 */
export function listReturned(
  retention: Retention,
  { cohort, period, of }: RetentionCell,
  population: Population,
): Statement {
  const { bindings } = population;
  const cohorts = cohortsSql(retention, cohort, population);
  if (period === undefined && of === 'players')
    return playersOf(`select owner, toInt128(1) as value from (${cohorts})`, population);
  const value = of === 'value' ? 'sum(adds_0)' : 'toInt128(countIf(is_return))';
  const is_in = of === 'value' ? 'max(is_value)' : 'max(is_return)';
  const span =
    period === undefined
      ? reachOf(retention, cohort)
      : typeof period === 'number'
        ? rollingSpan(cohort, lengthOf(retention), period, period + 1)
        : period;
  const in_period =
    typeof period === 'number'
      ? `and ${periodOf(retention, population)} = ${bindings.bind('Int64', period)}`
      : '';
  const sql =
    `select owner, ${value} as value from ${joinedSql(retention, cohorts, span, population)} ${in_period}\n` +
    `group by owner having ${is_in}`;
  return playersOf(sql, population);
}

function spanOf({ starts_ms, end_ms }: Retention): Span {
  return { from_ms: starts_ms[0] ?? end_ms, to_ms: end_ms };
}

function lengthOf({ periods }: Retention): number {
  if (periods.mode !== 'rolling') throw new Error('periods of the calendar are named by their spans');
  return periods.length_ms;
}

/** When all lengths from `first` until before `last` lie, of all members of the cohorts. */
function rollingSpan({ from_ms, to_ms }: Span, length_ms: number, first: number, last: number): Span {
  return { from_ms: from_ms + first * length_ms, to_ms: to_ms + last * length_ms };
}

/** When all periods lie, of the cohorts that begin in the span. */
function reachOf(retention: Retention, span = spanOf(retention)): Span {
  const { periods } = retention;
  return periods.mode === 'calendar'
    ? { from_ms: span.from_ms, to_ms: periods.end_ms }
    : rollingSpan(span, periods.length_ms, 0, periods.count);
}

/** The members of the cohorts that begin in the span: `owner`, `first_ms`. */
function cohortsSql({ cohort, is_of_players }: Retention, span: Span, population: Population): string {
  const { bindings, filter } = population;
  const [from, to] = [bindings.bind('Int64', span.from_ms), bindings.bind('Int64', span.to_ms)];
  // A filter of events may leave another one the first.
  if (is_of_players && filter.events === '')
    return `select owner, toUnixTimestamp64Milli(first_at) as first_ms
      from (${firstDepositsSql((column) => within(span, bindings, column), true)}) where ${filter.owners === '' ? 'true' : filter.owners}`;
  const before = `occurred_at < fromUnixTimestamp64Milli(${to}, 'UTC')`;
  const events = eventsSql([`${AT_MS} as at_ms`], [isChosen(cohort, bindings), before], population);
  return `select owner, min(at_ms) as first_ms from (${events}) group by owner having first_ms >= ${from} and ${IS_LEFT}`;
}

/** The period of an event `at_ms` of a member. */
function periodOf({ periods }: Retention, { bindings }: Population): string {
  return periods.mode === 'calendar'
    ? `roundDown(at_ms, ${bindings.bind('Array(Int64)', periods.starts_ms)})`
    : `intDiv(at_ms - first_ms, ${bindings.bind('Int64', periods.length_ms)})`;
}

/**
 * The events of members in a span from their first ones on, as the source of a statement that goes on after its `where`:
 * `owner`, `first_ms`, `at_ms`, `is_return`, `is_value`, `adds_0` and so on.
 */
function joinedSql(
  { returns, values, periods }: Retention,
  cohorts: string,
  span: Span,
  { bindings, filter }: Population,
): string {
  const is_return = 'event' in returns ? isChosen(returns, bindings) : isNamed(returns, bindings);
  const of_values = values.map(({ events }) => isNamed(events, bindings));
  const names = [
    ...('event' in returns ? [returns.event] : returns),
    ...values.flatMap(({ events }) => events),
  ];
  const columns = [
    `${AT_MS} as at_ms`,
    `toUInt8(${is_return}) as is_return`,
    `toUInt8(${of_values[0] ?? '0'}) as is_value`,
    ...values.map(({ adds }, i) => `if(${of_values[i]}, toInt128(${adds}), 0) as adds_${i}`),
  ];
  const read = [
    isNamed(names, bindings),
    within(span, bindings),
    // Before the join, which otherwise takes most of the time: a set of members is looked up at a tenth of its cost.
    `owner in (select owner from (${cohorts}))`,
    ...('event' in returns ? [`(${[is_return, ...of_values].join(' or ')})`] : []),
  ];
  // Cohorts have members of the population alone.
  const events = eventsSql(columns, read, { bindings, filter: { ...filter, owners: '' } });
  const counted =
    periods.mode === 'rolling'
      ? ` and at_ms < first_ms + ${bindings.bind('Int64', periods.length_ms * periods.count)}`
      : '';
  // Not ANY: that gives one event of each member.
  return `(${events}) as e inner join (${cohorts}) as c on c.owner = e.owner where at_ms >= first_ms${counted}`;
}
