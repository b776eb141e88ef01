import { useNavigate, getRouteApi } from '@tanstack/react-router';
import { oneOf } from '../../api/choices.ts';
import { changeOf, formatPercent } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Chart, Opening, type ChartSeries, type Figure } from '../../ui/chart.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Filter } from '../../ui/filter.tsx';
import { Table } from '../../ui/table.tsx';
import {
  figureOf,
  formOf,
  groupName,
  MOST_LINES,
  placeOf,
  pointsOf,
  textOf,
  tickOf,
  unitOf,
  type Unit,
  type Writer,
} from './figures.ts';
import css from './insights.module.css';
import type { Answer, Row, TrendCell, TrendQuery } from './query.ts';

const m = t.insights;
const route = getRouteApi('/insights');

export interface TrendProps {
  query: TrendQuery;
  answer: Answer;
  writer: Writer;
  /** Shows the players behind a figure. */
  onOpen: (cell: TrendCell) => void;
}

/** A series of the answer: its columns, and how its values are written. */
interface Shown {
  name: string;
  label: string;
  place: number;
  /** Of the range that is compared with; -1: none. */
  compared: number;
  unit: Unit;
  /** The number of the series whose players can be asked for. */
  opens: number | undefined;
}

function shownOf(answer: Answer, query: TrendQuery): Shown[] {
  const { columns } = answer;
  return columns.flatMap((column, place) => {
    const { name, label, type, series, is_compared } = column;
    if (is_compared || !['money', 'count', 'number', 'rate'].includes(type)) return [];
    const asked = series === null ? undefined : query.series[series];
    const has_players =
      asked !== undefined &&
      ('metric' in asked
        ? type !== 'rate' && asked.metric !== 'deductions'
        : ['count', 'players', 'sum'].includes(asked.aggregate ?? 'count'));
    return [
      {
        name,
        label,
        place,
        compared: placeOf(answer, `${name}.compared`),
        unit: unitOf(column, query, columns),
        opens: has_players ? (series ?? undefined) : undefined,
      },
    ];
  });
}

/** Series over time: their totals, charts, and the totals of groups. */
export function Trend(props: TrendProps) {
  const { answer, query, writer, onOpen } = props;
  const shown = shownOf(answer, query);
  const is_grouped = answer.other !== null;
  return (
    <>
      <Totals shown={shown} answer={answer} writer={writer} onOpen={onOpen} />
      {is_grouped ? <Groups {...props} shown={shown} /> : <Over {...props} shown={shown} />}
      {is_grouped ? <ByGroup {...props} shown={shown} /> : null}
    </>
  );
}

type PartProps = TrendProps & { shown: readonly Shown[] };

function Totals({ shown, answer, writer, onOpen }: Omit<PartProps, 'query'>) {
  const [row = []] = answer.totals;
  const is_over = row[placeOf(answer, 'is_complete')] === true;
  return (
    <Facts
      label={m.totals}
      large
      facts={shown.map((one) => {
        const { label, place, compared, unit, opens } = one;
        const now = figureOf(row[place], unit, writer);
        const before = compared < 0 ? undefined : figureOf(row[compared], unit, writer);
        const open =
          opens === undefined || (now?.value ?? 0) === 0 ? undefined : () => onOpen({ series: opens });
        return [
          label,
          <>
            <Opening text={now?.text ?? '—'} name={m.openTotal(label, now?.text ?? '')} onOpen={open} />
            {before === undefined ? null : <Change now={now} before={before} is_over={is_over} unit={unit} />}
          </>,
        ];
      })}
    />
  );
}

/** How a figure has changed; of a range that is not over only what there was before. */
function Change({
  now,
  before,
  is_over,
  unit,
}: {
  now: Figure | null;
  before: Figure | null;
  is_over: boolean;
  unit: Unit;
}) {
  const change = now === null || before === null ? undefined : changeOf(now.value, before.value);
  const points = unit === 'share' && now !== null && before !== null ? now.value - before.value : undefined;
  const sign = (points ?? change ?? 0) > 0 ? '+' : '';
  const by = points === undefined ? formatPercent(change ?? 0) : m.points((points * 100).toFixed(1));
  return (
    <small className={css['change']}>
      {is_over && change !== undefined ? `${sign}${by} · ` : ''}
      {m.before(before?.text ?? '—')}
    </small>
  );
}

/** Charts of series without groups, one of each unit. */
function Over({ answer, query, writer, shown, onOpen }: PartProps) {
  const { rows } = answer;
  const points = pointsOf(answer, query.interval ?? 'day', rows);
  const units = [...new Set(shown.map(({ unit }) => unit))];
  return units.map((unit) => {
    const of_unit = shown.filter((one) => one.unit === unit);
    return (
      <Chart
        key={unit}
        title={of_unit.map(({ label }) => label).join(', ')}
        as={formOf(of_unit.length, points.length, unit)}
        points={points}
        series={of_unit.map((one) => seriesOf(one, one.label, rows, writer))}
        tick={tickOf(unit, writer)}
        is_whole={unit === 'money' || unit === 'count'}
        none={t.chart.none(of_unit.map(({ label }) => label).join(', '))}
        onOpen={
          of_unit.some(({ opens }) => opens !== undefined)
            ? (series, point) => {
                const opens = of_unit[series]?.opens;
                if (opens !== undefined) onOpen({ series: opens, at: points[point]?.key });
              }
            : undefined
        }
      />
    );
  });
}

function seriesOf(
  { place, compared, unit }: Shown,
  name: string,
  rows: readonly Row[],
  writer: Writer,
): ChartSeries {
  const of = (at: number) => rows.map((row) => figureOf(row[at], unit, writer));
  return { name, figures: of(place), compared: compared < 0 ? undefined : of(compared) };
}

/** The groups with rows of their own, by their names in the answer. */
function groupsOf(answer: Answer): string[] {
  const place = placeOf(answer, 'group');
  return answer.totals.slice(1).map((row) => textOf(row, place) ?? '');
}

/** The chart of one series by group: over time, or of a single interval a bar for each group. */
function Groups({ answer, query, writer, shown, onOpen }: PartProps) {
  const { shown: wanted } = route.useSearch();
  const navigate = useNavigate({ from: '/insights' });
  const name = oneOf(
    shown.map((one) => one.name),
    wanted,
  );
  const one = shown.find((each) => each.name === name) ?? shown[0];
  if (one === undefined) return null;
  const by = query.breakdown?.by ?? '';
  const groups = groupsOf(answer);
  const at = placeOf(answer, 'group');
  const of_group = groups.map((group) => answer.rows.filter((row) => (textOf(row, at) ?? '') === group));
  const points = pointsOf(answer, query.interval ?? 'day', of_group[0] ?? []);
  const is_single = points.length <= 1;
  const open = (group: string | undefined, point: string | undefined) => {
    if (one.opens !== undefined && group !== undefined) onOpen({ series: one.opens, group, at: point });
  };
  const common = {
    title: one.label,
    tick: tickOf(one.unit, writer),
    is_whole: one.unit === 'money' || one.unit === 'count',
    none: t.chart.none(one.label),
  };
  return (
    <>
      {shown.length < 2 ? null : (
        <search>
          <Filter
            label={m.chartShows}
            any={shown[0]?.label ?? ''}
            value={one === shown[0] ? undefined : one.name}
            options={shown.slice(1).map((each) => ({ value: each.name, name: each.label }))}
            onChange={(value) => void navigate({ search: (before) => ({ ...before, shown: value }) })}
          />
        </search>
      )}
      {is_single ? (
        <Chart
          {...common}
          as="bars"
          head={m.group}
          points={groups.map((group) => ({ key: group, label: groupName(group, by) }))}
          series={[
            seriesOf(
              one,
              one.label,
              of_group.flatMap(([row]) => (row === undefined ? [] : [row])),
              writer,
            ),
          ]}
          onOpen={one.opens === undefined ? undefined : (_, point) => open(groups[point], undefined)}
        />
      ) : (
        <Chart
          {...common}
          as="lines"
          note={groups.length > MOST_LINES ? <p className={css['soft']}>{m.mostLines(MOST_LINES)}</p> : null}
          points={points}
          series={groups.slice(0, MOST_LINES).map((group, i) => ({
            ...seriesOf({ ...one, compared: -1 }, groupName(group, by), of_group[i] ?? [], writer),
          }))}
          onOpen={
            one.opens === undefined ? undefined : (series, point) => open(groups[series], points[point]?.key)
          }
        />
      )}
    </>
  );
}

/** The totals of the groups, of the rest, and of all. */
function ByGroup({ answer, query, writer, shown, onOpen }: PartProps) {
  const by = query.breakdown?.by ?? '';
  const groups = groupsOf(answer);
  const [all, ...of_groups] = answer.totals;
  const cellsOf = (row: Row | undefined, name: string, where: Omit<TrendCell, 'series'>) =>
    shown.flatMap(({ label, place, compared, unit, opens }) => {
      const now = figureOf(row?.[place], unit, writer);
      const text = now?.text ?? '—';
      const open =
        opens === undefined || (now?.value ?? 0) === 0
          ? undefined
          : () => onOpen({ ...where, series: opens });
      const before = compared < 0 ? [] : [figureOf(row?.[compared], unit, writer)?.text ?? '—'];
      return [
        <Opening key="now" text={text} name={t.chart.open(label, name, text)} onOpen={open} />,
        ...before,
      ];
    });
  const rows = [
    ...groups.map((group, i) => {
      const name = groupName(group, by);
      return { key: `group ${group}`, cells: [name, ...cellsOf(of_groups[i], name, { group })] };
    }),
    // The last one is over the whole range.
    { key: 'rest', cells: [m.rest, ...cellsOf(answer.other?.at(-1), m.rest, { not_in: groups })] },
    { key: 'all', cells: [m.all, ...cellsOf(all, m.all, {})] },
  ];
  const head = shown.flatMap(({ label, compared }) =>
    compared < 0 ? [label] : [label, t.chart.before(label)],
  );
  return (
    <section className={css['part']} aria-label={m.byGroup}>
      <h2>{m.byGroup}</h2>
      <Table label={m.byGroup} head={[m.group, ...head]} rows={rows} />
    </section>
  );
}
