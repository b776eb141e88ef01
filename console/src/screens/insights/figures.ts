import type { Unit } from '../../../../src/analytics/insights/chart.ts';
import type { MoneyFormat } from '../../api/currencies.ts';
import { decimalOf, type Currency } from '../../format/money.ts';
import { formatInt, formatPercent, formatShort } from '../../format/number.ts';
import { formatDay, formatTime } from '../../format/time.ts';
import { t } from '../../messages/t.ts';
import type { ChartPoint, Figure } from '../../ui/chart.tsx';
import type { Answer, Cell, Interval, Row } from './query.ts';

export { formOf, MOST_LINES, unitOf, type Unit } from '../../../../src/analytics/insights/chart.ts';

/** How figures of the project are written. */
export interface Writer {
  money: MoneyFormat;
  /** Undefined: not known yet. */
  base: Currency | undefined;
}

interface Rate {
  numerator: bigint;
  denominator: bigint;
}

const isRate = (cell: Cell | undefined): cell is Rate => typeof cell === 'object' && cell !== null;

/** A cell as a figure; null: it has none, or a rate of nothing. */
export function figureOf(cell: Cell | undefined, unit: Unit, writer: Writer): Figure | null {
  if (cell === undefined || cell === null || typeof cell === 'boolean') return null;
  if (isRate(cell)) return rateOf(cell, unit, writer);
  if (typeof cell !== 'bigint') {
    const value = Number(cell);
    return Number.isNaN(value) ? null : { value, text: formatNumber(value), figure: String(cell) };
  }
  if (unit === 'money') return moneyOf(cell, writer);
  return { value: Number(cell), text: formatInt(cell), figure: String(cell) };
}

function moneyOf(amount: bigint, { money, base }: Writer): Figure {
  const figure = base === undefined ? undefined : decimalOf(amount, base.scale);
  return { value: Number(amount), text: money.base(amount), figure };
}

function rateOf({ numerator, denominator }: Rate, unit: Unit, writer: Writer): Figure | null {
  if (denominator === 0n) return null;
  const value = Number(numerator) / Number(denominator);
  if (unit === 'money') return moneyOf(BigInt(Math.round(value)), writer);
  return {
    value,
    text: unit === 'share' ? formatPercent(value) : formatNumber(value),
    figure: String(value),
  };
}

const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });

function formatNumber(value: number): string {
  return numbers.format(value);
}

/** How the axis of a chart of this unit is written. */
export function tickOf(unit: Unit, { money }: Writer): (value: number) => string {
  if (unit === 'money') return money.short;
  return unit === 'share' ? formatPercent : formatShort;
}

/** The place of a column by its name; -1: there is none. */
export function placeOf({ columns }: Pick<Answer, 'columns'>, name: string): number {
  return columns.findIndex((one) => one.name === name);
}

/** The text of a cell, such as a name of a group: digits come as a `bigint`. */
export function textOf(row: Row | undefined, place: number): string | null {
  const cell = row?.[place];
  return cell === null || cell === undefined || typeof cell === 'object' ? null : String(cell);
}

/** An interval by its beginning, as it is read. */
export function labelOf(at: string, interval: Interval, zone: string): string {
  if (interval === 'hour') return formatTime(at, zone).replace(/:\d\d /, ' ');
  const day = formatDay(at, zone);
  return interval === 'month' ? day.slice(0, 7) : day;
}

/** An interval below a chart. */
export function shortOf(at: string, interval: Interval, zone: string): string {
  if (interval === 'hour') return formatTime(at, zone).slice(11, 16);
  const day = formatDay(at, zone);
  return interval === 'month' ? day.slice(0, 7) : day.slice(5);
}

/** The intervals of rows. */
export function pointsOf(answer: Answer, interval: Interval, rows: readonly Row[]): ChartPoint[] {
  const [at, complete] = [placeOf(answer, 'at'), placeOf(answer, 'is_complete')];
  return rows.map((row) => {
    const key = textOf(row, at) ?? '';
    return {
      key,
      label: labelOf(key, interval, answer.timezone),
      short: shortOf(key, interval, answer.timezone),
      is_complete: row[complete] === true,
    };
  });
}

/** What the API calls the group of all addresses and numbers. */
const PERSONAL = '•••';

/** A group of a breakdown as it is read. */
export function groupName(group: string, by: string): string {
  if (group === '') return t.insights.unknownGroup;
  if (group === PERSONAL) return t.insights.personalGroup;
  const words: Readonly<Record<string, string>> = by === 'product' ? t.insights.products : {};
  return words[group] ?? group;
}
