import { exactJson } from '../../platform/exact-json.ts';
import { groupBy } from '../../platform/group-by.ts';
import { MESSAGES, PROFILE, readOfEvent, type PassingWindow } from '../dependencies.ts';
import {
  conditionsOf,
  isGroup,
  type Condition,
  type DefinitionNode,
  type Group,
  type TraitCondition,
  type WhereClause,
} from '../language/conditions.ts';
import { isMoneyProperty } from '../language/fields.ts';
import { passingMs } from '../language/forms.ts';
import { isAlwaysInLedger } from '../../ledger/money/ledger.ts';
import { nameOfTotal, totalOf, type Total } from '../language/totals.ts';
import { eventSetsOf } from '../sql/compile.ts';

/** A total that realtime segments of a project compare, and with which ranges of whole numbers; both ends are included. */
export interface PlannedTotal {
  /** `nameOfTotal`. */
  name: string;
  total: Total;
  /** Its place among the totals of a player. */
  index: number;
  ranges: { low: number; high: number }[];
}

/** A condition on a field of the player. */
export interface PlannedTrait {
  /** The condition as JSON. */
  name: string;
  condition: TraitCondition;
  /** Its place among the traits of a player. */
  index: number;
}

/** What is true of an evaluated player. */
export interface Truths {
  /** In the order of the plan's totals. */
  totals: readonly number[];
  /** `1` or `0` for each of the plan's traits, in their order. */
  traits: string;
}

/**
 * What has to be known of a player to say whether a change of its data can change the realtime segments of its project.
 */
export interface Plan {
  /** Another one after each change of the project's realtime segments. */
  stamp: string;
  totals: readonly PlannedTotal[];
  /** The totals that events of a name add to. */
  by_event: ReadonlyMap<string, readonly PlannedTotal[]>;
  traits: readonly PlannedTrait[];
  /** Reads of which the plan has all that segments ask: a change of one is evaluated only if a condition changes. */
  counted: ReadonlySet<string>;
  /** The segments with a condition on a total or trait, by `segment_id`. */
  planned: ReadonlySet<string>;
  /** The segments that totals and traits alone decide, by `segment_id`. */
  decided: ReadonlyMap<string, (truths: Truths) => boolean>;
}

/** The stamp of a plan under which nothing is known, because its segments changed while they were read. */
export const NO_STAMP = '';

/** Totals and traits of a plan: every event of a player writes all of them. */
const MAX_PLANNED = 2_000;

/** A realtime segment as it is planned. */
export interface PlannedSegment {
  segment_id: string;
  /** Undefined: this version cannot read it. */
  parsed: Group | undefined;
  reads: readonly string[];
  is_quarantined: boolean;
}

/**
 * The plan for the realtime segments of a project; `late`: the windows that are swept alone. A read is undecided when any of its
 * conditions is: then its events have to be evaluated in any case.
 */
export function planOf(
  stamp: string,
  segments: readonly PlannedSegment[],
  late: readonly PassingWindow[],
): Plan {
  const undecided = new Set(
    late.map(({ reads }) => (reads.startsWith('event:') || reads === MESSAGES ? reads : PROFILE)),
  );
  for (const segment of segments) for (const read of undecidedOf(segment)) undecided.add(read);
  const totals = new Map<string, PlannedTotal>();
  const traits = new Map<string, PlannedTrait>();
  const planned = new Set<string>();
  const decided = new Map<string, (truths: Truths) => boolean>();
  for (const { segment_id, parsed, is_quarantined } of segments) {
    if (parsed === undefined || is_quarantined) continue;
    const conditions = [...conditionsOf(parsed)];
    const tests = conditions.map((one) => testOf(one, undecided, totals, traits));
    if (tests.some((test) => test !== undefined)) planned.add(segment_id);
    if (!tests.every((test) => test !== undefined)) continue;
    const test_of = new Map(conditions.map((one, i) => [one, tests[i]]));
    decided.set(segment_id, (truths) => isMatch(parsed, (one) => test_of.get(one)?.(truths) ?? false));
  }
  // Too many to be worth it: every change is evaluated.
  const is_empty = totals.size + traits.size > MAX_PLANNED;
  const by_event = groupBy(is_empty ? [] : [...totals.values()], ({ total }) => total.set.event);
  const counted = new Set([...by_event.keys()].map(readOfEvent));
  if (is_empty)
    return { stamp, totals: [], by_event, traits: [], counted, planned: new Set(), decided: new Map() };
  if (traits.size > 0) counted.add(PROFILE);
  return {
    stamp,
    totals: [...totals.values()],
    by_event,
    traits: [...traits.values()],
    counted,
    planned,
    decided,
  };
}

/** The reads of events in conditions that are not on a total; of a quarantined segment all its reads. */
function undecidedOf({ parsed, reads, is_quarantined }: PlannedSegment): readonly string[] {
  if (parsed === undefined || is_quarantined) return reads;
  return [...conditionsOf(parsed)].flatMap((one) =>
    one.type === 'event' && totalOf(one) !== undefined && one.where.every((clause) => isDecided(clause, one))
      ? []
      : eventSetsOf(one).map(({ event }) => readOfEvent(event)),
  );
}

/** Whether the event alone satisfies the clause or not, for ever. */
function isDecided({ property, comparison }: WhereClause, { event }: { event: string }): boolean {
  if (passingMs(comparison) !== undefined) return false;
  return !isMoneyProperty(property, event) || isAlwaysInLedger(event, property);
}

type Test = (truths: Truths) => boolean;

/** Adds what the condition asks to the plan; undefined: ClickHouse alone decides it. */
function testOf(
  condition: Condition,
  undecided: ReadonlySet<string>,
  totals: Map<string, PlannedTotal>,
  traits: Map<string, PlannedTrait>,
): Test | undefined {
  if (condition.type === 'trait') {
    if (undecided.has(PROFILE)) return undefined;
    const name = exactJson(condition);
    const { index } = entryOf(traits, name, (at) => ({ name, condition, index: at }));
    return (truths) => truths.traits[index] === '1';
  }
  const asked = condition.type === 'event' ? totalOf(condition) : undefined;
  if (asked === undefined || undecided.has(readOfEvent(asked.total.set.event))) return undefined;
  const { total, within, negated } = asked;
  const name = nameOfTotal(total);
  const { index, ranges } = entryOf(totals, name, (at) => ({ name, total, index: at, ranges: [] }));
  const range = { low: Number(within.low), high: Number(within.high) };
  ranges.push(range);
  return (truths) => isIn(truths.totals[index] ?? 0, range) !== negated;
}

function entryOf<T>(map: Map<string, T>, name: string, make: (index: number) => T): T {
  const entry = map.get(name) ?? make(map.size);
  map.set(name, entry);
  return entry;
}

/** A safe integer compared with ends that may be rounded: they are rounded where no safe integer is. */
export function isIn(value: number, { low, high }: { low: number; high: number }): boolean {
  return value >= low && value <= high;
}

function isMatch(node: DefinitionNode, holds: (condition: Condition) => boolean): boolean {
  if (!isGroup(node)) return holds(node);
  if (node.operator === 'NOT') return !node.children.some((child) => isMatch(child, holds));
  return node.operator === 'AND'
    ? node.children.every((child) => isMatch(child, holds))
    : node.children.some((child) => isMatch(child, holds));
}
