import { JsonText } from '../../../platform/exact-json.ts';
import { shareOf } from '../../../ledger/money/deductions.ts';
import { validationError } from '../../../errors.ts';
import { METRIC_NAMES, metricOf, termsOf, type MetricName } from '../metrics/dictionary.ts';
import type { Measure } from '../metrics/measure-queries.ts';
import type { Cell, Column, InsightScope } from '../kind.ts';
import type { TrendQuery } from '../schema.ts';
import type { Part, Parts } from './parts.ts';

/**
 * The value of a part in a cell as text; undefined: the cell has no rows. `cells`: of what is put together, its cells (interval and
 * group), of which what is rounded is added up.
 */
export interface ValueOf {
  (part: Part): string | null | undefined;
  cells?: readonly ValueOf[];
}

/** A column of a trend, and how it is computed from parts. */
export interface SeriesColumn {
  name: string;
  label: string;
  type: Column['type'];
  /** The number of the series; null: the ratio of two. */
  series: number | null;
  /** It is a rate or a mean, in which no interval is that is not over. */
  is_average: boolean;
  value: (of: ValueOf) => Cell;
}

/** A series of a trend. */
export interface Series {
  columns: readonly SeriesColumn[];
  /** What groups are ranked by, and what of a cell's players is added up. */
  rank: readonly (readonly [Part, bigint])[];
  /** The players of a cell have a value each, so the series can be asked for them. */
  has_players: boolean;
}

type Settings = InsightScope['reporting'];

/** A part as an integer; without rows 0. */
function integer(of: ValueOf, part: Part): bigint {
  return BigInt(of(part) ?? '0');
}

/** {@link shareOf} of what a part comes to in a cell; of what is put together the sum over its cells, so that rows add up. */
function deducted(of: ValueOf, part: Part, bp: number): bigint {
  const { cells = [of] } = of;
  return cells.reduce((sum, cell) => sum + shareOf(integer(cell, part), bp), 0n);
}

/** The series of a query, whose parts are collected in `parts`. Throws VALIDATION_ERROR for one that cannot be computed. */
export function seriesOf(written: TrendQuery['series'], parts: Parts, settings: Settings): Series[] {
  return written.map((one, number) =>
    'metric' in one ? metricSeries(one.metric, number, parts, settings) : eventSeries(one, number, parts),
  );
}

interface Amount {
  value: (of: ValueOf) => bigint;
  rank: readonly (readonly [Part, bigint])[];
}

/** A metric that is a sum, as its parts. */
function amountOf(name: MetricName, parts: Parts, { bonus_cost, deductions }: Settings): Amount {
  const metric = metricOf(name);
  const terms = Object.entries(termsOf(name, bonus_cost)).map(
    ([measure, times]) => [parts.measure(measure as Measure), BigInt(times)] as const,
  );
  const lines =
    'is_after_deductions' in metric
      ? deductions.map((deduction) => ({ part: parts.basis(deduction), bp: deduction.bp }))
      : [];
  const value = (of: ValueOf) => {
    const sum = terms.reduce((all, [part, times]) => all + times * integer(of, part), 0n);
    return lines.reduce((left, { part, bp }) => left - deducted(of, part, bp), sum);
  };
  return { value, rank: terms };
}

function metricSeries(name: MetricName, number: number, parts: Parts, settings: Settings): Series {
  const metric = metricOf(name);
  const column = { name, label: metric.label, series: number, is_average: metric.unit === 'rate' };
  if (metric.unit === 'deductions') {
    const lines = settings.deductions.map((deduction) => ({ ...deduction, part: parts.basis(deduction) }));
    const [first] = lines;
    if (first === undefined)
      throw refused(number, 'no deductions are configured: see config.reporting.deductions');
    const columns = lines.map(({ name: line, part, bp }, i) => ({
      ...column,
      name: `${name}.${i}`,
      label: line,
      type: 'money' as const,
      value: (of: ValueOf) => deducted(of, part, bp),
    }));
    return { columns, rank: [[first.part, 1n]], has_players: false };
  }
  if (metric.unit === 'rate') {
    const [numerator, denominator] = [metric.numerator, metric.denominator].map((one) =>
      amountOf(METRIC_NAMES.find((known) => known === one) ?? 'events', parts, settings),
    ) as [Amount, Amount];
    const value = (of: ValueOf) => ({ numerator: numerator.value(of), denominator: denominator.value(of) });
    return { columns: [{ ...column, type: 'rate', value }], rank: numerator.rank, has_players: false };
  }
  const { value, rank } = amountOf(name, parts, settings);
  const type = metric.unit;
  return { columns: [{ ...column, type, value }], rank, has_players: true };
}

function eventSeries(
  series: Extract<TrendQuery['series'][number], { event: string }>,
  number: number,
  parts: Parts,
): Series {
  const { event, aggregate, property } = series;
  const made = parts.ofEvents(series, `series.${number}`);
  const [part, values] = made.parts;
  const label = property === undefined ? `${event}: ${aggregate}` : `${event}: ${aggregate} of ${property}`;
  const column = { name: `${event}.${aggregate}`, label, series: number, is_average: aggregate === 'avg' };
  const rank = [[part, 1n]] as const;
  const is_count = ['count', 'players', 'distinct'].includes(aggregate);
  if (is_count) {
    const value = (of: ValueOf) => integer(of, part);
    const has_players = aggregate !== 'distinct';
    return { columns: [{ ...column, type: 'count', value }], rank, has_players };
  }
  if (values !== undefined && made.is_money) {
    const value = (of: ValueOf) => ({ numerator: integer(of, part), denominator: integer(of, values) });
    return { columns: [{ ...column, type: 'rate', value }], rank, has_players: false };
  }
  if (values !== undefined) {
    const value = (of: ValueOf) => {
      const count = Number(of(values) ?? '0');
      return count === 0 ? null : Number(of(part) ?? '0') / count;
    };
    return { columns: [{ ...column, type: 'number', value }], rank: [[values, 1n]], has_players: false };
  }
  const of_nothing = aggregate === 'sum' ? '0' : null;
  const value = (of: ValueOf) => {
    const text = of(part) ?? of_nothing;
    if (text === null) return null;
    return made.is_money ? BigInt(text) : new JsonText(text);
  };
  const type = made.is_money ? ('money' as const) : ('number' as const);
  return { columns: [{ ...column, type, value }], rank, has_players: aggregate === 'sum' };
}

function refused(number: number, message: string) {
  return validationError([{ path: `series.${number}`, message }]);
}

/** The column of the ratio of two series. Throws VALIDATION_ERROR where one of them is no integer. */
export function ratioColumn(
  series: readonly Series[],
  [over, under]: readonly [number, number],
): SeriesColumn {
  const [numerator, denominator] = [over, under].map((n) => {
    const column = series[n]?.columns[0];
    if (column === undefined || !['money', 'count'].includes(column.type))
      throw validationError([{ path: 'ratio', message: 'must name series of money or counts' }]);
    return column;
  }) as [SeriesColumn, SeriesColumn];
  return {
    name: 'ratio',
    label: `${numerator.label} ÷ ${denominator.label}`,
    type: 'rate',
    series: null,
    is_average: true,
    value: (of) => ({ numerator: whole(numerator.value(of)), denominator: whole(denominator.value(of)) }),
  };
}

function whole(cell: Cell): bigint {
  return typeof cell === 'bigint' ? cell : 0n;
}
