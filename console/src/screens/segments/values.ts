import { parseExactly, writeExactly } from '../../api/json.ts';
import type { Shape, Word } from './vocabulary.ts';
import { trimEnd } from '../../../../src/platform/trim-end.ts';

/** A left side, and the digits after the point of the base currency for money. */
export interface Operand extends Pick<Word, 'kind' | 'unit' | 'values'> {
  scale: number;
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;

/** A decimal text with its point moved: `('12.5', 2)` is `1250`, `('1250', -2)` is `12.50`. Undefined: not a decimal. */
export function shifted(text: string, by: number): string | undefined {
  const [, sign, whole, fraction = ''] = DECIMAL.exec(text) ?? [];
  if (sign === undefined || whole === undefined) return undefined;
  const digits = `${'0'.repeat(Math.max(0, -by))}${whole}${fraction}${'0'.repeat(Math.max(0, by))}`;
  const point = Math.max(0, -by) + whole.length + by;
  const before = digits.slice(0, point).replace(/^0+(?=\d)/, '') || '0';
  const after = digits.slice(point, digits.length - (by > 0 ? Math.max(0, by - fraction.length) : 0));
  const rest = by > 0 ? trimEnd(after, '0') : after;
  return `${sign}${before}${rest === '' ? '' : `.${rest}`}`;
}

/** A number without loss of digits; any other text stays text, and the service says what is wrong with it. */
export function numberOf(text: string, scale = 0): unknown {
  const trimmed = text.trim();
  const plain = shifted(trimmed, scale);
  if (plain === undefined) return trimmed;
  const number = Number(plain);
  return plain.includes('.') || Number.isSafeInteger(number) ? number : BigInt(plain);
}

/** The text of a number; of money in units of the currency. */
export function numberText(value: unknown, scale = 0): string {
  if (typeof value !== 'number' && typeof value !== 'bigint') return textOf(value);
  return (scale === 0 ? undefined : shifted(String(value), -scale)) ?? String(value);
}

/** Any value as text: numbers, true and false as they are, and texts that look like one of these in quotes. */
function textOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' && jsonOf(value) === value ? value : writeExactly(value);
}
function jsonOf(text: string): unknown {
  if (!/^(?:true|false|-?\d.*|".*")$/s.test(text)) return text;
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

/** A text as it is, any other value as JSON, and a missing one as an empty text. */
export function plainText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : writeExactly(value);
}

/** One value of the left side's kind as text, and back. */
export function scalarText(value: unknown, { kind, unit, scale }: Operand): string {
  if (kind === 'json') return textOf(value);
  if (kind === 'number') return numberText(value, unit === null ? 0 : scale);
  return plainText(value);
}
export function scalarOf(text: string, { kind, unit, scale }: Operand): unknown {
  if (kind === 'json') return jsonOf(text);
  return kind === 'number' ? numberOf(text, unit === null ? 0 : scale) : text;
}

/** A list as text, one value a line, and back. */
export function listText(value: unknown, operand: Operand): string {
  return Array.isArray(value) ? value.map((one) => scalarText(one, operand)).join('\n') : textOf(value);
}
export function listOf(text: string, operand: Operand): unknown[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  return lines.map((line) => scalarOf(line, operand));
}

/** Times that the browser's own control can show: without fractions of a second, in UTC. */
export const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** `{days: n}` or `{hours: n}` as its parts; undefined: the value is no such thing. */
export function spanParts(value: unknown): { unit: 'days' | 'hours'; length: unknown } | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const [[unit, length] = [], ...more] = Object.entries(value);
  return (unit === 'days' || unit === 'hours') && more.length === 0 ? { unit, length } : undefined;
}

/** Whether two values have the same JSON. */
export function same(one: unknown, other: unknown): boolean {
  return writeExactly(one) === writeExactly(other);
}

/** Whether the control of the shape shows the value without losing anything of it. */
export function canShow(value: unknown, shape: Shape, operand: Operand): boolean {
  switch (shape) {
    case 'none':
      return value === undefined;
    case 'scalar':
      if (operand.values !== null) return typeof value === 'string';
      return isFlat(value) && same(scalarOf(scalarText(value, operand), operand), value);
    case 'number':
      return isFlat(value) && canShow(value, 'scalar', { ...operand, kind: 'number', values: null });
    case 'text':
    case 'moment':
      return typeof value === 'string' && !value.includes('\n');
    case 'list':
      return Array.isArray(value) && same(listOf(listText(value, operand), operand), value);
    case 'range':
      return (
        Array.isArray(value) &&
        value.length === 2 &&
        value.every((one) => canShow(one, boundShape(value), operand))
      );
    case 'span': {
      const span = spanParts(value);
      return span !== undefined && canShow(span.length, 'number', { ...operand, unit: null });
    }
  }
}

/** What the two ends of a range are. */
export function boundShape(range: readonly unknown[]): 'number' | 'moment' {
  return range.every((one) => typeof one === 'string' && /^\d{4}-/.test(one)) ? 'moment' : 'number';
}

function isFlat(value: unknown): boolean {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value) && !/\n/.test(String(value));
}

const DAY_MS = 86_400_000;

/** A first value of the shape, so that a new condition can be counted at once. */
export function firstValue(shape: Shape, { kind, values }: Operand): unknown {
  const today = (days_ago: number) =>
    `${new Date(Date.now() - days_ago * DAY_MS).toISOString().slice(0, 10)}T00:00:00Z`;
  switch (shape) {
    case 'none':
      return undefined;
    case 'scalar':
      return values?.[0] ?? (kind === 'number' ? 0 : '');
    case 'list':
      return values === null ? [] : values.slice(0, 1);
    case 'number':
      return 0;
    case 'text':
      return '';
    case 'range':
      return kind === 'date' ? [today(30), today(0)] : [0, 100];
    case 'moment':
      return today(0);
    case 'span':
      return { days: 30 };
  }
}
