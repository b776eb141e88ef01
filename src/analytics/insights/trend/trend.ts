import { validationError } from '../../../errors.ts';
import { Bindings } from '../../../segments/sql/bindings.ts';
import {
  columnOf,
  unusedName,
  type Cell,
  type Column,
  type ComparedSteps,
  type Figures,
  type InsightKind,
  type InsightScope,
  type Plan,
  type Row,
  type Steps,
} from '../kind.ts';
import type { Source } from '../metrics/measure-queries.ts';
import type { TrendCell, TrendQuery } from '../schema.ts';
import { canGroupBy, groupSql, playerColumnOf } from '../sql/groups.ts';
import { Parts, type Part } from './parts.ts';
import { ratioColumn, seriesOf, type Series, type SeriesColumn, type ValueOf } from './series.ts';
import {
  namesOf,
  trendPlayersStatement,
  trendStatement,
  type Grouping,
  type TrendRow,
} from './trend-queries.ts';

/** Up to five series over time: metrics, or aggregates of events, also by group, and compared with another range. */
export const TREND: InsightKind<TrendQuery, TrendCell> = { plan, players };

interface Compiled {
  series: readonly Series[];
  columns: readonly SeriesColumn[];
  parts: readonly Part[];
  sources: readonly Source[];
  grouping: Grouping | undefined;
  bindings: Bindings;
}

function compile(query: TrendQuery, { reporting, filter }: InsightScope): Compiled {
  const bindings = new Bindings();
  const parts = new Parts(bindings);
  const series = seriesOf(query.series, parts, reporting);
  const ratio = query.ratio === undefined ? [] : [ratioColumn(series, query.ratio)];
  const sources = [...new Set(parts.all.map(({ source }) => source))];
  const grouping = query.breakdown && groupingOf(query.breakdown, series, sources, bindings);
  if (filter.events !== '' && sources.some((source) => source !== 'events'))
    throw validationError([
      { path: 'filter.where', message: 'cannot be applied to series that are not made of events' },
    ]);
  // Several series may be of one event.
  const taken = new Set<string>();
  const columns = [...series.flatMap((one) => one.columns), ...ratio].map((column) => ({
    ...column,
    name: unusedName(column.name, taken),
  }));
  return { series, columns, parts: parts.all, sources, grouping, bindings };
}

function groupingOf(
  { by, property, top }: NonNullable<TrendQuery['breakdown']>,
  [first]: readonly Series[],
  sources: readonly Source[],
  bindings: Bindings,
): Grouping {
  const refused = (message: string) => validationError([{ path: 'breakdown.by', message }]);
  if (property !== undefined && !canGroupBy(property))
    throw refused('amounts are no groups: they differ from event to event');
  if (sources.length > 1) throw refused('needs series that are made of the same rows: events, or players');
  const player_column = playerColumnOf(by);
  if (player_column === undefined && sources[0] !== 'events')
    throw refused('goes by events, and this series is made of players');
  return { sql: groupSql(by, property, bindings), player_column, top, rank: first?.rank ?? [] };
}

function plan(query: TrendQuery, scope: InsightScope): Plan {
  const compiled = compile(query, scope);
  const { sources, parts, grouping, bindings } = compiled;
  const statements = sources.map((source) =>
    trendStatement(
      source,
      parts.filter((part) => part.source === source),
      scope,
      grouping,
      bindings.params,
    ),
  );
  return {
    statements,
    read: (answers) => figuresOf(compiled, scope, answers as readonly (readonly TrendRow[])[]),
    is_of_events_alone:
      sources.every((source) => source === 'events') &&
      scope.filter.owners === '' &&
      grouping?.player_column === undefined,
    events: namesOf(parts),
  };
}

/** The rows of all statements by side, step and place. */
class Cells {
  readonly #rows = new Map<string, TrendRow[]>();
  /** Groups with rows of their own, by their places from 1. */
  readonly groups: string[] = [];

  constructor(answers: readonly (readonly TrendRow[])[]) {
    for (const row of answers.flat()) {
      const key = keyOf(row.side, row.step, row.place);
      this.#rows.set(key, [...(this.#rows.get(key) ?? []), row]);
      const place = Number(row.place);
      if (row.place !== null && place > 0) this.groups[place - 1] = row.g;
    }
  }

  /** What a cell comes to; `place`: 0 the rest, null all. */
  of(side: 0 | 1, step: string, place: number | null): ValueOf {
    return this.#valueOf(side, step, place);
  }

  /** What the cells of these steps come to together. */
  ofAll(side: 0 | 1, steps: readonly string[], place: number | null): ValueOf {
    const cells = steps.map((step) => this.of(side, step, place));
    return Object.assign(this.#valueOf(side, null, place), { cells });
  }

  #valueOf(side: 0 | 1, step: string | null, place: number | null): ValueOf {
    const rows = this.#rows.get(keyOf(side, step, place)) ?? [];
    return ({ alias }) => {
      const found = rows.find((row) => alias in row)?.[alias];
      return found === undefined || found === null ? found : String(found);
    };
  }
}

function keyOf(side: number, step: string | null, place: number | string | null): string {
  return `${side} ${step ?? 'all'} ${place ?? 'all'}`;
}

/** A row's time: of the range, and of what it is compared with. `at` null: the whole range, with all of its steps. */
interface Moment {
  at: string | null;
  steps: readonly string[];
  compared_steps: readonly string[];
  is_complete: boolean;
}

function figuresOf(
  { columns, grouping }: Compiled,
  scope: InsightScope,
  answers: readonly (readonly TrendRow[])[],
): Figures {
  const cells = new Cells(answers);
  const { steps, compared, now_ms } = scope;
  const is_grouped = grouping !== undefined;
  const moments = momentsOf(steps, compared, now_ms);
  const whole: Moment = {
    at: null,
    steps: moments.flatMap((moment) => moment.steps),
    compared_steps: compared?.starts_ms.map(String) ?? [],
    is_complete: steps.to_ms <= now_ms,
  };
  const valuesOf = (side: 0 | 1, at: string | null, of: readonly string[], place: number | null) =>
    at === null ? cells.ofAll(side, of, place) : cells.of(side, of[0] ?? 'none', place);
  const row = (moment: Moment, place: number | null): Row => {
    const group = place === null || place === 0 ? null : (cells.groups[place - 1] ?? null);
    const now = valuesOf(0, moment.at, moment.steps, place);
    const before = valuesOf(1, moment.at, moment.compared_steps, place);
    const has_before = moment.compared_steps.length > 0;
    return [
      moment.at,
      moment.is_complete,
      ...(is_grouped ? [group] : []),
      ...columns.map((column) => valueOf(column, now, moment)),
      ...(compared === undefined ? [] : columns.map((column) => (has_before ? column.value(before) : null))),
    ];
  };
  const places = cells.groups.map((_, i) => i + 1);
  return {
    columns: columnsOf(columns, is_grouped, compared !== undefined),
    rows: moments.flatMap((moment) =>
      is_grouped ? places.map((place) => row(moment, place)) : [row(moment, null)],
    ),
    totals: [row(whole, null), ...places.map((place) => row(whole, place))],
    other: is_grouped ? [...moments, whole].map((moment) => row(moment, 0)) : null,
  };
}

/** An interval that is not over has no rate yet; the whole range has one, of what there is. */
function valueOf(column: SeriesColumn, of: ValueOf, { at, is_complete }: Moment): Cell {
  return column.type === 'rate' && !is_complete && at !== null ? null : column.value(of);
}

function momentsOf(steps: Steps, compared: ComparedSteps | undefined, now_ms: number): Moment[] {
  return steps.starts_ms.map((start_ms, i) => {
    const end_ms = steps.starts_ms[i + 1] ?? steps.to_ms;
    const before_ms = compared?.pairs_ms[i];
    return {
      at: new Date(start_ms).toISOString(),
      steps: [String(start_ms)],
      compared_steps: before_ms === undefined ? [] : [String(before_ms)],
      is_complete: end_ms <= now_ms,
    };
  });
}

function columnsOf(columns: readonly SeriesColumn[], is_grouped: boolean, is_compared: boolean): Column[] {
  const of = (is_compared: boolean) =>
    columns.map(({ name, label, type, series }) => ({
      name: is_compared ? `${name}.compared` : name,
      label,
      type,
      series,
      is_compared,
    }));
  return [
    columnOf('at', 'Time', 'time'),
    columnOf('is_complete', 'Complete', 'bool'),
    ...(is_grouped ? [columnOf('group', 'Group', 'text')] : []),
    ...of(false),
    ...(is_compared ? of(true) : []),
  ];
}

function players(query: TrendQuery, scope: InsightScope, cell: TrendCell) {
  const { series, parts, grouping, bindings } = compile(query, scope);
  const asked = series[cell.series];
  const [first] = asked?.rank ?? [];
  if (asked === undefined || first === undefined)
    throw validationError([{ path: 'cell.series', message: 'must be the number of a series' }]);
  if (!asked.has_players)
    throw validationError([
      {
        path: 'cell.series',
        message: 'has no value of each player: ask for one of the amounts or counts of which it is made',
      },
    ]);
  const range = stepOfCell(cell, scope);
  const { source } = first[0];
  const value = asked.rank.map(([part, times]) => `${times} * (${part.of_player})`).join(' + ');
  const condition = conditionOf(cell, grouping, bindings);
  return trendPlayersStatement(
    source,
    parts.filter((part) => asked.rank.some(([one]) => one === part)),
    scope,
    range,
    { grouping, condition },
    value,
    bindings.params,
  );
}

/** The interval of a cell, or the whole range. Throws VALIDATION_ERROR where none begins. */
export function stepOfCell({ at }: TrendCell, { steps }: InsightScope): Steps {
  if (at === undefined) return steps;
  const number = steps.starts_ms.indexOf(Date.parse(at));
  const from_ms = steps.starts_ms[number];
  if (from_ms === undefined)
    throw validationError([{ path: 'cell.at', message: 'must be when an interval of the range begins' }]);
  const to_ms = steps.starts_ms[number + 1] ?? steps.to_ms;
  return { ...steps, from_ms, to_ms, starts_ms: [from_ms] };
}

function conditionOf(
  { group, not_in }: TrendCell,
  grouping: Grouping | undefined,
  bindings: Bindings,
): string {
  if (group === undefined && not_in === undefined) return '';
  if (grouping === undefined || (group !== undefined && not_in !== undefined))
    throw validationError([
      {
        path: 'cell.group',
        message: 'a group, or the groups that are not meant, belong to a query with a breakdown',
      },
    ]);
  return group === undefined
    ? `not in ${bindings.bind('Array(String)', not_in)}`
    : `= ${bindings.bind('String', group)}`;
}
