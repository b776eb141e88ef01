import type { Platform } from '../../wiring/platform.ts';
import { countConversionsByTime } from './conversion-queries.ts';
import type { CampaignRef, CampaignRow } from './queries.ts';
import { countStagesByTime, selectStageSpan } from './series-queries.ts';

/** How long an interval lasts. */
export const INTERVALS = { hour: 3_600, day: 86_400 } as const;
export type Interval = keyof typeof INTERVALS;

/** The most intervals of an answer: two weeks of hours, more than a year of days. */
const MAX_POINTS = 400;
const DAY_MS = 86_400_000;
/** A campaign whose messages took longer is shown by days unless its caller says otherwise. */
const HOURS_UP_TO_MS = 3 * DAY_MS;

/** What happened in one interval. */
export interface SeriesPoint {
  at: string;
  sent: number;
  delivered: number;
  opened: number;
  clicked: number;
  converted: number;
}

/** The intervals from the first message on, also those in which nothing happened; `is_complete`: none was left out. */
export interface Series {
  interval: Interval;
  points: SeriesPoint[];
  is_complete: boolean;
}

/**
 * What became of a campaign's messages over time, in UTC. Absent `asked`: hours, or days when it took longer than three
 * days. At most 400 intervals, the first ones.
 */
export async function seriesOf(
  { clickhouse }: Pick<Platform, 'clickhouse'>,
  ref: CampaignRef,
  { goal_event, goal_attribution_days, goal_value_property }: CampaignRow,
  asked: Interval | undefined,
): Promise<Series> {
  const [span] = await selectStageSpan(clickhouse, ref);
  const [first_ms, last_ms] = [Number(span?.first_ms ?? 0), Number(span?.last_ms ?? 0)];
  const interval = asked ?? (last_ms - first_ms > HOURS_UP_TO_MS ? 'day' : 'hour');
  if (first_ms === 0) return { interval, points: [], is_complete: true };
  const interval_s = INTERVALS[interval];
  const goal = {
    event: goal_event ?? '',
    window_ms: (goal_attribution_days ?? 0) * DAY_MS,
    value_property: goal_value_property,
  };
  const [stages, conversions] = await Promise.all([
    countStagesByTime(clickhouse, ref, interval_s),
    goal_event === null ? [] : countConversionsByTime(clickhouse, ref, goal, interval_s),
  ]);
  const stage_at = new Map(stages.map((row) => [Number(row.at_ms), row]));
  const converted_at = new Map(
    conversions.map(({ at_ms, conversions: count }) => [Number(at_ms), Number(count)]),
  );
  const known = [...stage_at.keys(), ...converted_at.keys()];
  const step_ms = interval_s * 1_000;
  const from_ms = Math.min(...known);
  const count = (Math.max(...known) - from_ms) / step_ms + 1;
  const points = Array.from({ length: Math.min(MAX_POINTS, count) }, (_, i) => {
    const at_ms = from_ms + i * step_ms;
    const row = stage_at.get(at_ms);
    return {
      at: new Date(at_ms).toISOString(),
      sent: Number(row?.sent ?? 0),
      delivered: Number(row?.delivered ?? 0),
      opened: Number(row?.opened ?? 0),
      clicked: Number(row?.clicked ?? 0),
      converted: converted_at.get(at_ms) ?? 0,
    };
  });
  return { interval, points, is_complete: count <= MAX_POINTS };
}
