import { returnsWithin } from './histories.ts';

/** Days since the last deposit at which a bucket ends; the last bucket has no end. */
const BUCKET_ENDS = [1, 3, 7, 14, 21, 30, 45, 60, 90, 135, 180, 365] as const;

/** The chance to return by the days since the last deposit alone. */
export type RecencyRates = (days_since: number) => number;

/** The days since the last one of the sorted days at the end of a day; undefined: all are later. */
export function daysSince(days: readonly number[], day: number): number | undefined {
  const last = days.findLast((one) => one <= day);
  return last === undefined ? undefined : day - last;
}

/**
 * Plain recency, which a model must beat: of the players who were away as long at the end of `day`, the share that returned
 * in the days after it. A bucket counts as if it had two players more, who came back as often as all together.
 */
export function recencyRates(
  players: readonly (readonly number[])[],
  day: number,
  within: number,
): RecencyRates {
  const buckets = Array.from({ length: BUCKET_ENDS.length + 1 }, () => ({ players: 0, returned: 0 }));
  const all = { players: 0, returned: 0 };
  for (const days of players) {
    const since = daysSince(days, day);
    if (since === undefined) continue;
    const returned = Number(returnsWithin(days, day, within));
    for (const sum of [buckets[bucketOf(since)] ?? all, all]) {
      sum.players++;
      sum.returned += returned;
    }
  }
  const base = (all.returned + 1) / (all.players + 2);
  return (since) => {
    const { players: n, returned } = buckets[bucketOf(since)] ?? all;
    return (returned + 2 * base) / (n + 2);
  };
}

function bucketOf(days_since: number): number {
  const i = BUCKET_ENDS.findIndex((end) => days_since <= end);
  return i === -1 ? BUCKET_ENDS.length : i;
}
