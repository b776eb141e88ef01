import { JsonText } from '../../../platform/exact-json.ts';
import { formOf, MOST_LINES, type Plotted, type Unit } from '../chart.ts';
import { figureText } from '../figure-text.ts';
import type { Cell, Column, Row } from '../kind.ts';
import { intervalLabel, nameText, unitIn, type TileTexts } from './table.ts';

/** A chart of a tile, as the console draws it: `tick` writes a value of its axis. */
export interface TileChart extends Plotted {
  title: string;
  points: readonly { label: string; is_complete: boolean }[];
  series: readonly (Plotted['series'][number] & { name: string })[];
  tick: (value: number) => string;
}

/**
 * The charts of an answer that have any figure but 0: of a trend, a lifecycle and a distribution. The console shows the other kinds as
 * tables, too.
 */
export function chartsOf(texts: TileTexts): TileChart[] {
  return allCharts(texts).filter(({ series }) =>
    series.some(({ figures, compared = [] }) =>
      [...figures, ...compared].some((one) => one !== null && one.value !== 0),
    ),
  );
}

function allCharts(texts: TileTexts): TileChart[] {
  const { query, answer } = texts;
  switch (query.kind) {
    case 'trend':
      return answer.other === null ? trendCharts(texts) : groupCharts(texts);
    case 'lifecycle':
      return [lifecycleChart(texts)];
    case 'distribution':
      return [distributionChart(texts)];
    case 'funnel':
    case 'retention':
    case 'bonuses':
      return [];
  }
}

/** The columns of a trend that are drawn. */
function drawnOf({ query, answer: { columns } }: TileTexts) {
  return columns.flatMap((column, place) => {
    if (column.is_compared || !['money', 'count', 'number', 'rate'].includes(column.type)) return [];
    const compared = columns.findIndex(({ name }) => name === `${column.name}.compared`);
    return [{ label: column.label, place, compared, unit: unitIn(query, column, columns) }];
  });
}

/** A chart of each unit. */
function trendCharts(texts: TileTexts): TileChart[] {
  const { rows } = texts.answer;
  const drawn = drawnOf(texts);
  return [...new Set(drawn.map(({ unit }) => unit))].map((unit) => {
    const of_unit = drawn.filter((one) => one.unit === unit);
    return {
      ...axisOf(unit, texts),
      title: of_unit.map(({ label }) => label).join(', '),
      as: formOf(of_unit.length, rows.length, unit),
      points: pointsOf(rows, texts),
      series: of_unit.map(({ label, place, compared }) => ({
        name: label,
        figures: valuesOf(rows, place),
        compared: compared < 0 ? undefined : valuesOf(rows, compared),
      })),
    };
  });
}

/** The chart of the first series by group: over time, or of a single interval a bar for each group. */
function groupCharts(texts: TileTexts): TileChart[] {
  const { columns, rows, totals } = texts.answer;
  const [first] = drawnOf(texts);
  if (first === undefined) return [];
  const at = columns.findIndex(({ name }) => name === 'group');
  const groups = totals.slice(1).map((row) => row[at] ?? null);
  const of_group = groups.map((group) => rows.filter((row) => (row[at] ?? null) === group));
  const common = { ...axisOf(first.unit, texts), title: first.label };
  if ((of_group[0]?.length ?? 0) <= 1) {
    const single = of_group.flatMap(([row]) => (row === undefined ? [] : [row]));
    const figures = valuesOf(single, first.place);
    const points = groups.map((group) => ({ label: nameText(group), is_complete: true }));
    return [{ ...common, as: 'bars', points, series: [{ name: first.label, figures }] }];
  }
  const series = groups.slice(0, MOST_LINES).map((group, i) => ({
    name: nameText(group),
    figures: valuesOf(of_group[i] ?? [], first.place),
  }));
  return [{ ...common, as: 'lines', points: pointsOf(of_group[0] ?? [], texts), series }];
}

/** Who went quiet is below the line. */
function lifecycleChart(texts: TileTexts): TileChart {
  const { columns, rows } = texts.answer;
  const states = columns.flatMap(({ name, label, type }, place) =>
    type === 'count' ? [{ name, label, place }] : [],
  );
  return {
    title: 'Lifecycle',
    as: 'stack',
    points: pointsOf(rows, texts),
    series: states.map(({ name, label, place }) => ({
      name: label,
      figures: valuesOf(rows, place).map((one) =>
        one !== null && name === 'churned' ? { value: -one.value } : one,
      ),
    })),
    tick: (value) => short(Math.abs(value)),
  };
}

function distributionChart(texts: TileTexts): TileChart {
  const { columns, rows } = texts.answer;
  const place = columns.findIndex(({ name }) => name === 'value');
  const column = columns[place];
  const unit: Unit = column?.type === 'money' ? 'money' : 'count';
  const title = column?.label ?? '';
  return {
    ...axisOf(unit, texts),
    title,
    as: 'bars',
    points: rows.map((_, i) => ({ label: String(i + 1), is_complete: true })),
    series: [{ name: title, figures: valuesOf(rows, place) }],
  };
}

function pointsOf(rows: readonly Row[], { query, answer: { columns }, zone }: TileTexts) {
  const placeOf = (name: Column['name']) => columns.findIndex((one) => one.name === name);
  const [at, complete] = [placeOf('at'), placeOf('is_complete')];
  return rows.map((row) => {
    const begin = row[at];
    const label = typeof begin === 'string' ? intervalLabel(begin, query, zone) : '';
    return { label, is_complete: row[complete] === true };
  });
}

/** How the axis of a unit is made and written. */
function axisOf(unit: Unit, { money }: TileTexts) {
  const tick = {
    money: (value: number) => figureText(BigInt(Math.round(value)), 'money', money),
    share: (value: number) => `${Number((value * 100).toFixed(1))} %`,
    count: short,
    number: short,
  }[unit];
  return { tick, is_whole: unit === 'money' || unit === 'count' };
}

const numbers = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

function short(value: number): string {
  return numbers.format(value);
}

/** The heights of the figures of a column; a rate of nothing has none. */
function valuesOf(rows: readonly Row[], place: number) {
  return rows.map((row) => {
    const value = valueOf(row[place] ?? null);
    return value === undefined || Number.isNaN(value) ? null : { value };
  });
}

function valueOf(cell: Cell): number | undefined {
  if (cell === null || typeof cell === 'boolean') return undefined;
  if (cell instanceof JsonText) return Number(cell.text);
  if (typeof cell !== 'object') return Number(cell);
  return cell.denominator === 0n ? undefined : Number(cell.numerator) / Number(cell.denominator);
}
