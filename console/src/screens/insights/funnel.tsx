import { formatInt, formatShort } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Chart, Opening } from '../../ui/chart.tsx';
import { Table } from '../../ui/table.tsx';
import { figureOf, groupName, placeOf, textOf, type Writer } from './figures.ts';
import css from './insights.module.css';
import type { Answer, FunnelCell, FunnelQuery, Row } from './query.ts';

const m = t.insights.funnel;

interface FunnelProps {
  query: FunnelQuery;
  answer: Answer;
  writer: Writer;
  onOpen: (cell: FunnelCell) => void;
}

/** How many players took each step, and how many went no further. */
export function Funnel({ query, answer, writer, onOpen }: FunnelProps) {
  const is_grouped = answer.other !== null;
  const steps = is_grouped ? answer.totals : answer.rows;
  const place = (name: string) => placeOf(answer, name);
  const [players, compared] = [place('players'), place('players.compared')];
  const count = (row: Row | undefined, at: number) => figureOf(row?.[at], 'count', writer);
  const names = query.steps.map(({ event }, i) => m.step(i + 1, event));
  const is_over = steps[0]?.[place('is_complete')] === true;
  const share = (row: Row, name: string) => figureOf(row[place(name)], 'share', writer)?.text ?? '—';
  return (
    <>
      <Chart
        title={m.title}
        as="bars"
        head={m.head}
        points={names.map((name, i) => ({ key: name, label: name, short: query.steps[i]?.event }))}
        series={[
          {
            name: m.players,
            figures: steps.map((row) => count(row, players)),
            compared: compared < 0 ? undefined : steps.map((row) => count(row, compared)),
          },
        ]}
        tick={formatShort}
        none={m.none}
        note={is_over ? null : <p className={css['soft']}>{m.goesOn}</p>}
        onOpen={(_, point) => onOpen({ step: point + 1, is: 'reached' })}
      />
      <section className={css['part']} aria-label={m.steps}>
        <h2>{m.steps}</h2>
        <Table
          label={m.steps}
          head={[m.head, m.players, m.ofFirst, m.ofBefore, m.dropped]}
          rows={steps.map((row, i) => {
            const name = names[i] ?? '';
            const [taken, next] = [count(row, players), count(steps[i + 1], players)];
            const lost = (taken?.value ?? 0) - (next?.value ?? 0);
            return {
              key: name,
              cells: [
                name,
                <Opening
                  key="players"
                  text={taken?.text ?? '—'}
                  name={m.open(name)}
                  onOpen={
                    (taken?.value ?? 0) === 0 ? undefined : () => onOpen({ step: i + 1, is: 'reached' })
                  }
                />,
                share(row, 'of_first'),
                i === 0 ? '—' : share(row, 'of_previous'),
                next === null ? (
                  '—'
                ) : (
                  <Opening
                    key="dropped"
                    text={formatInt(lost)}
                    name={m.openDropped(name)}
                    onOpen={lost === 0 ? undefined : () => onOpen({ step: i + 1, is: 'dropped' })}
                  />
                ),
              ],
            };
          })}
        />
      </section>
      {is_grouped ? <ByGroup query={query} answer={answer} writer={writer} onOpen={onOpen} /> : null}
    </>
  );
}

/** The steps of each group next to each other. */
function ByGroup({ query, answer, writer, onOpen }: FunnelProps) {
  const by = query.breakdown?.by ?? '';
  const [at, players, of_first] = [
    placeOf(answer, 'group'),
    placeOf(answer, 'players'),
    placeOf(answer, 'of_first'),
  ];
  const count = query.steps.length;
  const of_groups = Array.from({ length: answer.rows.length / count }, (_, i) =>
    answer.rows.slice(i * count, (i + 1) * count),
  );
  const groups = of_groups.map(([row]) => textOf(row, at) ?? '');
  const cellsOf = (rows: readonly Row[], name: string, where: Partial<FunnelCell>) =>
    rows.map((row, i) => {
      const taken = figureOf(row[players], 'count', writer);
      const text = m.withShare(taken?.text ?? '—', figureOf(row[of_first], 'share', writer)?.text ?? '—');
      const open =
        (taken?.value ?? 0) === 0 ? undefined : () => onOpen({ ...where, step: i + 1, is: 'reached' });
      return <Opening key={i} text={text} name={m.open(`${name}, ${i + 1}`)} onOpen={open} />;
    });
  return (
    <section className={css['part']} aria-label={t.insights.byGroup}>
      <h2>{t.insights.byGroup}</h2>
      <Table
        label={t.insights.byGroup}
        head={[t.insights.group, ...query.steps.map(({ event }, i) => m.step(i + 1, event))]}
        rows={[
          ...of_groups.map((rows, i) => {
            const group = groups[i] ?? '';
            const name = groupName(group, by);
            return { key: `group ${group}`, cells: [name, ...cellsOf(rows, name, { group })] };
          }),
          {
            key: 'rest',
            cells: [t.insights.rest, ...cellsOf(answer.other ?? [], t.insights.rest, { not_in: groups })],
          },
        ]}
      />
    </section>
  );
}
