import { useWholeList } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Chart, Opening } from '../../ui/chart.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Table } from '../../ui/table.tsx';
import { figureOf, placeOf, textOf, tickOf, type Writer } from './figures.ts';
import css from './insights.module.css';
import type { Answer, BonusesCell, BonusesQuery, Row } from './query.ts';

const m = t.insights.bonuses;
/** The figure that the chart shows: what bonuses cost. */
const CHARTED = 'bonus_released';
const MOST_BARS = 12;

interface BonusesProps {
  query: BonusesQuery;
  answer: Answer;
  writer: Writer;
  onOpen: (cell: BonusesCell) => void;
}

/** The names of bonus templates, or of campaigns, by their ids. */
function useNames(by: 'template' | 'campaign'): ReadonlyMap<string, string> {
  const templates = useWholeList('bonusTemplates.list', [], by === 'template');
  const campaigns = useWholeList('bonusCampaigns.list', [], by === 'campaign');
  const rows: readonly { id: string; name: string }[] =
    (by === 'template' ? templates.rows : campaigns.rows) ?? [];
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** What bonuses came to, by template or campaign. */
export function Bonuses({ query: { by = 'template' }, answer, writer, onOpen }: BonusesProps) {
  const names = useNames(by);
  const columns = answer.columns.flatMap(({ name, label, type }, place) =>
    type === 'text'
      ? []
      : [{ name, label, place, unit: type === 'money' ? ('money' as const) : ('count' as const) }],
  );
  const idOf = (row: Row) => textOf(row, placeOf(answer, by)) ?? '';
  const nameOf = (id: string) => (id === '' ? t.insights.unknownGroup : (names.get(id) ?? id));
  const cellsOf = (row: Row | undefined, name: string, where: Partial<BonusesCell> | undefined) =>
    columns.map((column) => {
      const figure = figureOf(row?.[column.place], column.unit, writer);
      const text = figure?.text ?? '—';
      const open =
        where === undefined || (figure?.value ?? 0) === 0
          ? undefined
          : () => onOpen({ ...where, figure: column.name });
      return (
        <Opening key={column.name} text={text} name={t.chart.open(column.label, name, text)} onOpen={open} />
      );
    });
  const shown = answer.rows.slice(0, MOST_BARS);
  const charted = columns.find(({ name }) => name === CHARTED);
  const all = cellsOf(answer.totals[0], t.insights.all, {});
  return (
    <>
      <Facts
        label={t.insights.totals}
        large
        facts={columns.map(({ label }, i) => [label, all[i]] as const)}
      />
      {charted === undefined ? null : (
        <Chart
          title={charted.label}
          as="bars"
          head={m.head[by]}
          points={shown.map((row) => ({ key: nameOf(idOf(row)), label: nameOf(idOf(row)) }))}
          series={[
            {
              name: charted.label,
              figures: shown.map((row) => figureOf(row[charted.place], charted.unit, writer)),
            },
          ]}
          tick={tickOf(charted.unit, writer)}
          none={t.chart.none(m.noun)}
          onOpen={(_, point) => onOpen({ figure: CHARTED, id: idOf(shown[point] ?? []) })}
        />
      )}
      <section className={css['part']} aria-label={m.title[by]}>
        <h2>{m.title[by]}</h2>
        <Table
          label={m.title[by]}
          head={[m.head[by], ...columns.map(({ label }) => label)]}
          rows={[
            ...answer.rows.map((row) => {
              const id = idOf(row);
              return { key: `id ${id}`, cells: [nameOf(id), ...cellsOf(row, nameOf(id), { id })] };
            }),
            {
              key: 'rest',
              cells: [t.insights.rest, ...cellsOf(answer.other?.[0], t.insights.rest, undefined)],
            },
          ]}
        />
      </section>
    </>
  );
}
