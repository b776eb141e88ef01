import {
  conditionsOf,
  isGroup,
  type Condition,
  type DefinitionNode,
  type EventCondition,
  type Group,
  type TraitCondition,
} from '../language/conditions.ts';
import { isAlwaysInLedger } from '../../ledger/money/ledger.ts';
import {
  isMoneyProperty,
  isTraitField,
  MONEY_PROPERTIES,
  traitField,
  type TraitFieldName,
} from '../language/fields.ts';
import { timesAt } from '../language/forms.ts';
import { timesIn, type Window } from '../language/span.ts';
import { contextOf, eventsOfPlayersSql, playersSql, withEvents, type CompiledQuery } from './compile.ts';
import { nodeSql, type ConditionContext } from './condition-sql.ts';
import { intervalOf, type Interval } from './interval.ts';
import { exactJson } from '../../platform/exact-json.ts';

/** A statement about some players and any number of segments, and the function that reads its rows. */
export interface CompiledMatrix extends CompiledQuery {
  /** Whether the player of a row belongs to each of the segments, in the order of their definitions. */
  verdicts: (row: Readonly<Record<string, unknown>>) => boolean[];
}

/**
 * Compiles a statement that finds which of some players match which segments. A condition that several segments have is
 * computed once. Most conditions compare counts and sums of events: one expression computes all of these from lists of
 * values, because ClickHouse takes a millisecond and more to analyse each expression (a hundred segments as a hundred
 * columns took 300 ms to analyse and 10 ms to run). `verdicts` compares the whole numbers and applies AND, OR and NOT.
 * `are_merged`: the players have `former` ids. `inlined`: definitions by segment_id; a condition on one of these
 * segments asks its definition, one on any other segment its stored members.
 */
export function compileMatrix(
  definitions: readonly Group[],
  now_ms: number,
  are_merged = false,
  inlined: ReadonlyMap<string, Group> = new Map(),
): CompiledMatrix {
  const every = [...definitions, ...inlined.values()];
  const context = contextOf(every, true);
  const leaves = new Leaves(context, now_ms);
  const inlinedOf = (one: Condition) => (one.type === 'segment' ? inlined.get(one.segment_id) : undefined);
  for (const definition of every) {
    for (const one of conditionsOf(definition)) if (inlinedOf(one) === undefined) leaves.add(one);
  }
  const columns = ['p.player_id as player_id', ...leaves.columns()];
  const events = context.scan.is_empty ? undefined : leaves.eventsSql(are_merged);
  const players = playersSql(context);
  return {
    sql: `select ${columns.join(',\n  ')}\nfrom ${events === undefined ? players : withEvents(players, events)}`,
    params: context.bindings.params,
    verdicts: (row) => {
      // Each inlined segment is decided once for the player, however often it is referred to.
      const memberships = new Map<Group, boolean>();
      const isMember = (definition: Group): boolean => {
        const known = memberships.get(definition) ?? holds(definition);
        memberships.set(definition, known);
        return known;
      };
      const holds = (node: DefinitionNode): boolean => {
        if (!isGroup(node)) {
          const definition = inlinedOf(node);
          if (node.type !== 'segment' || definition === undefined) return leaves.holds(node, row);
          return isMember(definition) !== node.negated;
        }
        if (node.operator === 'NOT') return !node.children.some(holds);
        return node.operator === 'AND' ? node.children.every(holds) : node.children.some(holds);
      };
      return definitions.map(holds);
    },
  };
}

/**
 * The part of a result row that answers a condition: 0 or 1, or (`within`) a whole number that must lie in an interval.
 */
interface Cell {
  column: string;
  /**
   * Where in the column `totals`: in the list of a name, at an index. Names of which the player has no events have no
   * list; their totals are all 0.
   */
  at?: { name: number; index: number };
  within?: Interval;
  negated: boolean;
}

/** One entry of a name's list: the sum of a measure over its events, in a time span, that satisfy a `where`. */
interface Total {
  /** The events with `after_ms` < time <= `until_ms`, in milliseconds since the epoch. */
  after_ms: number;
  until_ms: number;
  /** The index in the list of measures, from 1. */
  measure: number;
  /** The index in the list of conditions on properties, from 1. */
  where: number;
}

/** The totals of a player, by the number of a name. */
type Totals = Readonly<Record<number, readonly unknown[]>>;

/** Wider than the range of DateTime64, so it includes every event. */
const ALWAYS = { after_ms: -(10 ** 15), until_ms: 10 ** 15 };

/** The conditions of all definitions, and how a statement computes each of them once. */
class Leaves {
  readonly #context: ConditionContext;
  readonly #now_ms: number;
  /** Cells by the condition as JSON: equal conditions share a cell. */
  readonly #asked = new Map<string, Cell>();
  /** Cells by the condition object, for the fast access that thousands of rows need. */
  readonly #cells = new Map<Condition, Cell>();
  /** By the name of the events. */
  readonly #totals = new Map<string, Total[]>();
  readonly #places = new Map<string, { name: number; index: number }>();
  readonly #measures: string[] = ['1'];
  readonly #wheres: string[] = ['toUInt8(1)'];
  readonly #fields = new Set<TraitFieldName>();
  readonly #single: string[] = [];

  constructor(context: ConditionContext, now_ms: number) {
    this.#context = context;
    this.#now_ms = now_ms;
  }

  add(condition: Condition): void {
    const key = exactJson(condition);
    const cell = this.#asked.get(key) ?? this.#cellOf(condition);
    this.#asked.set(key, cell);
    this.#cells.set(condition, cell);
  }

  holds(condition: Condition, row: Readonly<Record<string, unknown>>): boolean {
    const cell = this.#cells.get(condition);
    if (cell === undefined) throw new Error('a condition was not added');
    const content = row[cell.column];
    const { at } = cell;
    const value = at === undefined ? content : ((content as Totals)[at.name]?.[at.index] ?? 0);
    const holds = cell.within === undefined ? Number(value) === 1 : isWithin(value, cell.within);
    return holds !== cell.negated;
  }

  /** The select list: one row per player. */
  columns(): string[] {
    const columns = this.#single.map((sql, i) => `${sql} as c${i}`);
    if (this.#totals.size > 0) columns.unshift('e.totals as totals');
    columns.unshift(...[...this.#fields].map((field) => `p.${field} as f_${field}`));
    return columns;
  }

  /**
   * The subquery over the players' events. With totals it groups by player and name first, so that an event is compared
   * with the time spans of its own name only.
   */
  eventsSql(are_merged: boolean): string {
    const { scan, bindings } = this.#context;
    if (this.#totals.size === 0) return eventsOfPlayersSql(scan, are_merged, scan.columns);
    const names = [...this.#totals.keys()];
    const by_name = eventsOfPlayersSql(
      scan,
      are_merged,
      [`${this.#totalsSql()} as totals`, ...scan.columns],
      [
        `indexOf(${bindings.bind('Array(String)', names)}, event) as name`,
        'toUnixTimestamp64Milli(occurred_at) as at_ms',
        `[${this.#measures.join(', ')}] as measures`,
        `[${this.#wheres.join(', ')}] as wheres`,
      ],
      ['name'],
    );
    const columns = scan.aggregates.map(
      ({ alias, event }) => `anyIf(${alias}, name = ${this.#nameOf(event)}) as ${alias}`,
    );
    columns.unshift('mapFromArrays(groupArray(toString(name)), groupArray(totals)) as totals');
    return `select owner, ${columns.join(', ')}\nfrom (\n${by_name}\n)\ngroup by owner`;
  }

  /** The totals of one name: the lists of the other names are not read. */
  #totalsSql(): string {
    const { bindings } = this.#context;
    const names = [...this.#totals.values()];
    const list = (type: string, of: (total: Total) => unknown) =>
      `${bindings.bind(
        `Array(Array(${type}))`,
        names.map((totals) => totals.map(of)),
      )}[name]`;
    const lists = [
      list('Int64', ({ after_ms }) => after_ms),
      list('Int64', ({ until_ms }) => until_ms),
      list('UInt8', ({ measure }) => measure),
      list('UInt16', ({ where }) => where),
    ].join(', ');
    return (
      'sumForEach(arrayMap((after_ms, until_ms, measure, where_index) -> toInt128(if(at_ms > after_ms ' +
      `and at_ms <= until_ms and wheres[where_index], measures[measure], 0)), ${lists}))`
    );
  }

  #cellOf(condition: Condition): Cell {
    if (condition.type === 'event') return this.#cellOfTotal(condition) ?? this.#ownCell(condition);
    if (condition.type === 'trait') return this.#cellOfField(condition) ?? this.#ownCell(condition);
    return this.#ownCell(condition);
  }

  /** A condition that no list covers: a column of its own. */
  #ownCell(condition: Condition): Cell {
    this.#single.push(nodeSql(condition, this.#context));
    return { column: `c${this.#single.length - 1}`, negated: false };
  }

  /** A count, or a sum of money, that is compared with a range: an entry of the lists. */
  #cellOfTotal(condition: EventCondition): Cell | undefined {
    const { aggregate, property = '', event, window, comparison } = condition;
    const is_money = isMoneyProperty(property, event) && isAlwaysInLedger(event, property);
    const of_money = aggregate === 'sum' && is_money ? `ifNull(${MONEY_PROPERTIES[property]}, 0)` : undefined;
    const sql = aggregate === 'count' ? '1' : of_money;
    const interval = intervalOf(comparison.positive);
    if (sql === undefined || interval === undefined) return undefined;
    const known = this.#measures.indexOf(sql);
    const measure = known >= 0 ? known + 1 : this.#measures.push(sql);
    const where = this.#whereOf(condition);
    const at = this.#placeOf(event, { ...timeOf(window, this.#now_ms), measure, where });
    return { column: 'totals', at, within: interval, negated: comparison.negated };
  }

  /** The place of a total, added once: conditions that compare it with different values share it. */
  #placeOf(event: string, total: Total): { name: number; index: number } {
    const totals = this.#totals.get(event) ?? [];
    this.#totals.set(event, totals);
    const key = JSON.stringify([event, total]);
    const place = this.#places.get(key) ?? { name: this.#nameOf(event), index: totals.push(total) - 1 };
    this.#places.set(key, place);
    return place;
  }

  /** The number of a name, from 1; 0: no total is of it. */
  #nameOf(event: string): number {
    return [...this.#totals.keys()].indexOf(event) + 1;
  }

  #whereOf(condition: EventCondition): number {
    const sql = this.#context.scan.whereSql(condition);
    if (sql === '') return 1;
    const known = this.#wheres.indexOf(`toUInt8(${sql})`);
    return known >= 0 ? known + 1 : this.#wheres.push(`toUInt8(${sql})`);
  }

  /** A whole-number field that is compared with a range: the field's column. */
  #cellOfField({ field, comparison }: TraitCondition): Cell | undefined {
    const interval = intervalOf(comparison.positive);
    if (!isTraitField(field) || !isWhole(field) || interval === undefined) return undefined;
    this.#context.columns.add(field);
    this.#fields.add(field);
    return { column: `f_${field}`, within: interval, negated: comparison.negated };
  }
}

/** `value`: a whole number, as text where it may have more than 53 bits. */
function isWithin(value: unknown, { low, high }: Interval): boolean {
  const whole = BigInt(value as string | number);
  return whole >= low && whole <= high;
}

function isWhole(name: TraitFieldName): boolean {
  const { kind, nullable, is_fraction } = traitField(name);
  return kind === 'number' && !nullable && is_fraction !== true;
}

/** The window as bounds of `after_ms < t <= until_ms`. */
function timeOf(window: Window, now_ms: number): { after_ms: number; until_ms: number } {
  const { low, high } = timesAt(timesIn(window), now_ms);
  return {
    after_ms: low === undefined ? ALWAYS.after_ms : low.value - (low.is_included ? 1 : 0),
    until_ms: high === undefined ? ALWAYS.until_ms : high.value - (high.is_included ? 0 : 1),
  };
}
