// The shapes of charts, for the console (console/src/ui/plot.tsx) and for the pictures of reports. The console uses this file,
// too: it imports nothing.

/** Tops of an axis whose halves are round numbers, too; times a power of ten. */
const ROUND = [1, 2, 3, 4, 6, 8, 10];

/** The three ticks of an axis, from the top down. */
export type Ticks = readonly [number, number, number];

/**
 * Ticks between which all values and 0 are: 0 and a round number with its half; or, with values on both sides of 0, a round
 * number, 0 and its negative. With `is_whole` the half is a whole number, too.
 */
export function ticksOf(values: readonly number[], is_whole: boolean): Ticks {
  const high = values.reduce((most, value) => Math.max(most, value), 0);
  const low = values.reduce((least, value) => Math.min(least, value), 0);
  const top = roundUp(Math.max(high, -low), is_whole);
  if (low === 0) return [top, top / 2, 0];
  return high === 0 ? [0, -top / 2, -top] : [top, 0, -top];
}

function roundUp(size: number, is_whole: boolean): number {
  const least = is_whole ? 2 : Number.MIN_VALUE;
  const wanted = Math.max(size, size === 0 ? 1 : least, least);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const found = ROUND.find(
    (one) => one * power >= wanted && (!is_whole || Number.isInteger((one * power) / 2)),
  );
  return (found ?? 10) * power;
}

/** Units of a plot; it is stretched to its place. */
export const PLOT_WIDTH = 1_000;
export const PLOT_HEIGHT = 100;
/** The part of a place that its bars take. */
export const BARS = 0.8;
/** Lines of a chart by group; a table has all groups. */
export const MOST_LINES = 6;
/** Dates below a chart. */
const MOST_LABELS = 4;
/** One series with so many intervals is drawn as bars. */
const MOST_BARS = 40;

type Values = readonly ({ readonly value: number } | null)[];

/** What is drawn. */
export interface Plotted {
  as: 'bars' | 'lines' | 'stack';
  /** `is_complete` false: the interval goes on, so its figures are dashed. */
  points: readonly { readonly is_complete?: boolean }[];
  /** Figures, one for each point; `compared`: those that they are compared with. */
  series: readonly { readonly figures: Values; readonly compared?: Values | undefined }[];
  /** Values are whole numbers; absent: yes. */
  is_whole?: boolean | undefined;
}

/** A place in units of the plot, from its upper left corner. */
export type Place = readonly [x: number, y: number];

/** The bar of a figure. */
export interface PlotBar {
  series: number;
  point: number;
  is_complete: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Lines of a series; `open`: to an interval that goes on; `before`: what its figures are compared with. */
export interface PlotLines {
  series: number;
  style: 'line' | 'open' | 'before';
  lines: readonly (readonly Place[])[];
}

export interface Plot {
  ticks: Ticks;
  /** The width of the place of a point. */
  step: number;
  y: (value: number) => number;
  bars: readonly PlotBar[];
  lines: readonly PlotLines[];
  /** Where the bars of each point begin and end, as values. */
  ends: readonly (readonly Ends[])[];
}

interface Ends {
  from: number;
  to: number;
}

/** The shapes of a chart. Pure. */
export function plotOf({ as, points, series, is_whole = true }: Plotted): Plot {
  const is_stacked = as === 'stack';
  const ends = points.map((_, point) => endsOf(series, point, is_stacked));
  const values = [
    ...ends.flat().map(({ to }) => to),
    ...series.flatMap(({ compared = [] }) => compared.map((one) => one?.value ?? 0)),
  ];
  const ticks = ticksOf(values, is_whole);
  const [top, , bottom] = ticks;
  const y = (value: number) => ((top - value) / (top - bottom)) * PLOT_HEIGHT;
  const step = PLOT_WIDTH / Math.max(1, points.length);
  const width = (step * BARS) / (is_stacked ? 1 : series.length);
  const left = (point: number, number: number) =>
    (point + (1 - BARS) / 2) * step + (is_stacked ? 0 : number * width);
  const isOver = (point: number) => points[point]?.is_complete ?? true;
  const bars = ends.flatMap((of_point, point) =>
    of_point.flatMap(({ from, to }, number): PlotBar[] => {
      if (as === 'lines' || from === to) return [];
      const height = Math.max(1, Math.abs(y(from) - y(to)));
      const at = { x: left(point, number), y: Math.min(y(from), y(to)), width, height };
      return [{ series: number, point, is_complete: isOver(point), ...at }];
    }),
  );
  const through = (figures: Values) =>
    linesOf(figures.map((one, i) => (one === null ? null : [(i + 0.5) * step, y(one.value)])));
  const lines = series.flatMap(({ figures, compared }, number): PlotLines[] => {
    const before = compared === undefined ? [] : [compared];
    const marks = (of: Values) =>
      of.flatMap((one, i): Place[][] => {
        if (one === null) return [];
        const [x, at] = [left(i, number), y(one.value)];
        return [[[x, at] as const, [x + width, at] as const]];
      });
    const compared_lines = before.map((of) => (as === 'lines' ? through(of) : marks(of)));
    const drawn = compared_lines.map((of) => ({ series: number, style: 'before', lines: of }) as const);
    if (as !== 'lines') return drawn;
    const over = figures.map((one, i) => (isOver(i) ? one : null));
    const open = figures.map((one, i) =>
      !isOver(i) || (i + 1 < points.length && !isOver(i + 1)) ? one : null,
    );
    return [
      ...drawn,
      { series: number, style: 'line', lines: through(over) },
      { series: number, style: 'open', lines: through(open) },
    ];
  });
  return { ticks, step, y, bars, lines, ends };
}

/** Where the bars of a point begin and end; in a stack each begins where the one before of its sign has ended. */
function endsOf(series: Plotted['series'], point: number, is_stacked: boolean): Ends[] {
  let [above, below] = [0, 0];
  return series.map(({ figures }) => {
    const value = figures[point]?.value ?? 0;
    if (!is_stacked) return { from: 0, to: value };
    const from = value < 0 ? below : above;
    const to = from + value;
    if (value < 0) below = to;
    else above = to;
    return { from, to };
  });
}

/** Lines over places, broken where there is none; a single place is a dot. */
function linesOf(places: readonly (Place | null)[]): Place[][] {
  const lines: Place[][] = [];
  let line: Place[] = [];
  for (const place of [...places, null]) {
    if (place !== null) line.push(place);
    else if (line.length > 0) {
      const [first = [0, 0]] = line;
      // A single place would be no line at all.
      lines.push(line.length > 1 ? line : [first, [first[0] + 0.01, first[1]]]);
      line = [];
    }
  }
  return lines;
}

/** Whether a label is below the point of a chart. */
export function hasLabel(point: number, points: number): boolean {
  return point % Math.max(1, Math.ceil(points / MOST_LABELS)) === 0;
}

/** How series over time are drawn: a single one of few intervals as bars. */
export function formOf(series: number, points: number, unit: Unit): 'bars' | 'lines' {
  return series === 1 && points <= MOST_BARS && unit !== 'share' ? 'bars' : 'lines';
}

/** What the values of a column are. */
export type Unit = 'money' | 'count' | 'number' | 'share';

interface UnitColumn {
  name: string;
  type: string;
  series: number | null;
  is_compared: boolean;
}

/** What the figures of a column of a trend are. A rate may be a share, or money of each player or event. */
export function unitOf(
  { name, type, series }: UnitColumn,
  query: { series: readonly object[]; ratio?: readonly unknown[] | undefined },
  columns: readonly UnitColumn[],
): Unit {
  if (type === 'money' || type === 'count' || type === 'number') return type;
  if (series === null) {
    const [over, under] = (query.ratio ?? []).map(
      (number) => columns.find((one) => one.series === number && !one.is_compared)?.type,
    );
    if (over === under) return 'share';
    return over === 'money' ? 'money' : 'number';
  }
  const one = query.series[series];
  return name.startsWith('arpu') || (one !== undefined && 'event' in one) ? 'money' : 'share';
}
