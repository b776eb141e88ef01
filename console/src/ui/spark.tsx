import { formatInt } from '../format/number.ts';
import { Time } from '../format/zone.tsx';
import { t } from '../messages/t.ts';
import css from './spark.module.css';

const WIDTH = 600;
const HEIGHT = 40;
/** Rows of the table: with more points, those between are omitted from it. */
const MAX_ROWS = 100;

/** A value from a time on, until the next point. */
export interface SparkPoint {
  at: string;
  value: number;
}

/** How a number changed, as a small line with its table. The points are in the order of their times. */
export function Spark({ title, points }: { title: string; points: readonly SparkPoint[] }) {
  const times = points.map(({ at }) => Date.parse(at));
  const [first_ms = 0, last_ms = 0] = [times.at(0), times.at(-1)];
  const values = points.map(({ value }) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const x = (i: number) =>
    ((((times[i] ?? 0) - first_ms) / Math.max(1, last_ms - first_ms)) * WIDTH).toFixed(1);
  const y = (value: number) =>
    (HEIGHT - 2 - ((value - least) / Math.max(1, most - least)) * (HEIGHT - 4)).toFixed(1);
  // A size stays until the next point, so the line goes in steps.
  const line = values.map((value, i) => (i === 0 ? `M0 ${y(value)}` : `H${x(i)} V${y(value)}`)).join(' ');
  const every = Math.ceil(points.length / MAX_ROWS);
  const rows = points.filter((_, i) => (points.length - 1 - i) % every === 0).toReversed();
  return (
    <figure className={css['figure']}>
      <figcaption>{title}</figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t.chart.spark(title, formatInt(least), formatInt(most), formatInt(values.at(-1) ?? 0))}
      >
        <path d={line} vectorEffect="non-scaling-stroke" />
      </svg>
      <details>
        <summary>{t.chart.asTable}</summary>
        <div className={css['table']} tabIndex={0} role="group" aria-label={title}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.chart.when}</th>
                <th scope="col">{title}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ at, value }) => (
                <tr key={at}>
                  <th scope="row">
                    <Time at={at} />
                  </th>
                  <td>{formatInt(value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
