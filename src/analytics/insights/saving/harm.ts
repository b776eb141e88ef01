import { ApiError } from '../../../errors.ts';
import { readDefinition } from '../../../segments/language/definition.ts';
import { harmWarnings, type HarmWarning } from '../../../segments/language/harm.ts';
import { termsOf, type BonusCostSource, type MetricName } from '../metrics/dictionary.ts';
import { MEASURE_SQL, type Measure, type MeasureSql } from '../metrics/measure-queries.ts';
import type {
  DistributionQuery,
  FunnelQuery,
  InsightQuery,
  RetentionQuery,
  TrendCell,
  TrendQuery,
} from '../schema.ts';
import type { FunnelCellRef } from '../kinds/cells.ts';
import { playerColumnOf } from '../sql/groups.ts';

/** What selects the players of a cell, as a condition of the segment language, and where it is written. */
type Selection = readonly [path: string, condition: unknown];
type Where = NonNullable<FunnelQuery['steps'][number]['where']>;

/**
 * The signs of gambling harm by which a cell selects its players, for a list of them, which has no conditions that say so.
 * Paths are those of the body, as `query.series.0`. Pure.
 */
export function harmOfCell(query: InsightQuery, cell: unknown, source: BonusCostSource): HarmWarning[] {
  return [...selections(query, cell, source)].flatMap(([path, condition]) => warningsOf(path, condition));
}

function warningsOf(path: string, condition: unknown): HarmWarning[] {
  const is_group = typeof condition === 'object' && condition !== null && 'operator' in condition;
  const written = is_group ? condition : { operator: 'AND', conditions: [condition] };
  const root = is_group ? 'definition' : 'definition.conditions.0';
  try {
    return harmWarnings(readDefinition(written)).map((one) => ({
      ...one,
      path: path + one.path.slice(root.length),
    }));
  } catch (error) {
    // The language has no condition on such a property: then it knows no sign in it either.
    if (error instanceof ApiError && error.code === 'SEGMENT_DEFINITION_INVALID') return [];
    throw error;
  }
}

function* selections(query: InsightQuery, cell: unknown, source: BonusCostSource): Generator<Selection> {
  const { filter } = query;
  switch (query.kind) {
    case 'trend':
      yield* ofTrend(query, cell as TrendCell, source);
      break;
    case 'funnel':
      yield* ofFunnel(query, cell as FunnelCellRef);
      break;
    case 'retention':
      yield* ofRetention(query);
      break;
    case 'distribution':
      yield* ofDistribution(query);
      break;
    case 'lifecycle':
    case 'bonuses':
      break;
  }
  if (filter?.definition !== undefined) yield ['query.filter.definition', filter.definition];
}

/** Having what the language compares as this field: revenue of an operator is the loss of a player. */
const REVENUE = { type: 'trait', field: 'ggr', op: 'gt', value: 0 };
const REVENUES = ['ggr', 'ngr', 'ngr_before_deductions'];

function having(event: string, where: Where): unknown {
  return {
    type: 'event',
    event,
    aggregate: 'count',
    op: 'gte',
    value: 1,
    ...(where.length === 0 ? {} : { where }),
  };
}

function* ofTrend(query: TrendQuery, cell: TrendCell, source: BonusCostSource): Generator<Selection> {
  const { breakdown, filter } = query;
  const { group } = cell;
  const path = `query.series.${cell.series}`;
  const asked = query.series[cell.series];
  const common = [...(filter?.where ?? []), ...groupClause(breakdown, group)];
  if (asked !== undefined && 'event' in asked)
    yield [path, having(asked.event, [...(asked.where ?? []), ...common])];
  else if (asked !== undefined && REVENUES.includes(asked.metric)) yield [path, REVENUE];
  else if (asked !== undefined) {
    const event = onlyEventOf(asked.metric, source);
    if (event !== undefined) yield [path, having(event, common)];
  }
  if (breakdown === undefined || group === undefined) return;
  const field = playerColumnOf(breakdown.by);
  if (field !== undefined) yield ['cell.group', { type: 'trait', field, op: 'eq', value: group }];
  if (breakdown.by === 'event') yield ['cell.group', having(group, filter?.where ?? [])];
}

function groupClause(breakdown: TrendQuery['breakdown'], group: string | undefined): Where {
  if (breakdown?.property === undefined || group === undefined) return [];
  return [{ property: breakdown.property, op: 'eq', value: group }];
}

/** The name of the events that a metric adds up; undefined: there is more than one. */
function onlyEventOf(name: MetricName, source: BonusCostSource): string | undefined {
  const measures = Object.keys(termsOf(name, source)) as Measure[];
  const events = measures.flatMap((one) => {
    const measure: MeasureSql = MEASURE_SQL[one];
    return measure.events ?? ['', ''];
  });
  return events.length === 1 ? events[0] : undefined;
}

function* ofFunnel({ steps, filter }: FunnelQuery, { step }: FunnelCellRef): Generator<Selection> {
  for (const [i, { event, where = [] }] of steps.slice(0, step).entries())
    yield [`query.steps.${i}`, having(event, [...where, ...(filter?.where ?? [])])];
}

function* ofRetention({ cohort, returns }: RetentionQuery): Generator<Selection> {
  if (typeof cohort === 'object') yield ['query.cohort', having(cohort.event, cohort.where ?? [])];
  if (typeof returns === 'object') yield ['query.returns', having(returns.event, returns.where ?? [])];
}

function* ofDistribution({ value }: DistributionQuery): Generator<Selection> {
  if (value === 'ggr' || value === 'ngr') yield ['query.value', REVENUE];
}
