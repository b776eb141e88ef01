import type { PlayerEvent } from '../../ingest/events/envelope.ts';
import { comparable } from '../../platform/exact-json.ts';
import type { EventSet } from '../language/conditions.ts';
import { isMoneyProperty, MONEY_PROPERTIES } from '../language/fields.ts';
import { holds } from '../language/holds.ts';
import type { Total } from '../language/totals.ts';
import { isIn, type Plan, type PlannedTotal } from './plan.ts';

/** What is counted of a player. */
export interface Counts {
  /** In the order of the plan's totals; safe integers. */
  totals: readonly number[];
  /** The time of the newest event that was counted and is not in `recent`, in milliseconds since the epoch. */
  since_ms: number;
  /** The newest events, in the order of their times: `<time in ms>:<end of the id>`. */
  recent: readonly string[];
}

/** Counts with some events added, and the names of those events by which a condition has changed. */
export interface Counted extends Counts {
  changed: ReadonlySet<string>;
}

/** The newest events whose ids are kept. */
const MAX_RECENT = 6;
/** Characters of an id that are kept. */
const ID_END = 12;
/**
 * The greatest age of an event that is added. A window is an hour or longer, so no sweep subtracts an event that is being added.
 */
const LATE_MS = 1_800_000;

/**
 * Adds events to the counts of their player. Undefined: it is not certain what they count, so the player has to be evaluated
 * anew. An event may come again, and in any order: it is certainly new when it is later than all that were counted, or later
 * than `since_ms` and none of `recent`. Times ahead of `now_ms` are in no window yet.
 */
export function addEvents(
  counts: Counts,
  plan: Plan,
  events: readonly PlayerEvent[],
  now_ms: number,
): Counted | undefined {
  const totals = [...counts.totals];
  const recent = [...counts.recent];
  let { since_ms } = counts;
  for (const event of events.toSorted((a, b) => a.occurred_at - b.occurred_at)) {
    const at_ms = event.occurred_at;
    if (at_ms <= since_ms || at_ms > now_ms || at_ms <= now_ms - LATE_MS) return undefined;
    // Two ids with the same end cost an evaluation.
    const id = `${at_ms}:${event.ingestion_id.slice(-ID_END)}:${event.event_index}`;
    if (recent.includes(id)) return undefined;
    recent.push(id);
    for (const planned of plan.by_event.get(event.event) ?? []) {
      if (!add(totals, planned, amountOf(planned.total, event, now_ms))) return undefined;
    }
  }
  recent.sort();
  for (const id of recent.splice(0, Math.max(recent.length - MAX_RECENT, 0)))
    since_ms = Number(id.slice(0, id.indexOf(':')));
  const added = [...new Set(events.map(({ event }) => event))].flatMap(
    (name) => plan.by_event.get(name) ?? [],
  );
  return { totals, since_ms, recent, changed: changedNames(added, counts.totals, totals) };
}

/** Subtracts from the counts what has left its window; undefined as with {@link addEvents}. */
export function subtract(
  counts: Counts,
  plan: Plan,
  passed: (planned: PlannedTotal) => number,
): Counted | undefined {
  const totals = [...counts.totals];
  for (const planned of plan.totals) {
    const amount = passed(planned);
    if (amount !== 0 && !add(totals, planned, -amount)) return undefined;
  }
  return { ...counts, totals, changed: changedNames(plan.totals, counts.totals, totals) };
}

function add(totals: number[], { index }: PlannedTotal, amount: number): boolean {
  const sum = (totals[index] ?? 0) + amount;
  totals[index] = sum;
  return Number.isSafeInteger(amount) && Number.isSafeInteger(sum);
}

/** The names of the events of those totals that have crossed an end of a range. */
function changedNames(
  planned: readonly PlannedTotal[],
  before: readonly number[],
  after: readonly number[],
): ReadonlySet<string> {
  const changed = new Set<string>();
  for (const { index, ranges, total } of planned) {
    const [was, is] = [before[index] ?? 0, after[index] ?? 0];
    if (was !== is && ranges.some((range) => isIn(was, range) !== isIn(is, range)))
      changed.add(total.set.event);
  }
  return changed;
}

/** What an event adds to a total; 0: it is not of the set. A window `last` is not checked. It may be no safe integer. */
export function amountOf({ set, column }: Total, event: PlayerEvent, now_ms: number): number {
  const { window, where } = set;
  const is_within =
    window.kind !== 'range' || (event.occurred_at >= window.from_ms && event.occurred_at < window.to_ms);
  if (!is_within || !where.every((clause) => holdsOf(clause, event, now_ms))) return 0;
  return column === undefined ? 1 : Number(event[column] ?? 0);
}

/** Whether an event satisfies a clause, as `whereSql` has it. */
function holdsOf(
  { property, comparison }: EventSet['where'][number],
  event: PlayerEvent,
  now_ms: number,
): boolean {
  const { properties } = event;
  const value = isMoneyProperty(property, event.event)
    ? (event[MONEY_PROPERTIES[property]] ?? null)
    : Object.hasOwn(properties, property)
      ? properties[property]
      : null;
  return holds(comparison, comparable(value), now_ms);
}
