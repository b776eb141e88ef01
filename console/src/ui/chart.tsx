import { useState, type ReactNode } from 'react';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import css from './chart.module.css';
import { downloadCsv } from './csv.ts';
import { Plot } from './plot.tsx';

/** A figure: its height in any unit, and the value for readers and for spreadsheets. */
export interface Figure {
  value: number;
  text: string;
  /** A plain decimal text; undefined: not known yet. */
  figure: string | undefined;
}

/** What is at one place of the horizontal axis: an interval, or a group. */
export interface ChartPoint {
  /** As spreadsheets have it: a time in UTC, or a name. */
  key: string;
  /** As it is read. */
  label: string;
  /** Below the axis; absent: the label. */
  short?: string | undefined;
  /** False: the interval goes on, so its figures are dashed. */
  is_complete?: boolean;
}

/** Figures of one kind, one for each point; null: there is none. */
export interface ChartSeries {
  name: string;
  /** The head of its column in the table; absent: the name. */
  column?: string;
  figures: readonly (Figure | null)[];
  /** The figures that they are compared with. */
  compared?: readonly (Figure | null)[] | undefined;
}

export interface ChartProps {
  title: string;
  /** The head of the column of points. */
  head?: string;
  as: 'bars' | 'lines' | 'stack';
  points: readonly ChartPoint[];
  series: readonly ChartSeries[];
  /** A value of the vertical axis. */
  tick: (value: number) => string;
  /** Values are whole numbers, as counts and amounts in the smallest unit are. */
  is_whole?: boolean;
  /** What is said when there is no figure but 0. */
  none: string;
  note?: ReactNode;
  /** Opens what is behind a figure. */
  onOpen?: ((series: number, point: number) => void) | undefined;
}

/**
 * The chart of every screen: three ticks, dates below, the figures of a place when it is pointed at or reached with the
 * arrow keys, what they are compared with as a pale line, dashes for what goes on. Everybody can have the same figures as a
 * table, and as CSV.
 */
export function Chart(props: ChartProps) {
  const { title, points, series, note, none } = props;
  const [as_table, setAsTable] = useState(false);
  const figures = series.flatMap((one) => [...one.figures, ...(one.compared ?? [])]);
  const is_empty = figures.every((one) => one === null || one.value === 0);
  const is_known = figures.every((one) => one === null || one.figure !== undefined);
  const csv = () => downloadCsv(title, csvOf(props));
  return (
    <figure className={css['figure']}>
      <figcaption>
        <h2>{title}</h2>
        <span className={css['tools']}>
          <Button kind="quiet" aria-pressed={as_table} onClick={() => setAsTable(!as_table)}>
            {as_table ? t.chart.asChart : t.chart.asTable}
          </Button>
          <Button kind="quiet" onClick={csv} disabled={!is_known}>
            {t.chart.csv}
          </Button>
        </span>
      </figcaption>
      {note}
      {as_table ? (
        <AsTable {...props} />
      ) : is_empty ? (
        <p className={css['none']}>{none}</p>
      ) : (
        <Plot {...props} />
      )}
      {as_table || points.length === 0 ? null : <Legend {...props} />}
    </figure>
  );
}

interface TableColumn {
  name: string;
  series: number;
  is_compared: boolean;
  figures: readonly (Figure | null)[];
}

function columnsOf({ series }: ChartProps): TableColumn[] {
  return series.flatMap(({ name, column = name, figures, compared }, number) => [
    { name: column, series: number, is_compared: false, figures },
    ...(compared === undefined
      ? []
      : [{ name: t.chart.before(column), series: number, is_compared: true, figures: compared }]),
  ]);
}

function csvOf(props: ChartProps): string[][] {
  const columns = columnsOf(props);
  return [
    [props.head ?? t.chart.when, ...columns.map(({ name }) => name)],
    ...props.points.map(({ key }, i) => [key, ...columns.map(({ figures }) => figures[i]?.figure ?? '')]),
  ];
}

function AsTable(props: ChartProps) {
  const { title, head = t.chart.when, points, onOpen } = props;
  const columns = columnsOf(props);
  return (
    <div className={css['table']} tabIndex={0} role="group" aria-label={title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {columns.map(({ name }, j) => (
              <th key={j} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.map(({ key, label, is_complete = true }, i) => (
            <tr key={key}>
              <th scope="row">{is_complete ? label : t.chart.goesOn(label)}</th>
              {columns.map(({ name, series, is_compared, figures }, j) => (
                <td key={j}>
                  <Opening
                    text={figures[i]?.text ?? '—'}
                    name={t.chart.open(name, label, figures[i]?.text ?? '')}
                    onOpen={
                      onOpen === undefined || is_compared || (figures[i]?.value ?? 0) === 0
                        ? undefined
                        : () => onOpen(series, i)
                    }
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A figure of a table, as a button where something is behind it. */
export function Opening({
  text,
  name,
  onOpen,
}: {
  text: string;
  /** What is opened. */
  name: string;
  onOpen: (() => void) | undefined;
}) {
  if (onOpen === undefined) return text;
  return (
    <button type="button" className={css['open']} title={name} onClick={onOpen}>
      {text}
    </button>
  );
}

function Legend({ series, points }: ChartProps) {
  const is_compared = series.some(({ compared }) => compared !== undefined);
  const goes_on = points.some(({ is_complete = true }) => !is_complete);
  if (series.length < 2 && !is_compared && !goes_on) return null;
  return (
    <ul className={css['legend']}>
      {series.length < 2
        ? null
        : series.map(({ name }, i) => (
            <li key={i}>
              <span className={css['swatch']} data-series={i} />
              {name}
            </li>
          ))}
      {is_compared ? (
        <li>
          <span className={`${css['swatch']} ${css['pale']}`} />
          {t.chart.compared}
        </li>
      ) : null}
      {goes_on ? (
        <li>
          <span className={`${css['swatch']} ${css['dashed']}`} />
          {t.chart.unfinished}
        </li>
      ) : null}
    </ul>
  );
}
