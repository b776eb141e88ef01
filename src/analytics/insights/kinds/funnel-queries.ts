import { IS_LEFT, SCOPE } from '../../../segments/sql/owner-sql.ts';
import {
  AT_MS,
  eventsSql,
  isChosen,
  isNamed,
  playersOf,
  statementOf,
  within,
  type EventChoice,
  type Population,
  type Span,
} from './events-queries.ts';
import type { Statement } from '../kind.ts';

/** A way through events: the first step lies in the span, each later one strictly after the one before it. */
export interface Funnel extends Span {
  /** Two or more, up to MAX_FUNNEL_STEPS. */
  steps: readonly EventChoice[];
  /** All steps lie within this time of the first. */
  within_ms: number;
}

/** How many players took this many steps and no more, from 1 on. */
export interface ReachedRow {
  /** The group; an empty text: not known, or the rows are not broken down. */
  label: string;
  /** 1: what the groups with rows of their own leave. */
  is_other: number;
  reached: number;
  players: string;
}

/** By what players are put into groups: a statement that selects `owner` and `label`, a text. */
export interface Labels {
  sql: string;
  /** So many of the largest groups, by who took the first step, have rows of their own. */
  top: number;
}

/** Players by how many steps they took, as {@link ReachedRow}s. */
export function countReached(funnel: Funnel, population: Population, labels?: Labels): Statement {
  const reached = reachedSql(funnel, population);
  if (labels === undefined) {
    const sql = `select '' as label, 0 as is_other, reached, toString(count()) as players from (${reached}) group by reached`;
    return statementOf(sql, population);
  }
  const cells =
    `select label, reached, count() as n, sum(n) over (partition by label) as size\n` +
    `from (${labelledSql(reached, labels)}) group by label, reached`;
  const top = population.bindings.bind('UInt16', labels.top);
  const ranked = `select *, dense_rank() over (order by size desc, label) > ${top} as is_behind from (${cells})`;
  return statementOf(
    `select if(is_behind, '', label) as shown, is_behind as is_other, reached, toString(sum(n)) as players, shown as label\n` +
      `from (${ranked}) group by shown, is_behind, reached`,
    population,
  );
}

/** Which players of a funnel: those who took a step (from 1 on), or who took it and not the next. */
export interface FunnelCell {
  step: number;
  is: 'reached' | 'dropped';
  /** Of a group, or of those that are not in the groups; undefined: of all. */
  of?: { labels: Labels; group: string } | { labels: Labels; not_in: readonly string[] } | undefined;
}

/** The players of a cell; `value` is how many steps each took. */
export function listReached(funnel: Funnel, { step, is, of }: FunnelCell, population: Population): Statement {
  const { bindings } = population;
  const reached = reachedSql(funnel, population);
  const labelled = of === undefined ? reached : labelledSql(reached, of.labels);
  const in_group =
    of === undefined
      ? ''
      : 'group' in of
        ? ` and label = ${bindings.bind('String', of.group)}`
        : ` and label not in ${bindings.bind('Array(String)', of.not_in)}`;
  const sign = is === 'reached' ? '>=' : '=';
  const taken = `reached ${sign} ${bindings.bind('UInt8', step)}`;
  return playersOf(`select owner, reached as value from (${labelled}) where ${taken}${in_group}`, population);
}

/** `owner`, `reached`, `label`. */
function labelledSql(reached: string, { sql }: Labels): string {
  return `select r.owner as owner, reached, label from (${reached}) as r any left join (${sql}) as l on l.owner = r.owner`;
}

/**
 * Groups by the first event of the first step in the span: `label` is an expression over its row, `shownOf` makes the group of it. Of several at one time the
 * first by ingestion id counts.
 */
export function labelsOfFirstEvents(
  { steps: [step], ...span }: Funnel,
  label: string,
  shownOf: (label: string) => string,
  population: Population,
): string {
  if (step === undefined) throw new Error('a funnel has steps');
  const { bindings } = population;
  const first = 'argMin(toString(label_of), (occurred_at, ingestion_id, event_index))';
  const columns = [`${label} as label_of`, 'occurred_at', 'ingestion_id', 'event_index'];
  const read = [isChosen(step, bindings), within(span, bindings)];
  const firsts = `select owner, ${first} as label_of_first from (${eventsSql(columns, read, population)}) group by owner`;
  return `select owner, ${shownOf('label_of_first')} as label from (${firsts})`;
}

/** Groups by what is known of the players now: `label` is an expression over `p`, a row of players. */
export function labelsOfPlayers(label: string): string {
  return `select player_id as owner, ${label} as label from players as p final where ${SCOPE}`;
}

// An event that can be a step is a code: the milliseconds since the beginning of the span, from 1 on, times 16, plus 15 less
// the number of the step. Of events at one time later steps sort first, so none follows another of its own time.
const FIRST = 15 - 1;
const SECOND = 15 - 2;

/**
 * How many steps each player took that took the first: `owner`, `reached`. The states of a step are the latest first event
 * of a way to it that ends by then; the latest is as good as any, because all ways to a step go on alike, and it leaves the
 * most time. So one reading of a player's events in their order decides, and nothing else has to be remembered.
 */
function reachedSql(funnel: Funnel, population: Population): string {
  const { bindings } = population;
  const { steps, within_ms } = funnel;
  const within = bindings.bind('UInt64', within_ms);
  const codes = codesSql(funnel, population);
  const number = 'bitAnd(code, 15)';
  const by_player =
    `select owner, minIf(code, ${number} = ${FIRST}) as first_code, maxIf(code, ${number} = ${SECOND}) as second_code,\n` +
    // Who has no second step after a first one is settled, at the cost of no array.
    `  if(second_code > first_code, arraySort(groupArray(code)), []) as codes\n` +
    `from (${codes}) group by owner having first_code > 0 and ${IS_LEFT}`;
  // Each state stays until the next one: `arrayFill` repeats the last one that is not 0.
  const states = steps.slice(0, -1).map((_, i) => {
    const of_step = `bitAnd(c, 15) = ${FIRST - i}`;
    const state =
      i === 0
        ? `arrayMap(c -> if(${of_step}, bitShiftRight(c, 4), 0), codes)`
        : `arrayMap((c, s) -> if(${of_step} and ${goesOn(within)}, s, 0), codes, s${i - 1})`;
    return `arrayFill(s -> s > 0, ${state}) as s${i}`;
  });
  const n = steps.length;
  const is_last = `bitAnd(c, 15) = ${FIRST - n + 1} and ${goesOn(within)}`;
  const reached = [
    ...steps.slice(1, -1).map((_, i) => `(s${i + 1}[-1] > 0)`),
    `arrayExists((c, s) -> ${is_last}, codes, s${n - 2})`,
  ];
  return `select owner, toUInt8(1 + ${reached.join(' + ')}) as reached from (select owner, codes, ${states.join(',\n  ')}\nfrom (${by_player}))`;
}

/** Whether an event `c` follows a way that began at `s` in time. */
function goesOn(within: string): string {
  return `s > 0 and bitShiftRight(c, 4) - s <= ${within}`;
}

/** The codes of all events that can be a step: `owner`, `code`. */
function codesSql({ steps, within_ms, from_ms, to_ms }: Funnel, population: Population): string {
  const { bindings } = population;
  const at = `toUInt64(${AT_MS} - ${bindings.bind('Int64', from_ms - 1)})`;
  const in_span = `${at} <= ${bindings.bind('UInt64', to_ms - from_ms)}`;
  const conditions = steps.map((step, i) => {
    const chosen = isChosen(step, bindings);
    return i === 0 ? `(${chosen} and ${in_span})` : chosen;
  });
  const code = (i: number) => `bitShiftLeft(${at}, 4) + ${FIRST - i}`;
  const names = steps.map(({ event }) => event);
  // An event of a name that two steps have may be both.
  const are_apart = new Set(names).size === names.length;
  const codes = are_apart
    ? `multiIf(${conditions.map((condition, i) => `${condition}, ${code(i)}`).join(', ')}, 0)`
    : `arrayJoin([${conditions.map((condition, i) => `if(${condition}, ${code(i)}, 0)`).join(', ')}])`;
  const read = [isNamed(names, bindings), within({ from_ms, to_ms: to_ms + within_ms }, bindings)];
  return `select owner, code from (${eventsSql([`${codes} as code`], read, population)}) where code > 0`;
}
