import type { EventSet } from '../language/conditions.ts';
import { isMoneyProperty, MONEY_PROPERTIES } from '../language/fields.ts';
import type { Window } from '../language/span.ts';
import type { Bindings } from './bindings.ts';
import { before, comparisonSql, moment, NOW } from './comparison-sql.ts';
import { jsonComparisonSql } from './json-sql.ts';

/**
 * In so short a time players have few events of one kind each. Left ungrouped they cost a tenth less (49 instead of 57 ms
 * for the logins of a day), and half as much again where there are many (1,070 instead of 620 ms for all bets).
 */
const SHORT_MS = 2 * 24 * 3_600_000;

function isShort(window: Window): boolean {
  if (window.kind === 'last') return window.last_ms <= SHORT_MS;
  return window.kind === 'range' && window.to_ms - window.from_ms <= SHORT_MS;
}

/** One scan of events for every condition of a statement: each aggregate over its own part of what is read. */
export class EventScan {
  readonly #bindings: Bindings;
  readonly #sets: readonly EventSet[];
  readonly #of_players: boolean;
  /** Every set is the whole scan but for its `where`. */
  readonly #is_of_one_event: boolean;
  /** Nothing is read but the one set that there is. */
  readonly #is_narrow: boolean;
  /** Rows are not counted: it is enough that there is one, and a player has few. */
  readonly #is_of_presence: boolean;
  readonly #aliases = new Map<string, string>();

  /**
   * `sets`: everything that will be asked for. `of_players`: of some players, whose rows may stand beside later revisions
   * with other amounts: none may be left out by what it says. `of_presence`: all that will be asked is whether there is
   * any.
   */
  constructor(
    sets: readonly EventSet[],
    bindings: Bindings,
    { of_players, of_presence }: { of_players: boolean; of_presence: boolean },
  ) {
    this.#sets = sets;
    this.#bindings = bindings;
    this.#of_players = of_players;
    this.#is_of_one_event = areEqual(sets.map(({ event, window }) => [event, window]));
    this.#is_narrow = !of_players && areEqual(sets.map(({ event, window, where }) => [event, window, where]));
    this.#is_of_presence = this.#is_narrow && of_presence && sets.every(({ window }) => isShort(window));
  }

  get is_empty(): boolean {
    return this.#sets.length === 0;
  }

  /**
   * The column of an aggregate over the events of a set, like `e.a0`. `name` is that of an aggregate function without
   * its -If; further conditions narrow the set.
   */
  aggregate(set: EventSet, name: string, argument: string, further: readonly string[] = []): string {
    if (this.#is_of_presence) return this.#column('toUInt64(1)');
    const conditions = [
      ...(this.#is_of_one_event ? [] : this.#nameAndWindow(set)),
      ...(this.#is_narrow ? [] : this.#conditionsOn(set)),
      ...further,
    ];
    const condition = conditions.join(' and ');
    const call =
      condition === ''
        ? `${name}(${argument})`
        : `${name}If(${argument === '' ? '' : `${argument}, `}${condition})`;
    return this.#column(call);
  }

  #column(call: string): string {
    let alias = this.#aliases.get(call);
    if (alias === undefined) {
      alias = `a${this.#aliases.size}`;
      this.#aliases.set(call, alias);
    }
    return `e.${alias}`;
  }

  /** Rows of one player are one; of presence any of them stands for all, which is left to the join. */
  get grouping(): string {
    return this.#is_of_presence ? '' : '\n  group by owner';
  }

  /** The aggregates, to be selected under their names. */
  get columns(): string[] {
    return [...this.#aliases].map(([call, alias]) => `${call} as ${alias}`);
  }

  /**
   * Which events are read at all: of each event the widest window that any set has; of some players, whose events are few
   * and lie together, one window for all, since what the engine has to understand takes it longer than to read.
   */
  get filter(): string {
    const [first] = this.#sets;
    if (first !== undefined && this.#is_narrow)
      return [...this.#nameAndWindow(first), ...this.#conditionsOn(first)].join(' and ');
    if (this.#of_players) {
      const names = this.#bindings.bind('Array(String)', [...new Set(this.#sets.map(({ event }) => event))]);
      return [`event in ${names}`, ...this.#widest(this.#sets.map(({ window }) => window))].join(' and ');
    }
    const windows = new Map<string, Window[]>();
    for (const { event, window } of this.#sets) windows.set(event, [...(windows.get(event) ?? []), window]);
    const parts = [...windows].map(([event, of_event]) =>
      [`event = ${this.#bindings.bind('String', event)}`, ...this.#widest(of_event)].join(' and '),
    );
    return parts.length === 1 ? (parts[0] ?? '') : `(${parts.map((part) => `(${part})`).join(' or ')})`;
  }

  #widest(windows: readonly Window[]): string[] {
    if (windows.some(({ kind }) => kind === 'always')) return [];
    const lasts = windows.flatMap((window) => (window.kind === 'last' ? [window.last_ms] : []));
    const ranges = windows.filter((window) => window.kind === 'range');
    const alternatives = [
      ...(lasts.length > 0 ? [this.#within({ kind: 'last', last_ms: Math.max(...lasts) })] : []),
      ...(ranges.length > 0
        ? [
            this.#within({
              kind: 'range',
              from_ms: Math.min(...ranges.map(({ from_ms }) => from_ms)),
              to_ms: Math.max(...ranges.map(({ to_ms }) => to_ms)),
            }),
          ]
        : []),
    ].map((bounds) => bounds.join(' and '));
    return alternatives.length === 1 ? alternatives : [`((${alternatives.join(') or (')}))`];
  }

  #nameAndWindow({ event, window }: EventSet): string[] {
    return [`event = ${this.#bindings.bind('String', event)}`, ...this.#within(window)];
  }

  #within(window: Window): string[] {
    if (window.kind === 'always') return [];
    if (window.kind === 'last') {
      return [`occurred_at > ${before(this.#bindings, window.last_ms)}`, `occurred_at <= ${NOW}`];
    }
    return [
      `occurred_at >= ${moment(this.#bindings, window.from_ms)}`,
      `occurred_at < ${moment(this.#bindings, window.to_ms)}`,
    ];
  }

  /** The conditions on properties as one expression of the events; empty where there are none. */
  whereSql(set: EventSet): string {
    return this.#conditionsOn(set).join(' and ');
  }

  #conditionsOn({ where }: EventSet): string[] {
    return where.map(({ property, comparison }) =>
      isMoneyProperty(property)
        ? comparisonSql(
            { kind: 'number', held_as: 'integer', sql: MONEY_PROPERTIES[property], nullable: true },
            comparison,
            this.#bindings,
          )
        : jsonComparisonSql({ column: 'properties', key: property }, comparison, this.#bindings),
    );
  }
}

function areEqual(values: readonly unknown[]): boolean {
  return new Set(values.map((value) => JSON.stringify(value))).size === 1;
}
