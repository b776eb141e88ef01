import { localDate, localTimeText } from '../../../platform/local-intervals.ts';
import type { TimeZone } from '../../../platform/time-zone.ts';
import { unitOf, type Unit } from '../chart.ts';
import { figureText, type Money } from '../figure-text.ts';
import type { Cell, Column, Row } from '../kind.ts';
import type { InsightQuery } from '../schema.ts';
import type { TileAnswer } from './answer.ts';

/** Rows of the table of a tile in a message. */
export const MAX_ROWS = 31;
/** Periods of a retention in a message. */
const MAX_PERIODS = 12;
/** Characters of a name in a table. */
const MAX_NAME = 100;

/** The table of a tile, as texts. */
export interface TileTable {
  head: readonly string[];
  rows: readonly (readonly string[])[];
  /** Which columns have figures. */
  is_figure: readonly boolean[];
  /** Rows that the console has in addition. */
  more: number;
}

/** What texts of a tile are written with. */
export interface TileTexts {
  query: InsightQuery;
  answer: TileAnswer;
  zone: TimeZone;
  money: Money;
}

/**
 * The table of an answer: of groups their totals, of a retention its cohorts, else its rows; then the rest and the total. Of
 * many intervals it has the newest ones, of groups the largest.
 */
export function tableOf(texts: TileTexts): TileTable {
  const { query, answer } = texts;
  if (query.kind === 'retention') return cohortTable(texts);
  const { columns, rows, totals, other } = answer;
  const is_by_group = query.kind === 'trend' && other !== null;
  const [all, ...groups] = totals;
  const body = is_by_group ? groups : rows;
  const is_over_time = columns[0]?.type === 'time' && !is_by_group;
  const kept = is_over_time ? body.slice(-MAX_ROWS) : body.slice(0, MAX_ROWS);
  const rest = other?.at(-1);
  const total = query.kind === 'trend' || query.kind === 'bonuses' ? all : undefined;
  const named: [Row | undefined, string | undefined][] = [
    ...kept.map((row): [Row, undefined] => [row, undefined]),
    [rest, 'Rest'],
    [total, 'Total'],
  ];
  const shown = columns.flatMap((column, i) => (isShown(column, query, is_by_group) ? [{ column, i }] : []));
  return {
    head: shown.map(({ column: { label, is_compared } }) => (is_compared ? `${label} (before)` : label)),
    is_figure: shown.map(({ column: { type } }) => type !== 'text' && type !== 'time'),
    more: body.length - kept.length,
    rows: named.flatMap(([row, name]) => {
      if (row === undefined) return [];
      const cells = shown.map(({ column, i }) => cellText(row, i, column, texts));
      return [name === undefined ? cells : [name, ...cells.slice(1)]];
    }),
  };
}

/** Places in the order of players only find the players of a part; totals of groups have no time. */
function isShown({ name, type }: Column, { kind }: InsightQuery, is_by_group: boolean): boolean {
  if (kind === 'distribution' && (name === 'first' || name === 'last')) return false;
  return type !== 'bool' && !(is_by_group && type === 'time');
}

/** A row for each cohort, by period with the share that returned, and with a value also its money. */
function cohortTable(texts: TileTexts): TileTable {
  const { columns, rows, totals } = texts.answer;
  const placeOf = (name: string) => columns.findIndex((one) => one.name === name);
  const [cohort, period, size, share] = ['cohort', 'period', 'size', 'retention'].map(placeOf) as [
    number,
    number,
    number,
    number,
  ];
  const periods = [...new Set(rows.map((row) => Number(row[period])))].slice(0, MAX_PERIODS);
  const cohorts = [...new Set(rows.map((row) => row[cohort]))];
  const kept = cohorts.slice(-MAX_ROWS);
  const textAt = (row: Row | undefined, place: number) => {
    const column = columns[place];
    return row === undefined || column === undefined ? '' : cellText(row, place, column, texts);
  };
  const value = placeOf('value');
  const shares = (of: readonly Row[]) =>
    periods.map((one) => {
      const row = of.find((candidate) => Number(candidate[period]) === one);
      // A period that is not over has neither, which is said once.
      return [...new Set([textAt(row, share), textAt(row, value)])].filter((text) => text !== '').join(', ');
    });
  return {
    head: ['Cohort', 'Players', ...periods.map(String)],
    is_figure: [false, true, ...periods.map(() => true)],
    more: cohorts.length - kept.length,
    rows: [
      ...kept.map((one) => {
        const of_cohort = rows.filter((row) => row[cohort] === one);
        return [textAt(of_cohort[0], cohort), textAt(of_cohort[0], size), ...shares(of_cohort)];
      }),
      ...(totals.length === 0 ? [] : [['All', textAt(totals[0], size), ...shares(totals)]]),
    ],
  };
}

function cellText(
  row: Row,
  place: number,
  column: Column,
  { query, answer, zone, money }: TileTexts,
): string {
  const cell = row[place] ?? null;
  const { columns } = answer;
  if (column.type === 'text') return nameText(cell);
  if (column.type !== 'time') return figureText(cell, unitIn(query, column, columns), money);
  if (typeof cell !== 'string') return '';
  const label = intervalLabel(cell, query, zone);
  const is_over = row[columns.findIndex(({ name }) => name === 'is_complete')] !== false;
  return is_over || query.kind === 'retention' ? label : `${label} (goes on)`;
}

/** What the figures of a column are. */
export function unitIn(query: InsightQuery, column: Column, columns: readonly Column[]): Unit {
  if (query.kind === 'trend') return unitOf(column, query, columns);
  if (column.type === 'money' || column.type === 'count') return column.type;
  return column.type === 'rate' ? 'share' : 'number';
}

/** An interval by its beginning. */
export function intervalLabel(at: string, { interval }: InsightQuery, zone: TimeZone): string {
  const at_ms = Date.parse(at);
  if (interval === 'hour') return localTimeText(zone, at_ms);
  const date = localDate(zone, at_ms);
  return interval === 'month' ? date.slice(0, 7) : date;
}

/** The name of a group, or of another part. */
export function nameText(cell: Cell): string {
  const name = typeof cell === 'string' ? cell : '';
  if (name === '') return 'not known';
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
}
