import type {
  BonusesQuery,
  DistributionQuery,
  FunnelQuery,
  InsightAnswer,
  InsightMetric,
  InsightQuery,
  InsightRange,
  LifecycleQuery,
  RetentionQuery,
  TrendQuery,
} from '@player-engagement/client/admin';
import { everyOf, oneOf } from '../../api/choices.ts';
import { formatDay, fromLocalField } from '../../format/time.ts';

export type {
  BonusesQuery,
  DistributionQuery,
  FunnelQuery,
  InsightQuery,
  InsightRange,
  LifecycleQuery,
  RetentionQuery,
  TrendQuery,
};
export type Answer = InsightAnswer;
export type Column = Answer['columns'][number];
export type Row = Answer['rows'][number];
export type Cell = Row[number];
export type Metric = InsightMetric['name'];
export type Kind = InsightQuery['kind'];
/** The kinds that the service answers; a screen for each is here. */
export const KINDS = everyOf<Kind>()([
  'trend',
  'funnel',
  'retention',
  'lifecycle',
  'distribution',
  'bonuses',
]);

export type Interval = NonNullable<InsightQuery['interval']>;
export const INTERVALS = everyOf<Interval>()(['hour', 'day', 'week', 'month']);
export type Comparison = NonNullable<TrendQuery['compare']>;
export const COMPARISONS = everyOf<Comparison>()(['previous', 'week', 'year']);
export type Breakdown = NonNullable<TrendQuery['breakdown']>;
export const BREAKDOWNS = everyOf<Breakdown['by']>()([
  'product',
  'item_group',
  'item',
  'payment_method',
  'tier',
  'player_status',
  'kyc_status',
  'currency',
  'event',
  'property',
]);
export type Series = TrendQuery['series'][number];
export type EventSeries = Extract<Series, { event: string }>;
export type Aggregate = NonNullable<EventSeries['aggregate']>;
export const AGGREGATES = everyOf<Aggregate>()(['count', 'players', 'sum', 'avg', 'min', 'max', 'distinct']);
export const MOST_SERIES = 5;
/** Ranges in days that can be chosen; others are dates. */
export const LAST_DAYS = [7, 28, 84, 365] as const;

const DAY_MS = 86_400_000;
/** Twelve weeks. */
const USUAL: InsightRange = { last: { days: 84 } };

/** What a kind asks first. */
export const FIRST: { [K in Kind]: Extract<InsightQuery, { kind: K }> } = {
  trend: { kind: 'trend', range: USUAL, interval: 'day', series: [{ metric: 'ggr' }] },
  funnel: {
    kind: 'funnel',
    range: USUAL,
    steps: [{ event: 'signup' }, { event: 'deposit_confirmed' }, { event: 'deposit_confirmed' }],
    within: { days: 30 },
  },
  retention: {
    kind: 'retention',
    range: { last: { days: 365 } },
    interval: 'month',
    cohort: 'first_deposit',
    returns: 'deposit',
    value: 'ngr',
  },
  lifecycle: { kind: 'lifecycle', range: USUAL, interval: 'week', quiet_days: 30 },
  distribution: { kind: 'distribution', range: USUAL, value: 'ngr', cuts: 'deciles' },
  bonuses: { kind: 'bonuses', range: USUAL, by: 'template' },
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The query in the address of a page, which is what the API is asked. Undefined when it is of no kind that is known, or has not
 * the shape that the screen reads; what the values are is for the API to judge.
 */
export function queryIn(written: unknown): InsightQuery | undefined {
  if (!isObject(written)) return undefined;
  const kind = oneOf(KINDS, String(written['kind']));
  const { range, series, steps, within, cohort, filter = {}, breakdown = {} } = written;
  const lasts = isObject(range) && (isObject(range['last']) || 'from' in range);
  if (kind === undefined || !lasts || !isObject(filter) || !isObject(breakdown)) return undefined;
  const are = (list: unknown) => Array.isArray(list) && list.every(isObject);
  const is_shaped = {
    trend: are(series),
    funnel: are(steps) && isObject(within),
    retention: cohort !== undefined,
    lifecycle: true,
    distribution: true,
    bonuses: true,
  }[kind];
  return is_shaped ? (written as unknown as InsightQuery) : undefined;
}

/** The query of a saved insight as a dashboard asks it: with its range and segment where it has them. */
export function queryOnBoard(
  query: InsightQuery,
  { range, segment_id }: { range: object | null; segment_id: string | null },
): InsightQuery {
  const filter = segment_id === null ? query.filter : { ...query.filter, segment_id };
  return { ...query, range: (range as InsightRange | null) ?? query.range, filter };
}

/** The whole days of a range, the last one included, as fields for dates have them. */
export function daysOf(range: InsightRange, zone: string, now_ms: number): { from: string; to: string } {
  if ('last' in range) {
    const first_ms = now_ms - (range.last.days - 1) * DAY_MS;
    return { from: formatDay(first_ms, zone), to: formatDay(now_ms, zone) };
  }
  const [from_ms, to_ms] = [Date.parse(range.from), Date.parse(range.to)];
  if (Number.isNaN(from_ms) || Number.isNaN(to_ms)) return { from: '', to: '' };
  return { from: formatDay(from_ms, zone), to: formatDay(to_ms - 1, zone) };
}

/** From the beginning of a day to the end of another, by the clocks of a zone; undefined when one is no date. */
export function rangeOf({ from, to }: { from: string; to: string }, zone: string): InsightRange | undefined {
  const last_ms = Date.parse(to);
  if (Number.isNaN(last_ms)) return undefined;
  const next = new Date(last_ms + DAY_MS).toISOString().slice(0, 10);
  const [begin, end] = [fromLocalField(`${from}T00:00`, zone), fromLocalField(`${next}T00:00`, zone)];
  return begin === undefined || end === undefined ? undefined : { from: begin, to: end };
}

/** A question that somebody has, and the query that answers it. */
export interface Preset {
  key: 'yesterday' | 'deposits' | 'quiet' | 'cohorts' | 'top' | 'bonuses' | 'payments';
  query: InsightQuery;
}

/** The questions whose kinds stand. */
export function presetsAt(now_ms: number): readonly Preset[] {
  const before_ms = now_ms - DAY_MS;
  return [
    {
      key: 'yesterday',
      query: {
        kind: 'trend',
        // The day with this moment, wherever the project has its midnight.
        range: { from: new Date(before_ms).toISOString(), to: new Date(before_ms + 1).toISOString() },
        interval: 'day',
        compare: 'week',
        breakdown: { by: 'product' },
        series: [{ metric: 'ggr' }, { metric: 'ngr' }, { metric: 'hold' }, { metric: 'deposits' }],
      },
    },
    { key: 'deposits', query: FIRST.funnel },
    { key: 'quiet', query: FIRST.lifecycle },
    { key: 'cohorts', query: FIRST.retention },
    { key: 'top', query: FIRST.distribution },
    { key: 'bonuses', query: FIRST.bonuses },
    {
      key: 'payments',
      query: {
        kind: 'trend',
        range: USUAL,
        interval: 'day',
        compare: 'previous',
        breakdown: { by: 'payment_method' },
        series: [
          { metric: 'deposit_success' },
          { metric: 'deposits_failed' },
          { metric: 'deposit_attempts' },
        ],
      },
    },
  ];
}

export const LIFECYCLE = ['new', 'returning', 'reactivated', 'churned'] as const;
export const VALUES = everyOf<DistributionQuery['value']>()([
  'ngr',
  'ggr',
  'deposits',
  'wagered',
  'bets',
  'active_days',
]);

/** A figure of a trend whose players are asked for. */
export interface TrendCell {
  series: number;
  /** When the interval begins; absent: the whole range. */
  at?: string | undefined;
  group?: string | undefined;
  not_in?: string[] | undefined;
}

export interface FunnelCell {
  /** From 1 on. */
  step: number;
  is: 'reached' | 'dropped';
  group?: string | undefined;
  not_in?: string[] | undefined;
}

export interface RetentionCell {
  cohort: string;
  /** From 0 on; absent: the whole cohort. */
  period?: number;
  of: 'players' | 'value';
}

export interface LifecycleCell {
  at: string;
  state: (typeof LIFECYCLE)[number];
}

/** Places of players, 1 for the highest value. */
export interface DistributionCell {
  first: number;
  last: number;
}

/** A figure of bonuses, by the name of its column. */
export interface BonusesCell {
  figure: string;
  /** The template or campaign; absent: all. */
  id?: string | undefined;
}
