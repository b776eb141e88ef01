/** The ends of an interval, the lower one first. */
export type Interval = readonly [low: number, high: number];

/** Whether an interval has no 0: both ends are on one side of it. */
export function excludesZero([low, high]: Interval): boolean {
  return low > 0 || high < 0;
}
