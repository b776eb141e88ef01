import { nameOfTotal, type Total } from '../language/totals.ts';
import type { Bindings } from './bindings.ts';
import type { EventScan } from './event-scan.ts';

/** Where a total is in the lists of a row: in the list of an event's name, at an index. */
export interface Place {
  /** From 1. */
  name: number;
  index: number;
}

/** The totals of a player, by the number of a name. A name of which the player has no events has no list: all are 0. */
export type Totals = Readonly<Record<number, readonly unknown[]>>;

/** The events with `after_ms` < time <= `until_ms`, in milliseconds since the epoch. */
export interface Times {
  after_ms: number;
  until_ms: number;
}

interface Entry extends Times {
  /** The index in the list of measures, from 1. */
  measure: number;
  /** The index in the list of conditions on properties, from 1. */
  where: number;
}

/**
 * Any number of totals as one expression over lists of values, a list per name of events: ClickHouse needs a millisecond and
 * more to analyse each expression.
 */
export class TotalLists {
  readonly #scan: Pick<EventScan, 'whereSql'>;
  readonly #bindings: Bindings;
  /** By the name of the events. */
  readonly #entries = new Map<string, Entry[]>();
  readonly #places = new Map<string, Place>();
  /** By {@link nameOfTotal}. */
  readonly #named = new Map<string, Place>();
  readonly #measures: string[] = ['1'];
  readonly #wheres: string[] = ['toUInt8(1)'];

  constructor(scan: Pick<EventScan, 'whereSql'>, bindings: Bindings) {
    this.#scan = scan;
    this.#bindings = bindings;
  }

  get is_empty(): boolean {
    return this.#entries.size === 0;
  }

  /** The place of a total, over the events of these times of its set. */
  add(total: Total, times: Times): Place {
    const { set, column } = total;
    const measure = numberIn(this.#measures, column === undefined ? '1' : `ifNull(${column}, 0)`);
    const sql = this.#scan.whereSql(set);
    const where = sql === '' ? 1 : numberIn(this.#wheres, `toUInt8(${sql})`);
    const entry = { ...times, measure, where };
    const entries = this.#entries.get(set.event) ?? [];
    this.#entries.set(set.event, entries);
    const key = JSON.stringify([set.event, entry]);
    const place = this.#places.get(key) ?? {
      name: this.numberOf(set.event),
      index: entries.push(entry) - 1,
    };
    this.#places.set(key, place);
    this.#named.set(nameOfTotal(total), place);
    return place;
  }

  /** The place of the total of this name ({@link nameOfTotal}), if it was added. */
  placeOf(name: string): Place | undefined {
    return this.#named.get(name);
  }

  /** The number of an event's name, from 1; 0: no total is of it. */
  numberOf(event: string): number {
    return [...this.#entries.keys()].indexOf(event) + 1;
  }

  /** The columns of the events that {@link sql} reads. */
  columns(): string[] {
    return [
      `indexOf(${this.#bindings.bind('Array(String)', [...this.#entries.keys()])}, event) as name`,
      'toUnixTimestamp64Milli(occurred_at) as at_ms',
      `[${this.#measures.join(', ')}] as measures`,
      `[${this.#wheres.join(', ')}] as wheres`,
    ];
  }

  /** The aggregate over events of one name, grouped by it: the lists of the other names are not read. */
  sql(): string {
    const names = [...this.#entries.values()];
    const list = (type: string, of: (entry: Entry) => unknown) =>
      `${this.#bindings.bind(
        `Array(Array(${type}))`,
        names.map((entries) => entries.map(of)),
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
}

/** Joins the lists of a player's names, one row each, into one column `totals`. */
export const JOINED_LISTS = 'mapFromArrays(groupArray(toString(name)), groupArray(totals)) as totals';

/** The number of a text in a list, from 1; it is added if it is not there. */
function numberIn(list: string[], text: string): number {
  const known = list.indexOf(text);
  return known >= 0 ? known + 1 : list.push(text);
}
