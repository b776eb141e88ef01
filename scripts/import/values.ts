import { DateTime } from 'luxon';
import type { TimeZone } from '../../src/platform/time-zone.ts';
import { parseTimestamp } from '../../src/platform/timestamp.ts';
import { shown, ValueError } from './refusal.ts';

/** How money is written: the digits after the point of the smallest unit, and the decimal and group separators. */
export interface MoneyFormat {
  decimal: '.' | ',';
  group: string | undefined;
  /** `refuse`: a negative amount is an error; `drop`: -5 is 5; `negate`: -5 is 5, and 5 is an error. */
  sign: 'refuse' | 'drop' | 'negate';
}

const DECIMAL = /^([+-]?)(\d+)(?:\.(\d*))?$/;
const MAX_DIGITS = 38;

/**
 * An amount in the smallest unit, from its digits: `12.3` with scale 2 is 1230. A number, or a string of digits beyond
 * 2^53 − 1, as the API takes it. Throws {@link ValueError}: nothing is rounded, so digits below the unit must be zeros.
 */
export function moneyOf(text: string, scale: number, format: MoneyFormat): number | string {
  const plain = withPoint(text.trim(), format);
  const [, sign, whole = '', fraction = ''] = DECIMAL.exec(plain) ?? [];
  if (whole === '') throw new ValueError(`${shown(text)} is no amount`);
  const below = fraction.slice(scale);
  if (/[1-9]/.test(below))
    throw new ValueError(`${shown(text)} has more than ${scale} digits after the decimal point`);
  const digits = `${whole}${fraction.slice(0, scale).padEnd(scale, '0')}`.replace(/^0+(?=\d)/, '');
  if (digits.length > MAX_DIGITS) throw new ValueError(`${shown(text)} has too many digits`);
  const is_zero = digits === '0';
  if (!is_zero && format.sign === 'refuse' && sign === '-')
    throw new ValueError(`${shown(text)} is negative (see "sign")`);
  if (!is_zero && format.sign === 'negate' && sign !== '-')
    throw new ValueError(`${shown(text)} is not negative (see "sign")`);
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : digits;
}

/** Every group separator must be between digits, three before the next one or the decimal separator. */
function withPoint(text: string, { decimal, group }: MoneyFormat): string {
  const [whole = '', ...fractions] = text.split(decimal);
  if (fractions.length > 1) return '';
  const [first = '', ...groups] = group === undefined ? [whole] : whole.split(group);
  if (groups.some((digits) => !/^\d{3}$/.test(digits)) || (groups.length > 0 && !/\d$/.test(first)))
    return '';
  return [[first, ...groups].join(''), ...fractions].join('.');
}

const SECOND_MS = 1_000;
const UNIX = /^(-?\d{1,15})(?:\.(\d{1,9}))?$/;
/** Of local time; with `T` or a space, and seconds or none. */
const LOCAL = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?$/;
const WITH_OFFSET = /(?:Z|[+-]\d\d:?\d\d)$/i;
const MAX_CACHED = 20_000;

/** Reads times of one format and zone; see {@link timeReader}. */
export type TimeReader = (text: string) => string;

/**
 * The reader of a column of times, which returns ISO-8601 in UTC and throws {@link ValueError}. Formats: `iso` (a date, or
 * a date and a time, with an offset or of `zone`), `unix_s` and `unix_ms`, or one of Luxon such as `dd/MM/yyyy HH:mm`, of
 * `zone`.
 */
export function timeReader(format: string, zone: TimeZone | undefined): TimeReader {
  if (format === 'unix_s') return (text) => ofEpoch(text, SECOND_MS);
  if (format === 'unix_ms') return (text) => ofEpoch(text, 1);
  if (format !== 'iso') return (text) => ofLuxon(text, format, zone);
  const offsets = new LocalOffsets(zone);
  return (text) => ofIso(text, offsets);
}

/** `unit_ms` is the unit of the number; its digits below the millisecond are cut off. */
function ofEpoch(text: string, unit_ms: number): string {
  const [, whole, fraction = ''] = UNIX.exec(text.trim()) ?? [];
  if (whole === undefined) throw new ValueError(`${shown(text)} is no unix time`);
  const rest_ms = unit_ms === 1 ? 0 : Number(fraction.padEnd(3, '0').slice(0, 3));
  const at_ms = Number(whole) * unit_ms + (whole.startsWith('-') ? -rest_ms : rest_ms);
  return isoOf(at_ms, text);
}

function ofLuxon(text: string, format: string, zone: TimeZone | undefined): string {
  const time = DateTime.fromFormat(text.trim(), format, {
    locale: 'en',
    ...(zone === undefined ? {} : { zone }),
  });
  if (!time.isValid) throw new ValueError(`${shown(text)} is no time of the format ${shown(format)}`);
  return isoOf(time.toMillis(), text);
}

function ofIso(text: string, offsets: LocalOffsets): string {
  const trimmed = text.trim();
  const local = LOCAL.exec(trimmed);
  if (local === null) {
    const at_ms = WITH_OFFSET.test(trimmed) ? parseTimestamp(normalised(trimmed)) : undefined;
    if (at_ms === undefined) throw new ValueError(`${shown(text)} is no ISO-8601 time`);
    return isoOf(at_ms, text);
  }
  const [, year = '', month = '', day = '', hour = '00', minute = '00', second = '00', fraction = ''] = local;
  const ms = fraction.padEnd(3, '0').slice(0, 3);
  // As if it were UTC; a day that does not exist is no time.
  const local_ms = parseTimestamp(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
  if (local_ms === undefined) throw new ValueError(`${shown(text)} is no time`);
  return isoOf(local_ms - offsets.at(local_ms, text), text);
}

/** `2026-01-31 12:00:00+0200` as `2026-01-31T12:00:00+02:00`. */
function normalised(text: string): string {
  return text
    .replace(/^(\d{4}-\d\d-\d\d) /, '$1T')
    .replace(/z$/, 'Z')
    .replace(/([+-]\d\d)(\d\d)$/, '$1:$2');
}

function isoOf(at_ms: number, text: string): string {
  const date = new Date(at_ms);
  if (Number.isNaN(date.getTime())) throw new ValueError(`${shown(text)} is no time`);
  return date.toISOString();
}

const QUARTER_MS = 15 * 60_000;

/** The offsets of a zone by local time. They change at quarters of an hour, so each quarter is looked up once. */
class LocalOffsets {
  readonly #zone: TimeZone | undefined;
  readonly #known = new Map<number, number>();

  constructor(zone: TimeZone | undefined) {
    this.#zone = zone;
  }

  /** How far local time is ahead of UTC, in milliseconds; `local_ms` is the local time as if it were UTC. */
  at(local_ms: number, text: string): number {
    if (this.#zone === undefined) throw new ValueError(`${shown(text)} has no offset: give a "zone"`);
    const quarter = Math.floor(local_ms / QUARTER_MS);
    const known = this.#known.get(quarter);
    if (known !== undefined) return known;
    const begin = new Date(quarter * QUARTER_MS).toISOString().slice(0, -1);
    const offset_ms = quarter * QUARTER_MS - DateTime.fromISO(begin, { zone: this.#zone }).toMillis();
    if (this.#known.size >= MAX_CACHED) this.#known.clear();
    this.#known.set(quarter, offset_ms);
    return offset_ms;
  }
}
