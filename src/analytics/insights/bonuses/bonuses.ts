import { Bindings } from '../../../segments/sql/bindings.ts';
import {
  columnOf,
  type Column,
  type Figures,
  type InsightKind,
  type InsightScope,
  type Plan,
  type Row,
  type Statement,
} from '../kind.ts';
import { MAX_BONUSES } from '../limits.ts';
import { metricOf } from '../metrics/dictionary.ts';
import { BONUS_FIGURES, type BonusesCell, type BonusesQuery } from '../schema.ts';
import { groupedSql, type GroupSql } from '../sql/groups.ts';
import { Parts, type Part } from '../trend/parts.ts';
import { namesOf, trendPlayersStatement, trendStatement, type TrendRow } from '../trend/trend-queries.ts';

/**
 * What bonuses came to over the range, by template or campaign: from the events that their grants have published. The largest
 * granted amounts come first; an empty id: of no campaign, or an event of the operator's own.
 */
export const BONUSES: InsightKind<BonusesQuery, BonusesCell> = { plan, players };

/** The property of the events that names the template or campaign. */
const groupOf = (by: BonusesQuery['by']): GroupSql => ({
  of_event: `JSONExtractString(properties, '${by}_id')`,
  // Of the operator's own bonuses the id is a text of theirs.
  shownOf: groupedSql,
});

function partsOf(): { parts: Parts; figures: readonly Part[] } {
  const parts = new Parts(new Bindings());
  return { parts, figures: BONUS_FIGURES.map((figure) => parts.measure(figure)) };
}

function plan({ by }: BonusesQuery, scope: InsightScope): Plan {
  const { parts, figures } = partsOf();
  const { steps } = scope;
  const whole = { ...scope, steps: { ...steps, starts_ms: [steps.from_ms] }, compared: undefined };
  const rank = [[parts.measure('bonus_granted'), 1n] as const];
  const grouping = { sql: groupOf(by), player_column: undefined, top: MAX_BONUSES, rank };
  return {
    statements: [trendStatement('events', parts.all, whole, grouping, {})],
    read: ([rows = []]) => figuresOf(by, figures, rows as readonly TrendRow[]),
    is_of_events_alone: scope.filter.owners === '',
    events: namesOf(parts.all),
  };
}

function figuresOf(by: BonusesQuery['by'], figures: readonly Part[], rows: readonly TrendRow[]): Figures {
  const whole = rows.filter(({ step }) => step === null);
  const cells = (id: string | null, row: TrendRow | undefined): Row => [
    id,
    ...figures.map(({ alias }) => BigInt(row?.[alias] ?? 0)),
  ];
  const groups = whole
    .filter(({ place }) => place !== null && Number(place) > 0)
    .toSorted((a, b) => Number(a.place) - Number(b.place));
  const rest = whole.find(({ place }) => place !== null && Number(place) === 0);
  const all = whole.find(({ place }) => place === null);
  return {
    columns: columnsOf(by),
    rows: groups.map((row) => cells(row.g, row)),
    totals: [cells(null, all)],
    other: [cells(null, rest)],
  };
}

function columnsOf(by: BonusesQuery['by']): Column[] {
  const label = by === 'template' ? 'Template' : 'Campaign';
  return [
    columnOf(by, label, 'text'),
    ...BONUS_FIGURES.map((name) => {
      const metric = metricOf(name);
      return columnOf(name, metric.label, metric.unit === 'money' ? 'money' : 'count');
    }),
  ];
}

function players({ by }: BonusesQuery, scope: InsightScope, { figure, id }: BonusesCell): Statement {
  const bindings = new Bindings();
  const part = new Parts(bindings).measure(figure);
  const condition = id === undefined ? '' : `= ${bindings.bind('String', id)}`;
  const grouping = { sql: groupOf(by), player_column: undefined };
  return trendPlayersStatement(
    'events',
    [part],
    scope,
    scope.steps,
    { grouping, condition },
    part.of_player,
    bindings.params,
  );
}
