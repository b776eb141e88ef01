import { named } from '../../../ledger/money/ngr-sql.ts';
import { isMoneyProperty } from '../../../segments/language/fields.ts';
import type { Bindings } from '../../../segments/sql/bindings.ts';
import { isJsonNumber, jsonDecimal, jsonNumber, jsonText } from '../../../segments/sql/json-sql.ts';
import { moneyOperand } from '../../../segments/sql/money-sql.ts';
import type { Deduction } from '../../../tenants/config/read.ts';
import {
  basisSql,
  MEASURE_SQL,
  type MeasureSql,
  type Source,
  type Measure,
} from '../metrics/measure-queries.ts';
import type { TrendQuery } from '../schema.ts';
import { readWhere, whereSql } from '../sql/filter.ts';

/** Puts the values of a column together; `only`: those for which the condition holds. */
type PutTogether = (column: string, only?: string) => string;

/** One aggregate of a trend's statement. */
export interface Part {
  /** The column that it is selected as. */
  alias: string;
  source: Source;
  /** The names of the events that it reads; undefined: all events, or another source. */
  events: readonly string[] | undefined;
  /** Over the rows of an interval and a group. */
  inner: string;
  /** Over the values of `inner`, with which intervals and groups are put together. */
  outer: PutTogether;
  /** Of the rows of one player, as text. */
  of_player: string;
}

/** The series of a trend that is made of events of one name. */
export type EventSeries = Extract<TrendQuery['series'][number], { event: string }>;

/** The aggregates of a statement: equal ones are computed once. */
export class Parts {
  readonly #bindings: Bindings;
  readonly #by_key = new Map<string, Part>();

  constructor(bindings: Bindings) {
    this.#bindings = bindings;
  }

  get all(): readonly Part[] {
    return [...this.#by_key.values()];
  }

  measure(name: Measure): Part {
    return this.#of(MEASURE_SQL[name]);
  }

  basis(deduction: Deduction): Part {
    return this.#of(basisSql(deduction));
  }

  #of({ source, events, adds }: MeasureSql): Part {
    const condition = events === undefined ? '' : named(events);
    return adds === undefined
      ? this.#distinct(source, events, 'owner', condition)
      : this.#sum(source, events, `toInt128(${adds})`, condition);
  }

  /** The aggregate of a series of events; of a mean the sum and the number of values. */
  ofEvents(series: EventSeries, path: string): { parts: [Part] | [Part, Part]; is_money: boolean } {
    const { event, aggregate, property = '' } = series;
    const where = whereSql({ event, where: readWhere(event, series.where, path) }, this.#bindings);
    const condition = [`event = ${this.#bindings.bind('String', event)}`, where]
      .filter((part) => part !== '')
      .join(' and ');
    const events = [event];
    const count = () => this.#sum('events', events, 'toInt128(1)', condition);
    if (aggregate === 'count') return { parts: [count()], is_money: false };
    if (aggregate === 'players')
      return { parts: [this.#distinct('events', events, 'owner', condition)], is_money: false };
    const json = { column: 'properties', key: property };
    const operand = isMoneyProperty(property, event)
      ? moneyOperand(event, property, this.#bindings)
      : undefined;
    const is_money = operand?.held_as === 'integer';
    if (aggregate === 'distinct') {
      const value = operand?.sql ?? jsonText(json, this.#bindings);
      return { parts: [this.#distinct('events', events, `toString(${value})`, condition)], is_money: false };
    }
    if (aggregate === 'min' || aggregate === 'max') {
      const value = operand?.sql ?? jsonNumber(json, this.#bindings);
      return { parts: [this.#extreme(events, aggregate, value, condition)], is_money };
    }
    const number = operand === undefined ? jsonDecimal(json, this.#bindings) : `ifNull(${operand.sql}, 0)`;
    const total = this.#sum('events', events, is_money ? `toInt128(${number})` : number, condition);
    if (aggregate === 'sum') return { parts: [total], is_money };
    const present = operand === undefined ? isJsonNumber(json, this.#bindings) : `${operand.sql} is not null`;
    const values = this.#sum('events', events, 'toInt128(1)', `${condition} and ${present}`);
    return { parts: [total, values], is_money };
  }

  #sum(source: Source, events: readonly string[] | undefined, adds: string, condition: string): Part {
    const inner = condition === '' ? `sum(${adds})` : `sumIf(${adds}, ${condition})`;
    return this.#part(inner, source, events, putTogether('sum'));
  }

  #distinct(source: Source, events: readonly string[] | undefined, value: string, condition: string): Part {
    const inner = condition === '' ? `uniqExactState(${value})` : `uniqExactStateIf(${value}, ${condition})`;
    const plain = condition === '' ? `uniqExact(${value})` : `uniqExactIf(${value}, ${condition})`;
    return this.#part(inner, source, events, putTogether('uniqExactMerge'), plain);
  }

  #extreme(events: readonly string[], name: 'min' | 'max', value: string, condition: string): Part {
    const inner = `${name}OrNullIf(${value}, ${condition})`;
    return this.#part(inner, 'events', events, putTogether(name));
  }

  #part(
    inner: string,
    source: Source,
    events: readonly string[] | undefined,
    outer: PutTogether,
    of_player = inner,
  ): Part {
    const key = `${source} ${inner}`;
    const known = this.#by_key.get(key);
    if (known !== undefined) return known;
    const part = { alias: `m${this.#by_key.size}`, source, events, inner, outer, of_player };
    this.#by_key.set(key, part);
    return part;
  }
}

function putTogether(name: string): PutTogether {
  return (column, only) => (only === undefined ? `${name}(${column})` : `${name}If(${column}, ${only})`);
}
