import { useState, type ReactNode } from 'react';
import { chartRows } from '../format/csv.ts';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import { downloadCsv } from './csv.ts';
import css from './bars.module.css';

/** One bar: its time, also as a label; its height in any unit; and the value for readers and for spreadsheets. */
export interface Bar {
  at: string;
  label: string;
  value: number;
  text: string;
  /** A plain decimal text; undefined: not known yet. */
  figure: string | undefined;
}

const WIDTH = 600;
const HEIGHT = 120;

/** A bar chart with its table: who cannot see the bars reads the same figures, and everybody can save them as CSV. */
export function Bars({
  title,
  bars,
  unit,
  note,
}: {
  title: string;
  bars: readonly Bar[];
  unit: string;
  note?: ReactNode;
}) {
  const [as_table, setAsTable] = useState(false);
  const most = Math.max(1, ...bars.map(({ value }) => Math.abs(value)));
  const has_negative = bars.some(({ value }) => value < 0);
  const step = WIDTH / Math.max(1, bars.length);
  const zero = has_negative ? HEIGHT / 2 : HEIGHT;
  const scale = (has_negative ? HEIGHT / 2 : HEIGHT) / most;
  const points = bars.flatMap(({ at, figure }) => (figure === undefined ? [] : [{ at, figure }]));
  const csv = () => downloadCsv(title, chartRows(t.chart.when, unit, points));
  return (
    <figure className={css['figure']}>
      <figcaption>
        <h2>{title}</h2>
        <span className={css['tools']}>
          <Button kind="quiet" aria-pressed={as_table} onClick={() => setAsTable(!as_table)}>
            {as_table ? t.chart.asChart : t.chart.asTable}
          </Button>
          <Button kind="quiet" onClick={csv} disabled={points.length < bars.length}>
            {t.chart.csv}
          </Button>
        </span>
      </figcaption>
      {note}
      {as_table ? (
        <div className={css['table']} tabIndex={0} role="group" aria-label={title}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.chart.when}</th>
                <th scope="col">{unit}</th>
              </tr>
            </thead>
            <tbody>
              {bars.map(({ at, label, text }) => (
                <tr key={at}>
                  <th scope="row">{label}</th>
                  <td>{text}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={t.chart.label(title)}
        >
          {bars.map(({ at, label, value, text }, i) => {
            const height = Math.max(value === 0 ? 0 : 1, Math.abs(value) * scale);
            return (
              <rect
                key={at}
                x={i * step + step * 0.1}
                y={value < 0 ? zero : zero - height}
                width={step * 0.8}
                height={height}
              >
                <title>{`${label}: ${text}`}</title>
              </rect>
            );
          })}
          <line x1="0" x2={WIDTH} y1={zero} y2={zero} />
        </svg>
      )}
    </figure>
  );
}
