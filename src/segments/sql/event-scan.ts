import type { EventSet } from '../language/conditions.ts';
import { isMoneyProperty } from '../language/fields.ts';
import { lengthMs, timesIn, type Window } from '../language/span.ts';
import type { Bindings } from './bindings.ts';
import { comparisonSql, timesSql } from './comparison-sql.ts';
import { jsonComparisonSql } from './json-sql.ts';
import { moneyOperand } from './money-sql.ts';
import { exactJson } from '../../platform/exact-json.ts';

/**
 * In a window of at most this length a player has few events of one name. Without grouping such a query is faster (49
 * instead of 57 ms for the logins of a day); with many events per player it is slower (1,070 instead of 620 ms for all
 * bets).
 */
const SHORT_MS = 2 * 24 * 3_600_000;

/** One scan of events for all conditions of a statement: each aggregate uses its own part of the rows. */
export class EventScan {
  readonly #bindings: Bindings;
  readonly #sets: readonly EventSet[];
  readonly #of_players: boolean;
  /** All sets have the same event and window; they differ in their `where` only. */
  readonly #is_of_one_event: boolean;
  /** All sets are equal, and the filter reads nothing else. */
  readonly #is_narrow: boolean;
  /**
   * The conditions only ask whether a player has a row, and players have few rows: these are neither counted nor
   * grouped.
   */
  readonly #is_of_presence: boolean;
  /** By the call of an aggregate: its alias, and the name of the events that it reads. */
  readonly #aggregates = new Map<string, { alias: string; event: string }>();

  /**
   * `sets`: every set that a condition will aggregate. `of_players`: the statement is about some players, whose events
   * may have rows of several revisions with different amounts, so the filter must drop no row because of its
   * properties. `of_presence`: every condition only asks whether the player has an event of its set.
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
    this.#is_of_presence =
      this.#is_narrow && of_presence && sets.every(({ window }) => lengthMs(window) <= SHORT_MS);
  }

  get is_empty(): boolean {
    return this.#sets.length === 0;
  }

  /**
   * The column of an aggregate over the events of a set, like `e.a0`. `name`: the aggregate function without `If`.
   * `further`: conditions in addition to those of the set.
   */
  aggregate(set: EventSet, name: string, argument: string, further: readonly string[] = []): string {
    if (this.#is_of_presence) return this.#column('toUInt64(1)', set);
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
    return this.#column(call, set);
  }

  #column(call: string, { event }: EventSet): string {
    const { alias } = this.#aggregates.get(call) ?? { alias: `a${this.#aggregates.size}` };
    this.#aggregates.set(call, { alias, event });
    return `e.${alias}`;
  }

  /** Groups the rows by player. For presence nothing is grouped: the `any` join takes one row of each player. */
  get grouping(): string {
    return this.#is_of_presence ? '' : '\n  group by owner';
  }

  /** The aggregates with their aliases, for the select list. */
  get columns(): string[] {
    return [...this.#aggregates].map(([call, { alias }]) => `${call} as ${alias}`);
  }

  /** The aliases of the aggregates, each with the name of the events that it reads. */
  get aggregates(): { alias: string; event: string }[] {
    return [...this.#aggregates.values()];
  }

  /**
   * The condition for the events that are read: for each name the widest window of its sets. For some players there is
   * one window for all names: their events are few and stored together, so reading more of them takes ClickHouse less
   * time than analysing a longer condition.
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

  /** The bounds that include all windows: the longest `last`, and one range around all ranges; empty: no bounds. */
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
    return timesSql('occurred_at', timesIn(window), this.#bindings);
  }

  /** The `where` of a set as one expression over the events; an empty text without clauses. */
  whereSql(set: EventSet): string {
    return this.#conditionsOn(set).join(' and ');
  }

  #conditionsOn({ event, where }: EventSet): string[] {
    return where.map(({ property, comparison }) =>
      isMoneyProperty(property, event)
        ? comparisonSql(moneyOperand(event, property, this.#bindings), comparison, this.#bindings)
        : jsonComparisonSql({ column: 'properties', key: property }, comparison, this.#bindings),
    );
  }
}

function areEqual(values: readonly unknown[]): boolean {
  return new Set(values.map((value) => exactJson(value))).size === 1;
}
