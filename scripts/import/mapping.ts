import type { EventBody } from '../../src/ingest/events/validate.ts';
import { betKindOf, moneyKindOf } from '../../src/ledger/money/ledger.ts';
import { exactJson, isExactNumber, parseExact } from '../../src/platform/exact-json.ts';
import { TimeZone } from '../../src/platform/time-zone.ts';
import type {
  ConditionMapping,
  EventMapping,
  Mapping,
  MoneyMapping,
  TimeMapping,
  ValueMapping,
} from './mapping-schema.ts';
import type { Fields, FileRecord } from './records.ts';
import { ImportError, shown, ValueError, type Refusal } from './refusal.ts';
import { moneyOf, timeReader } from './values.ts';

/** What a record becomes: events, which may be none, or a refusal. */
export type Mapped = { events: EventBody[]; refusal?: undefined } | { events?: undefined; refusal: Refusal };

/** Derives the events of a record; never throws. */
export type Mapper = (record: FileRecord) => Mapped;

/** Reads one value of a record; undefined: it is empty, and the event goes without it. Throws {@link ValueError}. */
type Read = (fields: Fields, line: number) => unknown;

/** Reads the field of a column as it is; undefined when it is empty. */
type ReadColumn = (fields: Fields) => unknown;

/** What a mapping is compiled for. */
export interface MappingContext {
  /** The columns of a CSV file; undefined for NDJSON. */
  columns: readonly string[] | undefined;
  /** Names the origin of the lines in the ids that are derived from line numbers. */
  source: string;
}

/** Compiles a mapping. Throws ImportError when it names a column that the file does not have. */
export function compileMapping(mapping: Mapping, context: MappingContext): Mapper {
  const compile = new Compiler(context);
  const events = mapping.events.map((one, i) => compile.event(mapping, one, `events.${i}`));
  return (record) => {
    if (record.fields === undefined) return { refusal: record.refusal };
    const { fields, line } = record;
    try {
      const found: EventBody[] = [];
      for (const event of events) {
        const made = event(fields, line, found.length);
        if (made !== undefined) found.push(made);
      }
      return { events: found };
    } catch (error) {
      if (error instanceof ValueError) return { refusal: { code: 'MAPPING_FAILED', reason: error.message } };
      throw error;
    }
  };
}

type MakeEvent = (fields: Fields, line: number, index: number) => EventBody | undefined;

class Compiler {
  readonly #context: MappingContext;

  constructor(context: MappingContext) {
    this.#context = context;
  }

  event(whole: Mapping, one: EventMapping, path: string): MakeEvent {
    const { source } = this.#context;
    const when = one.when === undefined ? undefined : this.#condition(one.when, `${path}.when`);
    const unless = one.unless === undefined ? undefined : this.#condition(one.unless, `${path}.unless`);
    const readName = typeof one.event === 'string' ? undefined : this.#value(one.event, `${path}.event`);
    const constant_name = typeof one.event === 'string' ? one.event : undefined;
    const timestamp = one.timestamp ?? whole.timestamp;
    const readTime = timestamp && this.#time(timestamp, `${path}.timestamp`);
    const ids = (['anonymous_id', 'player_id', 'external_id'] as const).flatMap((field) => {
      const from = one[field] ?? whole[field];
      return from === undefined ? [] : [[field, this.#text(from, `${path}.${field}`)] as const];
    });
    const properties = Object.entries(one.properties).map(
      ([name, from]) => [name, this.#value(from, `${path}.properties.${name}`)] as const,
    );
    return (fields, line, index) => {
      if (when?.(fields) === false || unless?.(fields) === true) return undefined;
      const name = constant_name ?? readName?.(fields, line);
      // A map may say null: no event.
      if (name === null) return undefined;
      if (typeof name !== 'string') throw new ValueError(`${path}.event: the name of the event is empty`);
      const event: EventBody = { event: name };
      for (const [field, read] of ids) {
        const id = read(fields, line);
        if (id !== undefined) event[field] = id;
      }
      const at = readTime?.(fields, line);
      if (typeof at !== 'string') throw new ValueError(`${path}.timestamp: the time is empty`);
      event.timestamp = at;
      const made: Record<string, unknown> = {};
      for (const [property, read] of properties) {
        const found = read(fields, line);
        if (found !== undefined && found !== null) made[property] = found;
      }
      if (needsDedupeId(name, made)) made['dedupe_id'] = `${source}:${line}${index === 0 ? '' : `:${index}`}`;
      event.properties = made;
      return event;
    };
  }

  #text(from: ValueMapping, path: string): (fields: Fields, line: number) => string | undefined {
    const read = this.#value(from, path);
    return (fields, line) => {
      const found = read(fields, line);
      return found === undefined || found === null ? undefined : textOf(found);
    };
  }

  #value(from: ValueMapping, path: string): Read {
    if (typeof from === 'string') return this.#column(from, path);
    if ('value' in from) return () => from.value;
    if ('line' in from) {
      const { source } = this.#context;
      return (_fields, line) => `${from.prefix ?? ''}${source}:${line}`;
    }
    if ('money' in from) return this.#money(from, path);
    if ('time' in from) return this.#time(from, path);
    if ('columns' in from) return this.#joined(from, path);
    return this.#mapped(from, path);
  }

  /** The fields with the separator between them; without a value when one of them is empty. */
  #joined(from: { columns: string[]; separator: string; prefix?: string | undefined }, path: string): Read {
    const reads = from.columns.map((name) => this.#column(name, path));
    return (fields) => {
      const parts = reads.map((read) => read(fields));
      if (parts.includes(undefined)) return undefined;
      return `${from.prefix ?? ''}${parts.map(textOf).join(from.separator)}`;
    };
  }

  #mapped(from: Extract<ValueMapping, { column: string }>, path: string): Read {
    const read = this.#column(from.column, path);
    const { type, prefix } = from;
    const map = from.map === undefined ? undefined : new Map(Object.entries(from.map));
    return (fields) => {
      let found = read(fields);
      if (found === undefined) return undefined;
      if (map !== undefined) {
        const text = textOf(found);
        found = map.get(text);
        if (found === undefined)
          throw new ValueError(
            `${path}: ${shown(text)} of the column ${shown(from.column)} is not in the map`,
          );
        if (found === null) return null;
      }
      if (type !== undefined) found = typed(found, type, path);
      return prefix === undefined ? found : `${prefix}${textOf(found)}`;
    };
  }

  #money({ money, scale, decimal, group, sign }: MoneyMapping, path: string): Read {
    const read = this.#column(money, path);
    const format = { decimal, group, sign };
    const fixed = typeof scale === 'number' ? scale : undefined;
    const by = typeof scale === 'number' ? undefined : scale;
    const readKey = by && this.#column(by.column, `${path}.scale`);
    const scales = new Map(Object.entries(by?.of ?? {}));
    return (fields) => {
      const found = read(fields);
      if (found === undefined) return undefined;
      const key = textOf(readKey?.(fields) ?? '');
      const places = fixed ?? scales.get(key) ?? by?.otherwise;
      if (places === undefined) throw new ValueError(`${path}: "scale" does not have ${shown(key)}`);
      return located(path, () => moneyOf(textOf(found), places, format));
    };
  }

  #time({ time, format, zone }: TimeMapping, path: string): Read {
    const read = this.#column(time, path);
    const readTime = timeReader(format, zone === undefined ? undefined : TimeZone.named(zone));
    return (fields) => {
      const found = read(fields);
      return found === undefined ? undefined : located(path, () => readTime(textOf(found)));
    };
  }

  #condition(condition: ConditionMapping, path: string): (fields: Fields) => boolean {
    const parts = Object.entries(condition).map(([name, wanted]) => ({
      read: this.#column(name, path),
      wanted: new Set(typeof wanted === 'string' ? [wanted] : wanted),
    }));
    return (fields) => parts.every(({ read, wanted }) => wanted.has(textOf(read(fields) ?? '')));
  }

  #column(name: string, path: string): ReadColumn {
    const { columns } = this.#context;
    if (columns === undefined) return ofJson(name);
    const index = columns.indexOf(name);
    if (index === -1)
      throw new ImportError(
        `${path} reads the column ${shown(name)}, which the file does not have. Its columns: ${columns.join(', ')}`,
      );
    return (fields) => {
      const found = (fields as readonly string[])[index];
      return found === '' ? undefined : found;
    };
  }
}

/** A field of a JSON object: by its name, else by the names that dots separate. */
function ofJson(name: string): ReadColumn {
  const steps = name.split('.');
  return (fields) => {
    const whole = fields as Readonly<Record<string, unknown>>;
    let found: unknown = whole[name];
    if (!Object.hasOwn(whole, name)) {
      found = whole;
      for (const step of steps) {
        const is_object = typeof found === 'object' && found !== null && Object.hasOwn(found, step);
        found = is_object ? (found as Record<string, unknown>)[step] : undefined;
      }
    }
    return found === null || found === '' ? undefined : found;
  };
}

/** The text of a value; a number keeps its digits. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : exactJson(value);
}

const INTEGER = /^-?(0|[1-9]\d*)$/;
const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const BOOLEANS = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
]);

function typed(value: unknown, type: 'text' | 'integer' | 'number' | 'boolean', path: string): unknown {
  const text = textOf(value).trim();
  if (type === 'text') return textOf(value);
  const found =
    type === 'boolean'
      ? BOOLEANS.get(text.toLowerCase())
      : (type === 'integer' ? INTEGER : JSON_NUMBER).test(text)
        ? parseExact(text)
        : undefined;
  if (found === undefined || (type === 'integer' && isExactNumber(found)))
    throw new ValueError(`${path}: ${shown(text)} is no ${type}`);
  return found;
}

/** Runs `read`; a ValueError says where in the mapping it was. */
function located<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof ValueError ? new ValueError(`${path}: ${error.message}`) : error;
  }
}

/** Whether nothing in the properties makes the event count once: neither a reference of the ledger nor a dedupe_id. */
function needsDedupeId(name: string, properties: Readonly<Record<string, unknown>>): boolean {
  if (properties['dedupe_id'] !== undefined) return false;
  const reference = betKindOf(name) === undefined ? 'transaction_id' : 'bet_id';
  return moneyKindOf(name) === undefined || properties[reference] === undefined;
}
