import { t } from '../../messages/t.ts';
import { groupName, labelOf, unitOf, type Unit } from './figures.ts';
import type {
  Answer,
  BonusesCell,
  DistributionCell,
  FunnelCell,
  InsightQuery,
  LifecycleCell,
  RetentionCell,
  TrendCell,
} from './query.ts';

const m = t.insights;

/** What a figure is, and in what the values of its players are written. */
export interface Meaning {
  name: string;
  unit: Unit;
}

/** What the figure is that a cell of the address means; the API judges whether there is such a figure. */
export function meaningOf(cell: object, query: InsightQuery, answer: Answer): Meaning {
  const { timezone } = answer;
  const interval = query.interval ?? 'day';
  const timeOf = (at: string | undefined) =>
    at === undefined || Number.isNaN(Date.parse(at)) ? [] : [labelOf(at, interval, timezone)];
  switch (query.kind) {
    case 'trend': {
      const { series = 0, at, group, not_in } = cell as Partial<TrendCell>;
      const column = answer.columns.find((one) => one.series === series && !one.is_compared);
      const of_group =
        group === undefined
          ? not_in === undefined
            ? []
            : [m.rest]
          : [groupName(group, query.breakdown?.by ?? '')];
      return {
        name: m.players.and([column?.label ?? '', ...of_group, ...timeOf(at)]),
        unit: column === undefined ? 'number' : unitOf(column, query, answer.columns),
      };
    }
    case 'funnel': {
      const { step = 1, is, group } = cell as Partial<FunnelCell>;
      const name = m.funnel.step(step, query.steps[step - 1]?.event ?? '');
      const of_group = group === undefined ? [] : [groupName(group, query.breakdown?.by ?? '')];
      return { name: m.players.and([m.players.ofStep(name, is === 'dropped'), ...of_group]), unit: 'count' };
    }
    case 'retention': {
      const { cohort, period, of } = cell as Partial<RetentionCell>;
      const [label = ''] = timeOf(cohort);
      const name =
        period === undefined
          ? m.players.wholeCohort(label)
          : m.players.ofCohort(label, m.retention.period(period, interval));
      return { name, unit: of === 'value' ? 'money' : 'count' };
    }
    case 'lifecycle': {
      const { at, state } = cell as Partial<LifecycleCell>;
      const name = state === undefined ? '' : m.lifecycle.states[state];
      return { name: m.players.and([name, ...timeOf(at)]), unit: 'count' };
    }
    case 'bonuses': {
      const { figure } = cell as Partial<BonusesCell>;
      const column = answer.columns.find(({ name }) => name === figure);
      return { name: column?.label ?? '', unit: column?.type === 'money' ? 'money' : 'count' };
    }
    case 'distribution': {
      const { first = 1, last = 1 } = cell as Partial<DistributionCell>;
      const is_count = query.value === 'bets' || query.value === 'active_days';
      const value = m.distribution.values[query.value];
      return {
        name: m.players.and([value, m.players.places(first, last)]),
        unit: is_count ? 'count' : 'money',
      };
    }
  }
}
