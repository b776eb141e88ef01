import type { CampaignCounts } from './counts.ts';
import type { RecentAnswers } from '../../analytics/recent-answers.ts';
import { countConversionsByTime, type ConversionBucket } from './stats-queries.ts';
import type { CampaignRef, CampaignRow } from './queries.ts';

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

/** The intervals from the first message on, also those in which nothing happened; `is_complete`: none was omitted. */
export interface Series {
  interval: Interval;
  points: SeriesPoint[];
  is_complete: boolean;
}

/**
 * What became of a campaign's messages over time, in UTC. Absent `asked`: hours, or days when its messages reached their
 * stages over more than three days. At most 400 intervals, the first ones.
 */
export async function seriesOf(
  { counts, answers }: { counts: CampaignCounts; answers: RecentAnswers },
  ref: CampaignRef,
  campaign: CampaignRow,
  asked: Interval | undefined,
): Promise<Series> {
  // Hours make days, so nothing need be read before to know how long it took.
  const asked_s = INTERVALS[asked ?? 'hour'];
  const [stages, conversions] = await Promise.all([
    counts.byTime(ref, campaign, asked_s),
    conversionsOf(answers, ref, campaign, asked_s),
  ]);
  if (stages.length === 0) return { interval: asked ?? 'hour', points: [], is_complete: true };
  const [first_ms, last_ms] = ends(stages.map(({ at_ms }) => Number(at_ms)));
  const interval = asked ?? (last_ms - first_ms > HOURS_UP_TO_MS ? 'day' : 'hour');
  const step_ms = INTERVALS[interval] * 1_000;
  const found = new Map<number, SeriesPoint>();
  const pointAt = (at_ms: number) => {
    const begin_ms = Math.floor(at_ms / step_ms) * step_ms;
    const point = found.get(begin_ms) ?? nothingAt(begin_ms);
    found.set(begin_ms, point);
    return point;
  };
  for (const { at_ms, stage, messages } of stages) pointAt(Number(at_ms))[stage] += Number(messages);
  for (const { at_ms, conversions: count } of conversions) pointAt(Number(at_ms)).converted += Number(count);
  const [from_ms, until_ms] = ends([...found.keys()]);
  const count = (until_ms - from_ms) / step_ms + 1;
  const points = Array.from({ length: Math.min(MAX_POINTS, count) }, (_, i) => {
    const at_ms = from_ms + i * step_ms;
    return found.get(at_ms) ?? nothingAt(at_ms);
  });
  return { interval, points, is_complete: count <= MAX_POINTS };
}

/** How many players converted in which interval; at most 10 s old. */
async function conversionsOf(
  answers: RecentAnswers,
  ref: CampaignRef,
  { goal_event: event, goal_attribution_days }: CampaignRow,
  interval_s: number,
): Promise<ConversionBucket[]> {
  if (event === null) return [];
  const window_ms = (goal_attribution_days ?? 0) * DAY_MS;
  const question = ['conversions by time', ref.campaign_id, event, window_ms, interval_s];
  const { text } = await answers.of(ref, question, async (clickhouse) =>
    JSON.stringify(await countConversionsByTime(clickhouse, ref, { event, window_ms }, interval_s)),
  );
  return JSON.parse(text) as ConversionBucket[];
}

function nothingAt(at_ms: number): SeriesPoint {
  return { at: new Date(at_ms).toISOString(), sent: 0, delivered: 0, opened: 0, clicked: 0, converted: 0 };
}

/** The least and the greatest of some times. */
function ends(times_ms: readonly number[]): [number, number] {
  return [
    times_ms.reduce((least, one) => Math.min(least, one), Infinity),
    times_ms.reduce((greatest, one) => Math.max(greatest, one), -Infinity),
  ];
}
