import { validationError } from '../../../errors.ts';
import type { TimeZone } from '../../../platform/time-zone.ts';
import { Bindings } from '../../../segments/sql/bindings.ts';
import {
  columnOf,
  type Figures,
  type InsightKind,
  type InsightScope,
  type Plan,
  type Statement,
} from '../kind.ts';
import { ACTIVITY } from '../metrics/measure-queries.ts';
import type { LifecycleQuery } from '../schema.ts';
import { LIFECYCLE, type LifecycleCellRef, type LifecycleState } from './cells.ts';
import { countLifecycle, listLifecycle, type Lifecycle, type LifecycleRow } from './lifecycle-queries.ts';

/** Who is new, stays, comes back, and went quiet, interval by interval. */
export const LIFECYCLE_KIND: InsightKind<LifecycleQuery, LifecycleCellRef> = {
  plan,
  players,
};

const DAY_MS = 86_400_000;

/** When the quiet time before an interval begins: so many days earlier by the clocks. */
export function quietFrom(zone: TimeZone, start_ms: number, quiet_days: number): number {
  return zone.momentsOf(zone.localMs(start_ms) - quiet_days * DAY_MS).first_ms;
}

function lifecycleOf({ quiet_days }: LifecycleQuery, { steps, zone }: InsightScope): Lifecycle {
  if (steps.interval === 'hour')
    throw validationError([{ path: 'interval', message: 'must be day, week or month' }]);
  const intervals = steps.starts_ms.map((from_ms, i) => ({
    from_ms,
    to_ms: steps.starts_ms[i + 1] ?? steps.to_ms,
    quiet_from_ms: quietFrom(zone, from_ms, quiet_days),
  }));
  return { intervals, activity: ACTIVITY };
}

function plan(query: LifecycleQuery, scope: InsightScope): Plan {
  const lifecycle = lifecycleOf(query, scope);
  return {
    statements: [countLifecycle(lifecycle, { bindings: new Bindings(), filter: scope.filter })],
    read: ([rows = []]) => figuresOf(lifecycle, scope, rows as unknown as readonly LifecycleRow[]),
    is_of_events_alone: false,
  };
}

/** How many players are in a state in each interval. */
export function statesOf(
  { intervals }: Lifecycle,
  rows: readonly LifecycleRow[],
): Record<LifecycleState, bigint>[] {
  const counts = new Map(rows.map(({ at, what, players }) => [`${at} ${what}`, BigInt(players)]));
  let churned = 0n;
  return intervals.map(({ from_ms }) => {
    const count = (what: LifecycleRow['what']) => counts.get(`${from_ms} ${what}`) ?? 0n;
    churned += count('begin') - count('end');
    return { new: count('new'), returning: count('returning'), reactivated: count('reactivated'), churned };
  });
}

function figuresOf(lifecycle: Lifecycle, { now_ms }: InsightScope, rows: readonly LifecycleRow[]): Figures {
  const states = statesOf(lifecycle, rows);
  return {
    columns: [
      columnOf('at', 'Time', 'time'),
      columnOf('is_complete', 'Complete', 'bool'),
      columnOf('new', 'New', 'count'),
      columnOf('returning', 'Returning', 'count'),
      columnOf('reactivated', 'Reactivated', 'count'),
      columnOf('churned', 'Churned', 'count'),
    ],
    rows: lifecycle.intervals.map(({ from_ms, to_ms }, i) => {
      const is_complete = to_ms <= now_ms;
      // Before its end nobody is sure not to come back in it.
      const of = (state: LifecycleState) =>
        state === 'churned' && !is_complete ? null : (states[i]?.[state] ?? 0n);
      return [new Date(from_ms).toISOString(), is_complete, ...LIFECYCLE.map(of)];
    }),
    totals: [],
    other: null,
  };
}

function players(query: LifecycleQuery, scope: InsightScope, { at, state }: LifecycleCellRef): Statement {
  const lifecycle = lifecycleOf(query, scope);
  const interval = lifecycle.intervals.find(({ from_ms }) => from_ms === Date.parse(at));
  if (interval === undefined)
    throw validationError([{ path: 'cell.at', message: 'must be when an interval of the range begins' }]);
  return listLifecycle(lifecycle, { interval, state }, { bindings: new Bindings(), filter: scope.filter });
}
