import { validationError } from '../../../errors.ts';
import { Bindings } from '../../../segments/sql/bindings.ts';
import { spanMs } from '../../../segments/language/span.ts';
import {
  columnOf,
  type Column,
  type Figures,
  type InsightKind,
  type InsightScope,
  type Plan,
  type Row,
  type Statement,
  type Steps,
} from '../kind.ts';
import type { FunnelQuery } from '../schema.ts';
import { readWhere } from '../sql/filter.ts';
import { canGroupBy, groupSql } from '../sql/groups.ts';
import type { FunnelCellRef } from './cells.ts';
import type { Population } from './events-queries.ts';
import {
  countReached,
  labelsOfFirstEvents,
  labelsOfPlayers,
  listReached,
  type FunnelCell,
  type Labels,
  type Funnel,
  type ReachedRow,
} from './funnel-queries.ts';

/** The longest time from the first step to the last. */
const MAX_WITHIN_MS = 366 * 86_400_000;

/** How many players take each of up to ten steps, also by group, or compared with another range. */
export const FUNNEL: InsightKind<FunnelQuery, FunnelCellRef> = { plan, players };

function funnelOf({ steps, within }: FunnelQuery, { from_ms, to_ms }: Steps): Funnel {
  const within_ms = spanMs(within);
  if (within_ms > MAX_WITHIN_MS)
    throw validationError([{ path: 'within', message: 'must be at most 366 days' }]);
  const choices = steps.map(({ event, where }, i) => ({
    event,
    where: readWhere(event, where, `steps.${i}`),
  }));
  return { steps: choices, within_ms, from_ms, to_ms };
}

function labelsOf({ breakdown }: FunnelQuery, funnel: Funnel, population: Population): Labels | undefined {
  if (breakdown === undefined) return undefined;
  const { by, property, top } = breakdown;
  if (property !== undefined && !canGroupBy(property)) {
    const message = 'amounts are no groups: they differ from event to event';
    throw validationError([{ path: 'breakdown.by', message }]);
  }
  const label = groupSql(by, property, population.bindings);
  const sql =
    'of_player' in label
      ? labelsOfPlayers(label.of_player)
      : labelsOfFirstEvents(funnel, label.of_event, label.shownOf, population);
  return { sql, top };
}

function plan(query: FunnelQuery, { filter, steps, compared, now_ms }: InsightScope): Plan {
  if (compared !== undefined && query.breakdown !== undefined)
    throw validationError([{ path: 'compare', message: 'is not possible for a funnel with a breakdown' }]);
  const statements = [steps, compared].flatMap((range) => {
    if (range === undefined) return [];
    const funnel = funnelOf(query, range);
    const population = { bindings: new Bindings(), filter };
    return [countReached(funnel, population, labelsOf(query, funnel, population))];
  });
  const is_complete = steps.to_ms + spanMs(query.within) <= now_ms;
  return {
    statements,
    read: (answers) =>
      figuresOf(query, answers as unknown as readonly (readonly ReachedRow[])[], is_complete),
    is_of_events_alone: false,
  };
}

/** How many players took at least each step. */
function takenBy(rows: readonly ReachedRow[], { steps }: FunnelQuery): bigint[] {
  return steps.map((_, i) =>
    rows.reduce((sum, { reached, players }) => (reached > i ? sum + BigInt(players) : sum), 0n),
  );
}

function figuresOf(
  query: FunnelQuery,
  [now = [], before]: readonly (readonly ReachedRow[])[],
  is_complete: boolean,
): Figures {
  const is_grouped = query.breakdown !== undefined;
  const rowsOf = (of_group: readonly ReachedRow[], group: string | null): Row[] => {
    const taken = takenBy(of_group, query);
    const compared = before === undefined ? undefined : takenBy(before, query);
    return query.steps.map(({ event }, i) => [
      ...(is_grouped ? [group] : []),
      i + 1,
      event,
      is_complete,
      ...figuresAt(taken, i),
      ...(compared === undefined ? [] : figuresAt(compared, i)),
    ]);
  };
  const own = now.filter(({ is_other }) => is_other === 0);
  const labels = [...new Set(own.map(({ label }) => label))];
  const size = (label: string) =>
    own.reduce((sum, row) => (row.label === label ? sum + Number(row.players) : sum), 0);
  labels.sort((a, b) => size(b) - size(a) || (a < b ? -1 : 1));
  return {
    columns: columnsOf(is_grouped, before !== undefined),
    rows: is_grouped
      ? labels.flatMap((label) =>
          rowsOf(
            own.filter((row) => row.label === label),
            label,
          ),
        )
      : rowsOf(now, null),
    totals: is_grouped ? rowsOf(now, null) : [],
    other: is_grouped
      ? rowsOf(
          now.filter(({ is_other }) => is_other === 1),
          null,
        )
      : null,
  };
}

function figuresAt(taken: readonly bigint[], i: number): Row {
  const numerator = taken[i] ?? 0n;
  return [
    numerator,
    { numerator, denominator: taken[0] ?? 0n },
    { numerator, denominator: taken[Math.max(0, i - 1)] ?? 0n },
  ];
}

function columnsOf(is_grouped: boolean, is_compared: boolean): Column[] {
  const figures = (is_compared: boolean) => [
    columnOf('players', 'Players', 'count', is_compared),
    columnOf('of_first', 'Of the first step', 'rate', is_compared),
    columnOf('of_previous', 'Of the step before', 'rate', is_compared),
  ];
  return [
    ...(is_grouped ? [columnOf('group', 'Group', 'text')] : []),
    columnOf('step', 'Step', 'number'),
    columnOf('event', 'Event', 'text'),
    columnOf('is_complete', 'Complete', 'bool'),
    ...figures(false),
    ...(is_compared ? figures(true) : []),
  ];
}

function players(query: FunnelQuery, { filter, steps }: InsightScope, cell: FunnelCellRef): Statement {
  const { step, is, group, not_in } = cell;
  if (step > query.steps.length)
    throw validationError([{ path: 'cell.step', message: 'must be the number of a step' }]);
  const funnel = funnelOf(query, steps);
  const population = { bindings: new Bindings(), filter };
  const labels = labelsOf(query, funnel, population);
  if (group === undefined && not_in === undefined) return listReached(funnel, { step, is }, population);
  if (labels === undefined || (group !== undefined && not_in !== undefined)) {
    const message = 'a group, or the groups that are not meant, belong to a query with a breakdown';
    throw validationError([{ path: 'cell.group', message }]);
  }
  const of: FunnelCell['of'] = group === undefined ? { labels, not_in: not_in ?? [] } : { labels, group };
  return listReached(funnel, { step, is, of }, population);
}
