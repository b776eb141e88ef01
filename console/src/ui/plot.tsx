import { useState, type KeyboardEvent, type PointerEvent } from 'react';
import { ticksOf } from '../format/axis.ts';
import { t } from '../messages/t.ts';
import type { ChartProps, ChartSeries, Figure } from './chart.tsx';
import css from './chart.module.css';

/** Units of the picture, which is stretched to its place. */
const WIDTH = 1_000;
const HEIGHT = 100;
const MOST_LABELS = 4;
/** The part of a place that its bars take. */
const BARS = 0.8;

interface Cursor {
  point: number;
  series: number;
}

/** The part of a bar: where it begins, and where it ends. */
interface Bar {
  from: number;
  to: number;
}

/** Where the bars of a point begin and end; in a stack each begins where the one before of its sign has ended. */
function barsOf(series: readonly ChartSeries[], point: number, is_stacked: boolean): Bar[] {
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

/** The picture of a chart, with one place at a time that is pointed at or has the keyboard. */
export function Plot({ title, as, points, series, tick, is_whole = true, onOpen }: ChartProps) {
  const [cursor, setCursor] = useState<Cursor>();
  const count = points.length;
  const bars = points.map((_, i) => barsOf(series, i, as === 'stack'));
  const values = [
    ...bars.flat().map(({ to }) => to),
    ...series.flatMap(({ compared = [] }) => compared.map((one) => one?.value ?? 0)),
  ];
  const ticks = ticksOf(values, is_whole);
  const [top, , bottom] = ticks;
  const y = (value: number) => ((top - value) / (top - bottom)) * HEIGHT;
  const step = WIDTH / Math.max(1, count);
  const x = (point: number) => (point + 0.5) * step;

  /** Where the bar of a series at a point is. */
  const barAt = (point: number, number: number) => {
    const width = (step * BARS) / (as === 'stack' ? 1 : series.length);
    return { left: (point + (1 - BARS) / 2) * step + (as === 'stack' ? 0 : number * width), width };
  };
  const markOf = (number: number) => (point: number) => barAt(point, number);

  const seriesAt = (point: number, across: number, value: number): number => {
    if (as === 'lines') {
      const off = ({ figures }: ChartSeries) =>
        Math.abs((figures[point]?.value ?? Number.POSITIVE_INFINITY) - value);
      return series.reduce((best, one, i) => (off(one) < off(series[best] ?? one) ? i : best), 0);
    }
    if (as === 'bars') {
      const place = Math.floor(((across - (1 - BARS) / 2) / BARS) * series.length);
      return Math.max(0, Math.min(series.length - 1, place));
    }
    const hit = bars[point]?.findIndex(({ from, to }) => (value - from) * (value - to) <= 0) ?? 0;
    return Math.max(0, hit);
  };
  const placeOf = (event: PointerEvent<HTMLElement>): Cursor => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = ((event.clientX - box.left) / Math.max(1, box.width)) * count;
    const point = Math.max(0, Math.min(count - 1, Math.floor(at)));
    const value = top - ((event.clientY - box.top) / Math.max(1, box.height)) * (top - bottom);
    return { point, series: seriesAt(point, at - point, value) };
  };
  const open = ({ point, series: number }: Cursor) => {
    if ((series[number]?.figures[point]?.value ?? 0) !== 0) onOpen?.(number, point);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { point, series: number } = cursor ?? { point: 0, series: 0 };
    const next: Readonly<Record<string, Cursor | undefined>> = {
      ArrowLeft: { point: Math.max(0, point - 1), series: number },
      ArrowRight: { point: Math.min(count - 1, point + 1), series: number },
      Home: { point: 0, series: number },
      End: { point: count - 1, series: number },
      ArrowDown: { point, series: (number + 1) % series.length },
      ArrowUp: { point, series: (number + series.length - 1) % series.length },
    };
    const moved = next[event.key];
    if (moved !== undefined) setCursor(moved);
    else if (event.key === 'Enter' && onOpen !== undefined) open({ point, series: number });
    else if (event.key === 'Escape' && cursor !== undefined) setCursor(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shown = cursor ?? { point: 0, series: 0 };
  const every = Math.max(1, Math.ceil(count / MOST_LABELS));
  return (
    <div className={css['plot']}>
      <div className={css['ticks']} aria-hidden="true">
        {ticks.map((value) => (
          <span key={value}>{tick(value)}</span>
        ))}
      </div>
      <div
        className={`${css['place']} ${onOpen === undefined ? '' : css['opens']}`}
        role="slider"
        tabIndex={0}
        aria-label={t.chart.label(title)}
        aria-valuemin={1}
        aria-valuemax={count}
        aria-valuenow={shown.point + 1}
        aria-valuetext={saidOf(series, points[shown.point]?.label ?? '', shown)}
        onFocus={(event) => {
          // A click sets it itself.
          if (event.currentTarget.matches(':focus-visible')) setCursor(shown);
        }}
        onBlur={() => setCursor(undefined)}
        onPointerMove={(event) => setCursor(placeOf(event))}
        onPointerLeave={() => setCursor(undefined)}
        onPointerUp={(event) => {
          const at = placeOf(event);
          setCursor(at);
          open(at);
        }}
        onKeyDown={onKeyDown}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {ticks.map((value) => (
            <line
              key={value}
              className={value === 0 ? css['zero'] : css['rule']}
              x1="0"
              x2={WIDTH}
              y1={y(value)}
              y2={y(value)}
            />
          ))}
          {cursor === undefined ? null : (
            <rect className={css['cursor']} x={cursor.point * step} y="0" width={step} height={HEIGHT} />
          )}
          {as === 'lines'
            ? null
            : points.map(({ key, is_complete = true }, i) =>
                bars[i]?.map(({ from, to }, number) => {
                  const { left, width } = barAt(i, number);
                  const ends = [y(from), y(to)];
                  return from === to ? null : (
                    <rect
                      key={`${key} ${number}`}
                      className={is_complete ? css['bar'] : css['open-bar']}
                      data-series={number}
                      x={left}
                      y={Math.min(...ends)}
                      width={width}
                      height={Math.max(1, Math.abs(y(from) - y(to)))}
                    />
                  );
                }),
              )}
          {series.map(({ figures, compared }, number) => (
            <g key={number} data-series={number}>
              {compared === undefined ? null : (
                <path
                  className={css['before']}
                  d={as === 'lines' ? lineOf(compared, x, y) : marksOf(compared, markOf(number), y)}
                  vectorEffect="non-scaling-stroke"
                />
              )}
              {as === 'lines' ? <Lines figures={figures} points={points} x={x} y={y} /> : null}
            </g>
          ))}
        </svg>
        {cursor === undefined ? null : (
          <Tip cursor={cursor} label={points[cursor.point]?.label ?? ''} series={series} count={count} />
        )}
      </div>
      <div className={css['dates']} aria-hidden="true">
        {points.map(({ key, label, short = label }, i) =>
          i % every === 0 ? (
            <span key={key} style={{ left: `${((i + 0.5) / count) * 100}%` }}>
              {short}
            </span>
          ) : null,
        )}
      </div>
    </div>
  );
}

type Scale = (value: number) => number;

/** A line above each bar: what it is compared with. */
function marksOf(
  figures: readonly (Figure | null)[],
  barAt: (point: number) => { left: number; width: number },
  y: Scale,
): string {
  return figures
    .map((one, i) => {
      const { left, width } = barAt(i);
      return one === null ? '' : `M${left.toFixed(1)} ${y(one.value).toFixed(2)}h${width.toFixed(1)}`;
    })
    .join(' ');
}

/** A line over places; it is broken where there is no figure. */
function lineOf(figures: readonly (Figure | null | undefined)[], x: Scale, y: Scale): string {
  return figures
    .map((one, i) => {
      if (one === null || one === undefined) return '';
      const before = figures[i - 1];
      const begins = before === null || before === undefined;
      const ends = figures[i + 1] === null || figures[i + 1] === undefined;
      // A single figure would be no line at all.
      const dot = begins && ends ? ` h0.01` : '';
      return `${begins ? 'M' : 'L'}${x(i).toFixed(1)} ${y(one.value).toFixed(2)}${dot}`;
    })
    .join(' ');
}

function Lines({
  figures,
  points,
  x,
  y,
}: Pick<ChartSeries, 'figures'> & Pick<ChartProps, 'points'> & { x: Scale; y: Scale }) {
  const isOver = (i: number) => points[i]?.is_complete ?? true;
  const over = figures.map((one, i) => (isOver(i) ? one : null));
  const open = figures.map((one, i) =>
    !isOver(i) || (i + 1 < points.length && !isOver(i + 1)) ? one : null,
  );
  return (
    <>
      <path className={css['line']} d={lineOf(over, x, y)} vectorEffect="non-scaling-stroke" />
      <path className={css['open-line']} d={lineOf(open, x, y)} vectorEffect="non-scaling-stroke" />
    </>
  );
}

/** What the place of the cursor says, for screen readers. */
function saidOf(series: readonly ChartSeries[], label: string, { point, series: number }: Cursor): string {
  const one = series[number];
  const text = one?.figures[point]?.text ?? '—';
  const before = one?.compared?.[point]?.text;
  return t.chart.said(label, one?.name ?? '', text, before);
}

function Tip({
  cursor: { point, series: number },
  label,
  series,
  count,
}: {
  cursor: Cursor;
  label: string;
  series: readonly ChartSeries[];
  count: number;
}) {
  const share = (point + 0.5) / count;
  const side = share > 0.5 ? { right: `${(1 - share) * 100}%` } : { left: `${share * 100}%` };
  return (
    <div className={css['tip']} style={side} aria-hidden="true">
      <strong>{label}</strong>
      {series.map(({ name, figures, compared }, i) => (
        <div key={i} className={i === number ? css['pointed'] : undefined}>
          <span className={css['swatch']} data-series={i} />
          {name}: {figures[point]?.text ?? '—'}
          {compared === undefined ? null : <small>{t.chart.beforeIs(compared[point]?.text ?? '—')}</small>}
        </div>
      ))}
    </div>
  );
}
