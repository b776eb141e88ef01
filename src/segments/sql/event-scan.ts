import type { EventSet } from '../conditions.ts';
import { isMoneyProperty, MONEY_PROPERTIES } from '../fields.ts';
import type { Window } from '../span.ts';
import type { Bindings } from './bindings.ts';
import { before, comparisonSql, moment, NOW } from './comparison-sql.ts';
import { jsonComparisonSql } from './json-sql.ts';

/** One scan of events for every condition of a statement: each aggregate over its own part of what is read. */
export class EventScan {
  readonly #bindings: Bindings;
  readonly #sets: readonly EventSet[];
  /** Every set is the whole scan but for its `where`. */
  readonly #is_plain: boolean;
  readonly #aliases = new Map<string, string>();

  /** `sets`: everything that will be asked for. */
  constructor(sets: readonly EventSet[], bindings: Bindings) {
    this.#sets = sets;
    this.#bindings = bindings;
    this.#is_plain = new Set(sets.map(({ event, window }) => JSON.stringify([event, window]))).size === 1;
  }

  get is_empty(): boolean {
    return this.#sets.length === 0;
  }

  /**
   * The column of an aggregate over the events of a set, like `e.a0`. `name` is that of an aggregate function without
   * its -If; further conditions narrow the set.
   */
  aggregate(set: EventSet, name: string, argument: string, further: readonly string[] = []): string {
    const conditions = [
      ...(this.#is_plain ? [] : this.#placeOf(set)),
      ...this.#conditionsOn(set),
      ...further,
    ];
    const condition = conditions.join(' and ');
    const call =
      condition === ''
        ? `${name}(${argument})`
        : `${name}If(${argument === '' ? '' : `${argument}, `}${condition})`;
    let alias = this.#aliases.get(call);
    if (alias === undefined) {
      alias = `a${this.#aliases.size}`;
      this.#aliases.set(call, alias);
    }
    return `e.${alias}`;
  }

  /** The aggregates, to be selected under their names. */
  get columns(): string[] {
    return [...this.#aliases].map(([call, alias]) => `${call} as ${alias}`);
  }

  /** Which events are read at all: of each event the widest window that any set has. */
  get filter(): string {
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

  #placeOf({ event, window }: EventSet): string[] {
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
