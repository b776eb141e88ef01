import { nextLocal, startOfLocal } from '../../platform/local-intervals.ts';
import type { TimeZone } from '../../platform/time-zone.ts';

/** How a daily budget is used: `even`: as the project is active over the day; `asap`: from the first moment of the day. */
export const PACES = ['even', 'asap'] as const;
export type Pace = (typeof PACES)[number];

/** Hours of a local day. */
export const HOURS = 24;
const HOUR_MS = 3_600_000;
/** What an `even` budget allows grows at these times: who waits is decided about so often, and the last part is allowed before the day ends. */
export const STEP_MS = 300_000;
/** While more than this part of a day's budget is free, members of whom some may cost less are looked at further. */
const NEARLY_USED = 100n;

/** A campaign's daily budget. */
export interface DailyBudget {
  /** In the smallest unit of the base currency. */
  budget_base: bigint;
  pace: Pace;
  /** By whose clocks days are cut. */
  zone: TimeZone;
  /** How active the project is in each hour of a local day: whole numbers, of which only the proportions matter. */
  hours: readonly number[];
}

/** The day in which a campaign takes from its daily budget. */
export interface BudgetDay {
  /** What members were promised from here on counts. */
  from_ms: number;
  /** When the next day begins. */
  to_ms: number;
  /** What the members hold who were reserved in the day, in the smallest unit of the base currency. */
  used_base: bigint;
}

/** What of a day's budget may be taken at a moment. */
export interface DayLimit {
  budget_base: bigint;
  /** May be used up to now; never more than the budget. */
  allowed_base: bigint;
  day: BudgetDay;
}

/**
 * What a campaign may have used of its daily budget at `now_ms`. `stored`: the day in which it has taken last; null: it has
 * taken nothing. Another local day than that one has a budget of its own, once the stored one has ended. After a change of the
 * zone the new day may overlap it: then what was used stays counted. Nothing may be taken before the stored day: the clock
 * of another process is ahead.
 */
export function dayLimitOf(plan: DailyBudget, stored: BudgetDay | null, now_ms: number): DayLimit {
  const { budget_base } = plan;
  if (stored !== null && now_ms < stored.from_ms) return { budget_base, allowed_base: 0n, day: stored };
  const from_ms = startOfLocal(plan.zone, 'day', now_ms);
  const to_ms = nextLocal(plan.zone, 'day', now_ms);
  const day =
    stored === null || stored.to_ms <= from_ms
      ? { from_ms, to_ms, used_base: 0n }
      : { from_ms: stored.from_ms, to_ms, used_base: stored.used_base };
  return { budget_base, allowed_base: allowedAt(plan, now_ms), day };
}

/**
 * When members of whom the cheapest costs `cost_base`, which the day's budget does not allow now, may be decided about
 * again, if nothing is given back: when it allows that cost, or with the next day if this one has no such room any more.
 */
export function waitsUntil(
  plan: DailyBudget,
  { day, budget_base }: DayLimit,
  cost_base: bigint,
  now_ms: number,
): number {
  if (now_ms < day.from_ms) return day.from_ms;
  const needed = day.used_base + cost_base;
  if (plan.pace === 'asap' || needed > budget_base) return day.to_ms;
  return Math.min(day.to_ms, allowedFrom(plan, needed, now_ms));
}

/** Whether so little of the day's budget is free in the whole day that it is not looked for members who cost less. */
export function isNearlyUsed(
  { budget_base, allowed_base }: Pick<DayLimit, 'budget_base' | 'allowed_base'>,
  used_base: bigint,
): boolean {
  return (allowed_base - used_base) * NEARLY_USED <= budget_base;
}

/** ⌊budget × share⌋ of the profile's part of the local day that is over at the end of the step of `now_ms`. */
function allowedAt(plan: DailyBudget, now_ms: number): bigint {
  const { budget_base, pace } = plan;
  if (pace === 'asap') return budget_base;
  const { parts, total } = profileOf(plan, now_ms);
  const end_ms = (Math.floor(now_ms / STEP_MS) + 1) * STEP_MS;
  let over = 0n;
  for (const { from_ms, to_ms, weight } of parts) {
    const passed_ms = Math.min(end_ms, to_ms) - from_ms;
    if (passed_ms > 0) over += BigInt(passed_ms) * weight;
  }
  return (budget_base * over) / total;
}

/** The first step of the local day of `now_ms` in which so much is allowed; at most the whole budget. */
function allowedFrom(plan: DailyBudget, needed_base: bigint, now_ms: number): number {
  const { parts, total } = profileOf(plan, now_ms);
  // ⌊budget × over ÷ total⌋ ≥ needed, so over ≥ needed × total ÷ budget.
  let missing = ceilDiv(needed_base * total, plan.budget_base);
  for (const { from_ms, to_ms, weight } of parts) {
    const whole = BigInt(to_ms - from_ms) * weight;
    if (missing <= whole) {
      const end_ms = from_ms + Number(ceilDiv(missing, weight));
      return (Math.ceil(end_ms / STEP_MS) - 1) * STEP_MS;
    }
    missing -= whole;
  }
  return nextLocal(plan.zone, 'day', now_ms);
}

/** The hours of a local day, as many as it has, with the weight of each. */
function profileOf({ zone, hours }: DailyBudget, now_ms: number) {
  const end_ms = nextLocal(zone, 'day', now_ms);
  const parts: { from_ms: number; to_ms: number; weight: bigint }[] = [];
  for (let from_ms = startOfLocal(zone, 'day', now_ms); from_ms < end_ms;) {
    const to_ms = Math.min(end_ms, nextLocal(zone, 'hour', from_ms));
    parts.push({ from_ms, to_ms, weight: BigInt(hours[hourOf(zone, from_ms)] ?? 0) });
    from_ms = to_ms;
  }
  const totalOf = (of: typeof parts) =>
    of.reduce((sum, part) => sum + BigInt(part.to_ms - part.from_ms) * part.weight, 0n);
  const total = totalOf(parts);
  if (total > 0n) return { parts, total };
  // The clocks skip the only hour with activity.
  const plain = parts.map((part) => ({ ...part, weight: 1n }));
  return { parts: plain, total: totalOf(plain) };
}

/** The hour that the clocks show: 0 … 23. */
export function hourOf(zone: TimeZone, at_ms: number): number {
  return Math.floor(zone.localMs(at_ms) / HOUR_MS) % HOURS;
}

function ceilDiv(of: bigint, by: bigint): bigint {
  return (of + by - 1n) / by;
}
