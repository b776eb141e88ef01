import { ApiError } from '../../../errors.ts';
import type { EventName } from '../../../ingest/events/catalogue.ts';
import { isMoneyProperty } from '../../../segments/language/fields.ts';
import { MAX_WHERE } from '../../../segments/language/conditions.ts';
import { readDefinition } from '../../../segments/language/definition.ts';
import type { InsightScope, Steps } from '../kind.ts';
import { metricOf, termsOf } from '../metrics/dictionary.ts';
import { MEASURE_SQL, type Measure } from '../metrics/measure-queries.ts';
import type { InsightQuery, TrendCell, TrendQuery } from '../schema.ts';
import { playerColumnOf } from '../sql/groups.ts';
import { stepOfCell } from '../trend/trend.ts';

/** A condition or a group of the segment language, as callers write it. */
type Written = Readonly<Record<string, unknown>>;
type Where = readonly { property: string; op: string; value?: unknown }[];

/** 422: the segment language cannot say which players a cell has; `path`: what of the query or the cell is in the way. */
export function notASegment(path: string, message: string): ApiError {
  return new ApiError(
    'INSIGHT_NOT_A_SEGMENT',
    `${path}: ${message}; or save the players as they are now, with "as": "frozen"`,
    { details: { path } },
  );
}

/**
 * The definition of a segment that has exactly the players of a cell, as long as no further events come. Throws
 * INSIGHT_NOT_A_SEGMENT where the language cannot say it, and VALIDATION_ERROR where the cell is none of the query.
 */
export function liveDefinition(query: InsightQuery, scope: InsightScope, cell: unknown): Written {
  if (query.kind !== 'trend')
    throw notASegment('query.kind', `no definition says who the players of this kind are`);
  const definition = trendDefinition(query, scope, cell as TrendCell);
  try {
    readDefinition(definition);
  } catch (error) {
    // Groups of the filter, within that of the cell, are nested too deep, or have too many conditions.
    if (!(error instanceof ApiError && error.code === 'SEGMENT_DEFINITION_INVALID')) throw error;
    throw notASegment('query.filter', `the whole is no definition: ${error.message}`);
  }
  return definition;
}

const and = (conditions: readonly unknown[]): Written => ({ operator: 'AND', conditions });

function trendDefinition(query: TrendQuery, scope: InsightScope, cell: TrendCell): Written {
  const range = stepOfCell(cell, scope);
  return and([
    seriesCondition(query, scope, cell.series, range),
    ...groupConditions(query, cell),
    ...playerConditions(query),
  ]);
}

function playerConditions({ filter }: TrendQuery): unknown[] {
  const { segment_id, definition } = filter ?? {};
  return [
    ...(segment_id === undefined ? [] : [{ type: 'segment', segment_id, op: 'in' }]),
    ...(definition === undefined ? [] : [definition]),
  ];
}

/** The condition of having what a series adds up. */
function seriesCondition(
  { series, filter }: TrendQuery,
  { reporting }: InsightScope,
  number: number,
  range: Steps,
): Written {
  const asked = series[number];
  const path = `query.series.${number}`;
  if (asked === undefined) throw notASegment('cell.series', 'must be the number of a series');
  const common = filter?.where ?? [];
  if ('event' in asked) {
    const { event, aggregate, property, where = [] } = asked;
    const set = eventSet(event, range, [...where, ...common], common);
    if (aggregate === 'count' || aggregate === 'players') return atLeastOne(set);
    if (aggregate === 'sum') return { ...set, aggregate: 'sum', property, op: 'neq', value: 0 };
    throw notASegment(`${path}.aggregate`, 'no player has a part of it: ask for a count or a sum');
  }
  const metric = metricOf(asked.metric);
  const terms = 'terms' in metric ? Object.entries(termsOf(asked.metric, reporting.bonus_cost)) : [];
  const [first, ...others] = terms;
  if (first === undefined || others.length > 0)
    throw notASegment(`${path}.metric`, 'it is made of several figures, and the language compares one');
  return measureCondition(first[0] as Measure, range, common, `${path}.metric`);
}

/** Measures that the segment language adds up in the same way: sums of the amount that each event has. */
const SUMS: Partial<Record<Measure, EventName>> = {
  deposits: 'deposit_confirmed',
  withdrawals: 'withdrawal_confirmed',
};

function measureCondition(measure: Measure, range: Steps, common: Where, path: string): Written {
  const { source, events, adds } = MEASURE_SQL[measure];
  const within = { op: 'between', value: [timeAt(range.from_ms), timeAt(range.to_ms - 1)] };
  if (source === 'players') return { type: 'trait', field: 'created_at', ...within };
  if (source === 'first_deposits')
    return { type: 'event', event: 'deposit_confirmed', aggregate: 'first_seen', ...within };
  const summed = SUMS[measure];
  if (summed !== undefined) {
    const set = eventSet(summed, range, common, common);
    return { ...set, aggregate: 'sum', property: 'amount', op: 'neq', value: 0 };
  }
  if (source !== 'events' || events === undefined || (adds !== undefined && adds !== '1'))
    throw notASegment(path, 'the language has no condition on what it adds up');
  const conditions = events.map((event) => atLeastOne(eventSet(event, range, common, common)));
  const [only, ...others] = conditions;
  return only !== undefined && others.length === 0 ? only : { operator: 'OR', conditions };
}

const timeAt = (at_ms: number) => new Date(at_ms).toISOString();

/** `common`: clauses of the filter, which mean events of all names. */
function eventSet(event: string, { from_ms, to_ms }: Steps, where: Where, common: Where): Written {
  if (common.some(({ property }) => isMoneyProperty(property, event)))
    throw notASegment('query.filter.where', 'there it compares what was sent, and a segment compares money');
  if (where.length > MAX_WHERE)
    throw notASegment('query.filter.where', `events of a segment have at most ${MAX_WHERE} clauses`);
  const window = { from: timeAt(from_ms), to: timeAt(to_ms) };
  return { type: 'event', event, window, ...(where.length === 0 ? {} : { where }) };
}

function atLeastOne(set: Written): Written {
  return { ...set, aggregate: 'count', op: 'gte', value: 1 };
}

/** The conditions of belonging to the group of the cell, or to none of those that it names. */
function groupConditions({ breakdown }: TrendQuery, { group, not_in }: TrendCell): Written[] {
  if (breakdown === undefined || (group === undefined && not_in === undefined)) return [];
  const field = playerColumnOf(breakdown.by);
  if (field === undefined)
    throw notASegment(
      'query.breakdown',
      'no definition says of which group an event is: a series with a `where` on the property does',
    );
  const isField = (op: string, value?: unknown): Written => ({
    type: 'trait',
    field,
    op,
    ...(value === undefined ? {} : { value }),
  });
  if (group !== undefined) return [group === '' ? isField('not_exists') : isField('eq', group)];
  const named = (not_in ?? []).filter((one) => one !== '');
  return [
    ...(named.length === 0 ? [] : [isField('nin', named)]),
    ...(not_in?.includes('') === true ? [isField('exists')] : []),
  ];
}
