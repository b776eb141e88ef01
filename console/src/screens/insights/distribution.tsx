import { t } from '../../messages/t.ts';
import { Chart, Opening } from '../../ui/chart.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Table } from '../../ui/table.tsx';
import { figureOf, placeOf, textOf, tickOf, type Unit, type Writer } from './figures.ts';
import css from './insights.module.css';
import type { Answer, DistributionCell, DistributionQuery, Row } from './query.ts';

const m = t.insights.distribution;

interface DistributionProps {
  query: DistributionQuery;
  answer: Answer;
  writer: Writer;
  onOpen: (cell: DistributionCell) => void;
}

/** What players come to, by parts of them, and what hangs on the top 1 %. */
export function Distribution({ query, answer, writer, onOpen }: DistributionProps) {
  const place = (name: string) => placeOf(answer, name);
  const unit: Unit = query.value === 'bets' || query.value === 'active_days' ? 'count' : 'money';
  const of = (row: Row | undefined, name: string, as: Unit) => figureOf(row?.[place(name)], as, writer);
  const { rows, totals } = answer;
  const nameOf = (row: Row) => m.part(textOf(row, place('part')) ?? '', rows.length);
  const openOf = (row: Row | undefined) => {
    const [first, last] = [of(row, 'first', 'count')?.value, of(row, 'last', 'count')?.value];
    return first === undefined || last === undefined ? undefined : () => onOpen({ first, last });
  };
  const [all, top] = totals;
  const quantiles = totals.slice(2);
  const counted = (row: Row | undefined, name: string) => {
    const text = of(row, 'players', 'count')?.text ?? '—';
    return <Opening key="players" text={text} name={m.open(name)} onOpen={openOf(row)} />;
  };
  return (
    <>
      <Facts
        label={t.insights.totals}
        large
        facts={[
          [m.players, counted(all, m.all)],
          [m.values[query.value], of(all, 'value', unit)?.text ?? '—'],
          [m.top, counted(top, m.top)],
          [m.ofTop(m.values[query.value]), of(top, 'value', unit)?.text ?? '—'],
          [m.shareOfTop, of(top, 'share', 'share')?.text ?? '—'],
        ]}
      />
      <Chart
        title={m.byPart(m.values[query.value])}
        as="bars"
        head={m.head}
        points={rows.map((row, i) => ({ key: nameOf(row), label: nameOf(row), short: String(i + 1) }))}
        series={[{ name: m.values[query.value], figures: rows.map((row) => of(row, 'value', unit)) }]}
        tick={tickOf(unit, writer)}
        none={t.chart.none(m.values[query.value])}
        onOpen={(_, point) => openOf(rows[point])?.()}
      />
      <section className={css['part']} aria-label={m.parts}>
        <h2>{m.parts}</h2>
        <Table
          label={m.parts}
          head={[m.head, m.from, m.to, m.players, m.values[query.value], m.share]}
          rows={rows.toReversed().map((row) => ({
            key: nameOf(row),
            cells: [
              nameOf(row),
              of(row, 'from', unit)?.text ?? '—',
              of(row, 'to', unit)?.text ?? '—',
              counted(row, nameOf(row)),
              of(row, 'value', unit)?.text ?? '—',
              of(row, 'share', 'share')?.text ?? '—',
            ],
          }))}
        />
      </section>
      <Facts
        label={m.quantiles}
        facts={quantiles.map((row) => [
          m.quantile(textOf(row, place('part')) ?? ''),
          of(row, 'from', unit)?.text ?? '—',
        ])}
      />
    </>
  );
}
