import { useState, type KeyboardEvent, type PointerEvent } from 'react';
import {
  BARS,
  hasLabel,
  PLOT_HEIGHT,
  PLOT_WIDTH,
  plotOf,
  type Place,
} from '../../../src/analytics/insights/chart.ts';
import { t } from '../messages/t.ts';
import type { ChartProps, ChartSeries } from './chart.tsx';
import css from './chart.module.css';

const STYLES = { line: 'line', open: 'open-line', before: 'before' } as const;

interface Cursor {
  point: number;
  series: number;
}

/** The picture of a chart, with one place at a time that is pointed at or has the keyboard. */
export function Plot({ title, as, points, series, tick, is_whole = true, onOpen }: ChartProps) {
  const [cursor, setCursor] = useState<Cursor>();
  const count = points.length;
  const { ticks, step, y, bars, lines, ends } = plotOf({ as, points, series, is_whole });
  const [top, , bottom] = ticks;

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
    const hit = ends[point]?.findIndex(({ from, to }) => (value - from) * (value - to) <= 0) ?? 0;
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
        <svg viewBox={`0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {ticks.map((value) => (
            <line
              key={value}
              className={value === 0 ? css['zero'] : css['rule']}
              x1="0"
              x2={PLOT_WIDTH}
              y1={y(value)}
              y2={y(value)}
            />
          ))}
          {cursor === undefined ? null : (
            <rect className={css['cursor']} x={cursor.point * step} y="0" width={step} height={PLOT_HEIGHT} />
          )}
          {bars.map(({ series: number, point, is_complete, ...place }) => (
            <rect
              key={`${point} ${number}`}
              className={is_complete ? css['bar'] : css['open-bar']}
              data-series={number}
              {...place}
            />
          ))}
          {lines.map(({ series: number, style, lines: of }) => (
            <g key={`${number} ${style}`} data-series={number}>
              <path className={css[STYLES[style]]} d={pathOf(of)} vectorEffect="non-scaling-stroke" />
            </g>
          ))}
        </svg>
        {cursor === undefined ? null : (
          <Tip cursor={cursor} label={points[cursor.point]?.label ?? ''} series={series} count={count} />
        )}
      </div>
      <div className={css['dates']} aria-hidden="true">
        {points.map(({ key, label, short = label }, i) =>
          hasLabel(i, count) ? (
            <span key={key} style={{ left: `${((i + 0.5) / count) * 100}%` }}>
              {short}
            </span>
          ) : null,
        )}
      </div>
    </div>
  );
}

/** Lines as the path of a picture. */
function pathOf(lines: readonly (readonly Place[])[]): string {
  return lines
    .flatMap((line) => line.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(2)} ${y.toFixed(2)}`))
    .join(' ');
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
