import { useNavigate, getRouteApi } from '@tanstack/react-router';
import { oneOf } from '../../api/choices.ts';
import { t } from '../../messages/t.ts';
import { Filter } from '../../ui/filter.tsx';
import { Heat, type HeatCell, type HeatRow } from '../../ui/heat.tsx';
import { Empty } from '../../ui/states.tsx';
import { figureOf, labelOf, placeOf, textOf, type Unit, type Writer } from './figures.ts';
import type { Answer, RetentionCell, RetentionQuery, Row } from './query.ts';

const m = t.insights.retention;
const route = getRouteApi('/insights');

interface RetentionProps {
  query: RetentionQuery;
  answer: Answer;
  writer: Writer;
  onOpen: (cell: RetentionCell) => void;
}

/** What cells show, by the columns of the answer. */
const SHOWS = { retention: 'share', players: 'count', value: 'money' } as const satisfies Record<
  string,
  Unit
>;
const NAMES = ['retention', 'players', 'value'] as const;

/** Cohorts and what became of them: a row for each, a column for each interval after. */
export function Retention({ query, answer, writer, onOpen }: RetentionProps) {
  const { shown } = route.useSearch();
  const navigate = useNavigate({ from: '/insights' });
  const place = (name: string) => placeOf(answer, name);
  const names = NAMES.filter((name) => place(name) >= 0);
  const name = oneOf(names, shown) ?? 'retention';
  const { interval = 'day', value } = query;
  const cohorts = Map.groupBy(answer.rows, (row) => textOf(row, place('cohort')) ?? '');
  const largest = Math.max(1, ...answer.rows.map((row) => Math.abs(valueOf(row) ?? 0)));
  function valueOf(row: Row): number | undefined {
    return figureOf(row[place(name)], SHOWS[name], writer)?.value;
  }
  const cellOf = (row: Row, open: RetentionCell | undefined): HeatCell | null => {
    const figure = figureOf(row[place(name)], SHOWS[name], writer);
    if (figure === null) return null;
    const has_players = figure.value !== 0 && open !== undefined;
    return {
      text: figure.text,
      figure: figure.figure ?? '',
      strength: Math.abs(figure.value) / (name === 'retention' ? 1 : largest),
      onOpen: has_players ? () => onOpen(open) : undefined,
    };
  };
  const rows: HeatRow[] = [...cohorts].map(([cohort, of_cohort]) => {
    const size = figureOf(of_cohort[0]?.[place('size')], 'count', writer);
    return {
      key: cohort,
      label: labelOf(cohort, interval, answer.timezone),
      cells: [
        {
          text: size?.text ?? '—',
          figure: size?.figure ?? '',
          strength: 0,
          onOpen: (size?.value ?? 0) === 0 ? undefined : () => onOpen({ cohort, of: 'players' }),
        },
        ...of_cohort.map((row, period) =>
          cellOf(row, { cohort, period, of: name === 'value' ? 'value' : 'players' }),
        ),
      ],
    };
  });
  const all: HeatRow = {
    key: 'all',
    label: m.all,
    cells: [null, ...answer.totals.map((row) => cellOf(row, undefined))],
  };
  const periods = rows[0]?.cells.slice(1).map((_, period) => m.period(period, interval)) ?? [];
  const is_empty = answer.rows.every(
    (row) => (figureOf(row[place('size')], 'count', writer)?.value ?? 0) === 0,
  );
  if (is_empty) return <Empty title={m.none} />;
  return (
    <>
      <search>
        <Filter
          label={m.shows}
          any={m.showing.retention}
          value={name === 'retention' ? undefined : name}
          options={names.slice(1).map((one) => ({ value: one, name: nameOf(one, value) }))}
          onChange={(next) => void navigate({ search: (before) => ({ ...before, shown: next }) })}
        />
      </search>
      <Heat
        title={m.title(nameOf(name, value))}
        head={[m.cohort, m.size, ...periods]}
        rows={[...rows, all]}
      />
    </>
  );
}

function nameOf(name: (typeof NAMES)[number], value: RetentionQuery['value']): string {
  return name === 'value' && value !== undefined ? m.values[value] : m.showing[name];
}
