import {
  conditionsOf,
  isGroup,
  type Condition,
  type DefinitionNode,
  type EventCondition,
  type Group,
  type TraitCondition,
} from '../language/conditions.ts';
import { isTraitField, traitField, type TraitFieldName } from '../language/fields.ts';
import { timesAt } from '../language/forms.ts';
import { timesIn, type Window } from '../language/span.ts';
import { totalOf } from '../language/totals.ts';
import { contextOf, eventsOfPlayersSql, playersSql, withEvents, type CompiledQuery } from './compile.ts';
import { nodeSql, type ConditionContext } from './condition-sql.ts';
import { intervalOf, type Interval } from './interval.ts';
import { JOINED_LISTS, TotalLists, type Place, type Times, type Totals } from './total-lists.ts';
import { exactJson } from '../../platform/exact-json.ts';

/** A statement about some players and any number of segments, and the function that reads its rows. */
export interface CompiledMatrix extends CompiledQuery {
  /** Whether the player of a row belongs to each of the segments, in the order of their definitions. */
  verdicts: (row: Readonly<Record<string, unknown>>) => boolean[];
  findings: Findings;
}

/** How to read what a statement found of a player out of its row. */
export interface Findings {
  /** The total of this name (`nameOfTotal`); undefined: no condition reads it. */
  totalOf: (name: string) => ((row: Found) => number) | undefined;
  /** Whether the condition holds that is this text as JSON; undefined: no definition has it. */
  truthOf: (condition: string) => ((row: Found) => boolean) | undefined;
  /** The time of the latest event that was read, in milliseconds since the epoch; 0: there is none. */
  newestOf: (row: Found) => number;
}

/** A row of the result: that of one player. */
export type Found = Readonly<Record<string, unknown>>;

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
    findings: leaves.findings(),
  };
}

/**
 * The part of a result row that answers a condition: 0 or 1, or (`within`) a whole number that must lie in an interval.
 */
interface Cell {
  column: string;
  /** Where in the column `totals`. */
  at?: Place;
  within?: Interval;
  negated: boolean;
}

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
  readonly #lists: TotalLists;
  readonly #fields = new Set<TraitFieldName>();
  readonly #single: string[] = [];

  constructor(context: ConditionContext, now_ms: number) {
    this.#context = context;
    this.#lists = new TotalLists(context.scan, context.bindings);
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
    return this.#isTrue(cell, row);
  }

  #isTrue(cell: Cell, row: Readonly<Record<string, unknown>>): boolean {
    const content = row[cell.column];
    const { at } = cell;
    const value = at === undefined ? content : ((content as Totals)[at.name]?.[at.index] ?? 0);
    const holds = cell.within === undefined ? Number(value) === 1 : isWithin(value, cell.within);
    return holds !== cell.negated;
  }

  findings(): Findings {
    return {
      totalOf: (name) => {
        const at = this.#lists.placeOf(name);
        return at && ((row) => Number((row['totals'] as Totals)[at.name]?.[at.index] ?? 0));
      },
      truthOf: (condition) => {
        const cell = this.#asked.get(condition);
        return cell && ((row) => this.#isTrue(cell, row));
      },
      newestOf: (row) => Number(row['newest_ms'] ?? 0),
    };
  }

  /** The select list: one row per player. */
  columns(): string[] {
    const columns = this.#single.map((sql, i) => `${sql} as c${i}`);
    if (!this.#lists.is_empty) columns.unshift('e.totals as totals', 'e.newest_ms as newest_ms');
    columns.unshift(...[...this.#fields].map((field) => `p.${field} as f_${field}`));
    return columns;
  }

  /**
   * The subquery over the players' events. With totals it groups by player and name first, so that an event is compared
   * with the time spans of its own name only.
   */
  eventsSql(are_merged: boolean): string {
    const { scan } = this.#context;
    const lists = this.#lists;
    if (lists.is_empty) return eventsOfPlayersSql(scan, are_merged, scan.columns);
    const by_name = eventsOfPlayersSql(
      scan,
      are_merged,
      [`${lists.sql()} as totals`, 'max(at_ms) as newest', ...scan.columns],
      lists.columns(),
      ['name'],
    );
    const columns = scan.aggregates.map(
      ({ alias, event }) => `anyIf(${alias}, name = ${lists.numberOf(event)}) as ${alias}`,
    );
    columns.unshift(JOINED_LISTS, 'max(newest) as newest_ms');
    return `select owner, ${columns.join(', ')}\nfrom (\n${by_name}\n)\ngroup by owner`;
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
    const asked = totalOf(condition);
    if (asked === undefined) return undefined;
    const { total, within, negated } = asked;
    const at = this.#lists.add(total, timeOf(total.set.window, this.#now_ms));
    return { column: 'totals', at, within, negated };
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
function timeOf(window: Window, now_ms: number): Times {
  const { low, high } = timesAt(timesIn(window), now_ms);
  return {
    after_ms: low === undefined ? ALWAYS.after_ms : low.value - (low.is_included ? 1 : 0),
    until_ms: high === undefined ? ALWAYS.until_ms : high.value - (high.is_included ? 0 : 1),
  };
}
