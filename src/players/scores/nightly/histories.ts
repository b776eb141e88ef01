import type { CountedHistory, History } from '../models/purchases.ts';

const DAYS_PER_WEEK = 7;

/** A number of days in weeks, the unit of the models. */
export function weeksOf(days: number): number {
  return days / DAYS_PER_WEEK;
}

/** What is known of a player at the end of a day; undefined: the first deposit came later. `days` are sorted. */
export function historyAt(days: readonly number[], day: number): History | undefined {
  const known = countUpTo(days, day);
  const [first = 0] = days;
  if (known === 0) return undefined;
  const last = days[known - 1] ?? first;
  return { repeats: known - 1, last: weeksOf(last - first), age: weeksOf(day - first) };
}

/** Whether one of the sorted days is after `day`, and at most `within` later. */
export function returnsWithin(days: readonly number[], day: number, within: number): boolean {
  const next = days[countUpTo(days, day)];
  return next !== undefined && next <= day + within;
}

/** How many of the sorted days are not after `day`. */
function countUpTo(days: readonly number[], day: number): number {
  let low = 0;
  let high = days.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((days[middle] ?? Infinity) <= day) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Equal histories counted together. */
export function countHistories(histories: readonly History[]): CountedHistory[] {
  const counted = new Map<string, CountedHistory>();
  for (const history of histories) {
    const key = `${history.repeats} ${history.last} ${history.age}`;
    const same = counted.get(key);
    if (same === undefined) counted.set(key, { ...history, players: 1 });
    else same.players++;
  }
  return [...counted.values()];
}
