import { z } from 'zod';
import { int64, nameSchemas, timestampWithOffset } from '../../http/field-schemas.ts';
import { eventNameSchema } from '../../ingest/event-name.ts';
import { clauseSchema, whereSchema } from '../../segments/language/conditions.ts';
import { spanSchema } from '../../segments/language/span.ts';
import { MAX_CUTS, MAX_DAYS, MAX_FUNNEL_STEPS, MAX_SERIES, MAX_TOP, MIN_FUNNEL_STEPS } from './limits.ts';
import { distributionCell, funnelCell, lifecycleCell, retentionCell } from './kinds/cells.ts';
import { METRIC_NAMES } from './metrics/dictionary.ts';

/** Of a series of events: what is computed over the events of an interval. */
export const AGGREGATES = ['count', 'players', 'sum', 'avg', 'min', 'max', 'distinct'] as const;
/** What a breakdown goes by. */
export const BREAKDOWNS = [
  'product',
  'item',
  'item_group',
  'payment_method',
  'event',
  'property',
  'tier',
  'currency',
  'kyc_status',
  'player_status',
] as const;
export const INTERVALS = ['hour', 'day', 'week', 'month'] as const;
export const COMPARISONS = ['previous', 'week', 'year'] as const;
export type Interval = (typeof INTERVALS)[number];
export type Comparison = (typeof COMPARISONS)[number];
export type Breakdown = (typeof BREAKDOWNS)[number];

const propertyName = z.string().min(1).max(200);
const event = { event: eventNameSchema, where: whereSchema.describe('Which of these events') };

/** The range of a query. */
export const rangeSchema = z
  .union([
    z.strictObject({
      from: timestampWithOffset.describe('Event times from the interval with this time on'),
      to: timestampWithOffset.describe('Event times to the end of the interval before or with this time'),
    }),
    z.strictObject({
      last: z.strictObject({
        days: z.int().min(1).max(MAX_DAYS).describe('Days of the reporting time zone, today included'),
      }),
    }),
  ])
  .describe(`At most ${MAX_DAYS} days`);

const filter = z
  .strictObject({
    segment_id: z.uuid().toLowerCase().describe('Members of this segment now').optional(),
    definition: z
      .record(z.string(), z.unknown())
      .describe('Players who match this definition of a segment now')
      .optional(),
    where: whereSchema.describe('Events that satisfy all of these clauses'),
  })
  .describe('Only these players and events');

const breakdown = z
  .strictObject({
    by: z.enum(BREAKDOWNS),
    property: propertyName.describe('For `property` alone: the name of a property of the events').optional(),
    top: z
      .int()
      .min(1)
      .max(MAX_TOP)
      .default(10)
      .describe('Groups with rows of their own; the rest is `other`'),
  })
  .refine(({ by, property }) => (by === 'property') === (property !== undefined), {
    path: ['property'],
    message: 'belongs to the breakdown by property, and is required there',
  });

/** What queries of all kinds have. */
const common = {
  range: rangeSchema,
  interval: z
    .enum(INTERVALS)
    .default('day')
    .describe('By local time in the reporting time zone; weeks begin on Monday'),
  filter: filter.optional(),
};
const grouped = {
  ...common,
  compare: z
    .enum(COMPARISONS)
    .describe('The same intervals right before, seven days earlier, or a year earlier')
    .optional(),
  breakdown: breakdown.optional(),
};

const metricName = z.enum(METRIC_NAMES);
const metricSeries = z.strictObject({ metric: metricName });
const eventSeries = z
  .strictObject({
    ...event,
    aggregate: z.enum(AGGREGATES).default('count').describe('`players`: each once in an interval'),
    property: propertyName
      .describe('What the aggregate is taken over; of `count` and `players` none')
      .optional(),
  })
  .refine(
    ({ aggregate, property }) => ['count', 'players'].includes(aggregate) === (property === undefined),
    {
      path: ['property'],
      message: 'is required for aggregates over a property, and must be omitted for others',
    },
  );

/** A series of a trend: a metric, or an aggregate of events. */
const seriesSchema = z.union([metricSeries, eventSeries]);

const seriesNumber = z
  .int()
  .min(0)
  .max(MAX_SERIES - 1);
const ratioSchema = z
  .tuple([seriesNumber, seriesNumber])
  .describe('A further column: the series of the first number divided by that of the second, from 0');

/** A query of the kind `trend`. */
export const trendQuery = z
  .strictObject({
    kind: z.literal('trend'),
    ...grouped,
    series: z.array(seriesSchema).min(1).max(MAX_SERIES),
    ratio: ratioSchema.optional(),
  })
  .refine(({ series, ratio }) => ratio?.every((n) => n < series.length) ?? true, {
    path: ['ratio'],
    message: 'must name two of the series',
  });
export type TrendQuery = z.infer<typeof trendQuery>;

const namedEvent = z.strictObject(event);

/** A query of the kind `funnel`. */
export const funnelQuery = z.strictObject({
  kind: z.literal('funnel'),
  ...grouped,
  steps: z.array(namedEvent).min(MIN_FUNNEL_STEPS).max(MAX_FUNNEL_STEPS),
  within: spanSchema.describe('From the first step; each step is strictly later than the one before'),
});
export type FunnelQuery = z.infer<typeof funnelQuery>;

/** A query of the kind `retention`. */
export const retentionQuery = z.strictObject({
  kind: z.literal('retention'),
  ...common,
  cohort: z
    .union([z.enum(['first_deposit', 'signup']), namedEvent])
    .describe('When a player enters a cohort: at the first such event'),
  returns: z.union([z.enum(['active', 'deposit', 'bet']), namedEvent]).describe('What counts as coming back'),
  value: z.enum(['deposits', 'ggr', 'ngr']).describe('Also the money of each cell').optional(),
  mode: z
    .enum(['calendar', 'rolling_24h'])
    .default('calendar')
    .describe('Whether intervals are those of the calendar, or begin when the player entered the cohort'),
});
export type RetentionQuery = z.infer<typeof retentionQuery>;

/** A query of the kind `lifecycle`. */
export const lifecycleQuery = z.strictObject({
  kind: z.literal('lifecycle'),
  ...common,
  quiet_days: z
    .int()
    .min(1)
    .max(365)
    .default(30)
    .describe('Returning: active in these days before the interval, too; churned: active in them, not in it'),
});
export type LifecycleQuery = z.infer<typeof lifecycleQuery>;

/** A query of the kind `distribution`. */
export const distributionQuery = z.strictObject({
  kind: z.literal('distribution'),
  ...common,
  value: z
    .enum(['deposits', 'wagered', 'ggr', 'ngr', 'bets', 'active_days'])
    .describe('Of each player; `ngr` is the metric `ngr_before_deductions`'),
  cuts: z
    .union([
      z.enum(['deciles', 'percentiles']),
      z.array(z.int()).min(1).max(MAX_CUTS).describe('Ascending values; money in the smallest unit'),
    ])
    .default('deciles'),
});
export type DistributionQuery = z.infer<typeof distributionQuery>;

/** A query of the kind `bonuses`. */
export const bonusesQuery = z.strictObject({
  kind: z.literal('bonuses'),
  ...common,
  by: z.enum(['template', 'campaign']).default('template'),
});
export type BonusesQuery = z.infer<typeof bonusesQuery>;

/** By kind, the schema of its queries. */
export const QUERY_SCHEMAS = {
  trend: trendQuery,
  funnel: funnelQuery,
  retention: retentionQuery,
  lifecycle: lifecycleQuery,
  distribution: distributionQuery,
  bonuses: bonusesQuery,
} as const;
export type KindName = keyof typeof QUERY_SCHEMAS;
export type QueryOf<K extends KindName> = z.infer<(typeof QUERY_SCHEMAS)[K]>;
/** A query of any kind. */
export type InsightQuery = { [K in KindName]: QueryOf<K> }[KindName];

const rate = z
  .object({ numerator: int64, denominator: int64 })
  .describe('A rate: never divided, so that it can be added up; a denominator of 0 has no rate');
const cell = z.union([int64, z.number(), z.string(), z.boolean(), rate]).nullable();
const row = z.array(cell).describe('A value for each column');

/** The answer of `POST /v1/insights/query`. */
export const insightAnswer = z.object({
  kind: z.enum(Object.keys(QUERY_SCHEMAS) as [KindName, ...KindName[]]),
  currency: z.string().describe('Money is in its smallest unit'),
  timezone: z.string().describe('The time zone of intervals: `config.reporting.timezone`, or UTC'),
  bonus_cost: z
    .enum(['feed', 'grants'])
    .describe('Where bonus cost comes from: `config.reporting.bonus_cost`'),
  as_of: z.iso.datetime().describe('When the figures were computed'),
  is_stale: z.boolean().describe('Whether newer figures are being computed: ask again in a second or two'),
  is_exact: z.boolean().describe('False: players are counted with the standard error `error`'),
  error: z.number().nullable().describe('Relative standard error of estimated counts'),
  restating_days: z
    .int()
    .describe('Days of the range of which events are being written anew, because they count otherwise now'),
  columns: z.array(
    z.object({
      name: z.string(),
      label: z.string(),
      type: z.enum(['time', 'text', 'bool', 'count', 'money', 'number', 'rate']),
      series: z.int().nullable().describe('The number of the series, from 0; null: of none'),
      is_compared: z.boolean().describe('Whether it is of the range that is compared with'),
    }),
  ),
  rows: z.array(row),
  totals: z.array(row).describe('Over the whole range; of groups, too. The time is null'),
  other: z
    .array(row)
    .nullable()
    .describe('Exactly what the groups with rows of their own leave; null without a breakdown'),
});

/** An entry of `GET /v1/insights/metrics`. */
export const metricEntry = z.object({
  name: metricName,
  label: z.string(),
  text: z.string().describe('What it means'),
  unit: z.enum(['money', 'count', 'rate']),
});

/** The cell of a trend whose players are asked for. */
const trendCell = z.strictObject({
  series: z
    .int()
    .min(0)
    .max(MAX_SERIES - 1)
    .default(0),
  at: timestampWithOffset.describe('When the interval begins; absent: the whole range').optional(),
  group: z.string().max(1_024).describe('The group; absent: all, or what `not_in` leaves').optional(),
  not_in: z
    .array(z.string().max(1_024))
    .max(MAX_TOP)
    .describe('Of `other`: the groups with rows of their own')
    .optional(),
});
export type TrendCell = z.infer<typeof trendCell>;

/** The figures of bonuses, in the order of their columns. */
export const BONUS_FIGURES = [
  'bonuses_granted',
  'bonus_players',
  'bonus_granted',
  'bonuses_completed',
  'bonus_released',
  'bonuses_ended',
] as const;

/** The cell of bonuses whose players are asked for. */
const bonusesCell = z.strictObject({
  figure: z.enum(BONUS_FIGURES),
  id: z.string().max(64).describe('The template or campaign; absent: all').optional(),
});
export type BonusesCell = z.infer<typeof bonusesCell>;

/** By kind, the schema of a cell whose players can be asked for. */
export const CELL_SCHEMAS = {
  trend: trendCell,
  funnel: funnelCell,
  retention: retentionCell,
  lifecycle: lifecycleCell,
  distribution: distributionCell,
  bonuses: bonusesCell,
} as const;

export const insightPlayer = z.object({
  id: z.uuid(),
  external_id: z.string().nullable(),
  value: cell.describe('What the player adds to the figure; of a count of players 1'),
});

/** The `meta` of the first page of players. */
export const playersMeta = z.object({
  protection: z
    .object({
      players: z.int().describe('Players of the figure'),
      asked: z.int().describe('Of whom the rest is known: all, or 10,000 random ones of more'),
      protected: z
        .int()
        .describe('Who, or somebody with the same address, is excluded, banned or on a break'),
      at_risk: z.int().describe('Of the others: `rg_risk` is `low` or `strong`'),
    })
    .describe('On the first page: who must be left alone now')
    .optional(),
});

nameSchemas({
  EventClause: clauseSchema,
  InsightEvent: namedEvent,
  InsightRange: rangeSchema,
  InsightFilter: filter,
  InsightBreakdown: breakdown,
  InsightSeries: seriesSchema,
  InsightRatio: ratioSchema,
  TrendQuery: trendQuery,
  FunnelQuery: funnelQuery,
  RetentionQuery: retentionQuery,
  LifecycleQuery: lifecycleQuery,
  DistributionQuery: distributionQuery,
  BonusesQuery: bonusesQuery,
  InsightAnswer: insightAnswer,
  InsightMetric: metricEntry,
  InsightMetricName: metricName,
  InsightPlayer: insightPlayer,
  InsightPlayersMeta: playersMeta,
  InsightRate: rate,
});
