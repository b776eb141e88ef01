import { formatShort } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Chart, type Figure } from '../../ui/chart.tsx';
import { figureOf, placeOf, pointsOf, type Writer } from './figures.ts';
import { LIFECYCLE, type Answer, type LifecycleCell, type LifecycleQuery } from './query.ts';

const m = t.insights.lifecycle;

/** Who came, stayed, came back and went quiet in each interval; those who went quiet are below the line. */
export function Lifecycle({
  query,
  answer,
  writer,
  onOpen,
}: {
  query: LifecycleQuery;
  answer: Answer;
  writer: Writer;
  onOpen: (cell: LifecycleCell) => void;
}) {
  const points = pointsOf(answer, query.interval ?? 'day', answer.rows);
  const below = (one: Figure | null): Figure | null => (one === null ? null : { ...one, value: -one.value });
  return (
    <Chart
      title={m.title}
      as="stack"
      points={points}
      series={LIFECYCLE.map((state) => {
        const figures = answer.rows.map((row) => figureOf(row[placeOf(answer, state)], 'count', writer));
        return { name: m.states[state], figures: state === 'churned' ? figures.map(below) : figures };
      })}
      tick={(value) => formatShort(Math.abs(value))}
      none={m.none}
      onOpen={(series, point) => {
        const [state, at] = [LIFECYCLE[series], points[point]?.key];
        if (state !== undefined && at !== undefined) onOpen({ at, state });
      }}
    />
  );
}
