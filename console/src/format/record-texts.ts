import { writeExactly } from '../api/json.ts';
import { decimalOf, parseMoney } from './money.ts';
import { trimEnd } from '../../../src/platform/trim-end.ts';

/** What is wrong with a field; `path` as the API names it, such as `config.cap_amount`. */
export interface TextIssue {
  path: string;
  message: string;
}

/**
 * How a field is written as text. `money` is an amount in the smallest unit of a currency, `list` has an entry per line,
 * `flag` is `true` or `false`.
 */
export type FieldKind = 'text' | 'int' | 'decimal' | 'money' | 'list' | 'flag';

/** A field of a record by its path of one or two names. */
export interface FieldSpec {
  path: string;
  kind: FieldKind;
}

/** A record as its form has it: the text of each field by its path; empty: no value. */
export type Texts = Readonly<Record<string, string | undefined>>;

/** Digits after the point of the currency that an amount is in; undefined while it is not known. */
export type ScaleOf = (spec: FieldSpec, texts: Texts) => number | undefined;

/** What is said about texts that are not values. */
export interface Complaints {
  int: string;
  decimal: string;
  money: (scale: number) => string;
  currency: string;
}

type Values = Record<string, unknown>;

/** The texts of a saved record. */
export function textsOf(record: object, specs: readonly FieldSpec[], scaleOf: ScaleOf): Texts {
  const texts: Record<string, string> = {};
  // Amounts last: their currency is one of the other fields.
  const in_order = [...specs].sort((a, b) => Number(a.kind === 'money') - Number(b.kind === 'money'));
  for (const spec of in_order) texts[spec.path] = textOf(valueAt(record, spec.path), spec, texts, scaleOf);
  return texts;
}

/** The value of a record at a path such as `config.currency`. */
export function valueAt(record: unknown, path: string): unknown {
  let found = record;
  for (const name of path.split('.')) {
    found = typeof found === 'object' && found !== null ? (found as Values)[name] : undefined;
  }
  return found;
}

/** The values at paths, by path; null: none. */
export function atPaths(values: Readonly<Values>, paths: readonly string[]): Values {
  return Object.fromEntries(paths.map((path) => [path, valueAt(values, path) ?? null]));
}

function textOf(value: unknown, spec: FieldSpec, texts: Texts, scaleOf: ScaleOf): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.join('\n');
  const text = typeof value === 'string' || typeof value === 'bigint' ? String(value) : writeExactly(value);
  const scale = spec.kind === 'money' && /^\d+$/.test(text) ? scaleOf(spec, texts) : undefined;
  return scale === undefined ? text : shortest(decimalOf(BigInt(text), scale));
}

/** `12.50` as it is, `0.100000000000000000` as `0.10`: two digits stay. */
function shortest(decimal: string): string {
  const least = decimal.indexOf('.') + 3;
  return least < 3 ? decimal : decimal.slice(0, Math.max(trimEnd(decimal, '0').length, least));
}

/** The texts of the fields as the API takes them: objects within one another, amounts exact; and which of them are not values. */
export function valuesOf(
  texts: Texts,
  specs: readonly FieldSpec[],
  { scaleOf, complaints }: { scaleOf: ScaleOf; complaints: Complaints },
): { values: Values; issues: TextIssue[] } {
  const values: Values = {};
  const issues: TextIssue[] = [];
  for (const spec of specs) {
    const text = (texts[spec.path] ?? '').trim();
    const read = valueOf(text, spec, scaleOf(spec, texts), complaints);
    if (read.fault !== undefined) issues.push({ path: spec.path, message: read.fault });
    const [name = '', inner] = spec.path.split('.');
    if (inner === undefined) values[name] = read.value;
    else {
      const object = (values[name] ??= {}) as Values;
      // Inside of an object a missing value means no field.
      if (read.value !== null) object[inner] = read.value;
    }
  }
  return { values, issues };
}

interface Read {
  value: unknown;
  fault?: string;
}

function valueOf(text: string, { kind }: FieldSpec, scale: number | undefined, say: Complaints): Read {
  if (text === '') return { value: null };
  switch (kind) {
    case 'text':
      return { value: text };
    case 'flag':
      return { value: text === 'true' };
    case 'list':
      return { value: text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()])) };
    case 'int':
      return /^\d{1,15}$/.test(text) ? { value: Number(text) } : { value: null, fault: say.int };
    case 'decimal':
      return /^\d{1,15}(\.\d+)?$/.test(text) ? { value: Number(text) } : { value: null, fault: say.decimal };
    case 'money': {
      if (scale === undefined) return { value: null, fault: say.currency };
      const amount = parseMoney(text, scale);
      return amount === undefined ? { value: null, fault: say.money(scale) } : { value: wireAmount(amount) };
    }
  }
}

/** An amount as the API takes and shows it: above 2^53 - 1 as a string of digits. */
export function wireAmount(amount: bigint): number | string {
  return amount <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(amount) : String(amount);
}

/** A merge patch of the fields at these paths and of no others; null: the field has no value any more. */
export function patchAt(paths: readonly string[], values: Readonly<Values>): Values {
  const body: Values = {};
  for (const path of paths) {
    const [name = '', inner] = path.split('.');
    const value = valueAt(values, path) ?? null;
    body[name] = inner === undefined ? value : { ...(body[name] as Values | undefined), [inner]: value };
  }
  return body;
}

/** The values that a change made different. */
export function differing(before: Values, after: Values): Values {
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return Object.fromEntries(changed);
}
