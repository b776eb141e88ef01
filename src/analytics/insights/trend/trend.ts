import { validationError } from '../../../errors.ts';
import { Bindings } from '../../../segments/sql/bindings.ts';
import {
  columnOf,
  unusedName,
  type Cell,
  type Column,
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
  OVER,
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
  const { sources, parts, columns, grouping, bindings } = compiled;
  const open_ms = columns.some(({ is_average }) => is_average) ? openFrom(scope) : undefined;
  const statements = sources.map((source) =>
    trendStatement(
      source,
      parts.filter((part) => part.source === source),
      scope,
      grouping,
      bindings.params,
      open_ms,
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

/** When the first interval of a range begins that is not over; undefined: all are. */
function openFrom({ steps: { starts_ms, to_ms }, now_ms }: InsightScope): number | undefined {
  return starts_ms.find((_, i) => (starts_ms[i + 1] ?? to_ms) > now_ms);
}

/** The rows of all statements by side, step and place. */
class Cells {
  readonly #rows = new Map<string, TrendRow[]>();
  readonly #is_grouped: boolean;
  /** Groups with rows of their own, by their places from 1. */
  readonly groups: string[] = [];

  constructor(answers: readonly (readonly TrendRow[])[], is_grouped: boolean) {
    this.#is_grouped = is_grouped;
    for (const row of answers.flat()) {
      const key = keyOf(row.side, row.step, row.place);
      this.#rows.set(key, [...(this.#rows.get(key) ?? []), row]);
      const place = Number(row.place);
      if (row.place !== null && place > 0) this.groups[place - 1] = row.g;
    }
  }

  /** What an interval comes to; `place`: 0 the rest, null all. */
  of(side: 0 | 1, step: string, place: number | null): ValueOf {
    const rows = this.#rows.get(keyOf(side, step, place)) ?? [];
    return ({ alias }) => {
      const found = rows.find((row) => alias in row)?.[alias];
      return found === undefined || found === null ? found : String(found);
    };
  }

  /** What these intervals come to together, whose rows have `step`. With groups, each cell is an interval of one group, or of the rest. */
  ofAll(side: 0 | 1, step: string, steps: readonly string[], place: number | null): ValueOf {
    const all = this.#is_grouped ? [0, ...this.groups.map((_, i) => i + 1)] : [null];
    const places = place === null ? all : [place];
    const cells = steps.flatMap((one) => places.map((of_place) => this.of(side, one, of_place)));
    return Object.assign(this.of(side, step, place), { cells });
  }
}

/** In place of a step: the whole range. */
const WHOLE = 'all';

function keyOf(side: number, step: string | null, place: number | string | null): string {
  return `${side} ${step ?? WHOLE} ${place ?? 'all'}`;
}

/** Intervals of one side, of which a row has the figures. */
interface Span {
  /** The interval, or {@link WHOLE}. */
  step: string;
  steps: readonly string[];
  /** Those that are over. */
  over: readonly string[];
}

/** A row's time: of the range, and of what it is compared with (undefined: nothing). `at` null: the whole range. */
interface Moment {
  at: string | null;
  now: Span;
  before: Span | undefined;
}

function figuresOf(
  { columns, grouping }: Compiled,
  scope: InsightScope,
  answers: readonly (readonly TrendRow[])[],
): Figures {
  const is_grouped = grouping !== undefined;
  const cells = new Cells(answers, is_grouped);
  const { compared } = scope;
  const { moments, whole } = momentsOf(scope);
  const figures = (side: 0 | 1, span: Span | undefined, place: number | null) => {
    if (span === undefined) return columns.map(() => null);
    const { step, steps, over } = span;
    const of = step === WHOLE ? cells.ofAll(side, step, steps, place) : cells.of(side, step, place);
    const are_over = over.length === steps.length;
    const of_over = are_over || step !== WHOLE ? of : cells.ofAll(side, OVER, over, place);
    return columns.map((column): Cell => {
      if (!column.is_average) return column.value(of);
      return over.length === 0 ? null : column.value(of_over);
    });
  };
  const row = ({ at, now, before }: Moment, place: number | null): Row => [
    at,
    now.over.length === now.steps.length,
    ...(is_grouped ? [place === null || place === 0 ? null : (cells.groups[place - 1] ?? null)] : []),
    ...figures(0, now, place),
    ...(compared === undefined ? [] : figures(1, before, place)),
  ];
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

/** Both sides of the intervals of the range, and of the whole. */
function momentsOf(scope: InsightScope): { moments: Moment[]; whole: Moment } {
  const { steps, compared } = scope;
  const open_ms = openFrom(scope) ?? Infinity;
  const spanOf = (step: string, starts_ms: readonly number[]): Span => ({
    step,
    steps: starts_ms.map(String),
    over: starts_ms.filter((start_ms) => start_ms < open_ms).map(String),
  });
  const moments = steps.starts_ms.map((start_ms, i) => {
    const before_ms = compared?.pairs_ms[i];
    return {
      at: new Date(start_ms).toISOString(),
      now: spanOf(String(start_ms), [start_ms]),
      before: before_ms === undefined ? undefined : spanOf(String(before_ms), [before_ms]),
    };
  });
  const whole = {
    at: null,
    now: spanOf(WHOLE, steps.starts_ms),
    before: compared === undefined ? undefined : spanOf(WHOLE, compared.starts_ms),
  };
  return { moments, whole };
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
