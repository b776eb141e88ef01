import { Bonuses } from './bonuses.tsx';
import { Distribution } from './distribution.tsx';
import type { Writer } from './figures.ts';
import { Funnel } from './funnel.tsx';
import { Lifecycle } from './lifecycle.tsx';
import type { Answer, InsightQuery } from './query.ts';
import { Retention } from './retention.tsx';
import { Trend } from './trend.tsx';

/** The figures of an answer, as its kind shows them; `onOpen` shows the players behind one. */
export function Figures({
  query,
  ...rest
}: {
  query: InsightQuery;
  answer: Answer;
  writer: Writer;
  onOpen: (cell: object) => void;
}) {
  switch (query.kind) {
    case 'trend':
      return <Trend query={query} {...rest} />;
    case 'funnel':
      return <Funnel query={query} {...rest} />;
    case 'retention':
      return <Retention query={query} {...rest} />;
    case 'lifecycle':
      return <Lifecycle query={query} {...rest} />;
    case 'distribution':
      return <Distribution query={query} {...rest} />;
    case 'bonuses':
      return <Bonuses query={query} {...rest} />;
  }
}
