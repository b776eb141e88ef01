import { filters, toValue, type Context } from 'liquidjs';
import { TimeZone } from '../../platform/time-zone.ts';
import { parseTimestamp } from '../../platform/timestamp.ts';
import { DIRECTIVE, SHORT, WEEK } from './grammar/date-format.ts';

type DateFilter = (this: { context: Context }, value: unknown, format?: unknown, zone?: unknown) => unknown;

const library = filters['date'] as DateFilter;
const DAY_MS = 86_400_000;

/**
 * The filter `date`: also for the short forms and the ISO week of Ruby's `strftime`, and in zones by the rules of the service.
 * A text with a day that does not exist is not a date. Throws RangeError where the zone does not exist.
 */
export function formatDate(
  this: { context: Context },
  value: unknown,
  format?: unknown,
  zone?: unknown,
): unknown {
  if (namesNoDay(value)) return value;
  const seconds = Number(library.call(this, value, '%s'));
  const plain_format: unknown = toValue(format);
  const plain_zone: unknown = toValue(zone);
  // The library gives back anything but a date.
  if (!Number.isFinite(seconds) || toValue(value) === null) return library.call(this, value, format);
  let offset = plain_zone;
  let zone_name: string | undefined;
  if (typeof plain_zone === 'string') {
    const known = TimeZone.named(plain_zone);
    if (known === undefined) throw new RangeError(`there is no time zone ${JSON.stringify(plain_zone)}`);
    // As JavaScript counts it: minutes behind UTC.
    offset = 0 - known.offset(seconds * 1_000);
    zone_name = known.name;
  }
  const asked = (directives: string) => String(library.call(this, value, directives, offset));
  const written =
    typeof plain_format === 'string' ? spelledOut(plain_format, zone_name, asked) : plain_format;
  return library.call(this, value, written, offset);
}

/** One of the library's filters of dates, which give back anything but a date. */
export function namedDate(filter: DateFilter): DateFilter {
  return function named(value, ...args) {
    return namesNoDay(value) ? value : filter.call(this, value, ...args);
  };
}

/** Whether a text names a day that does not exist, such as 2026-02-30: JavaScript reads 2 March. */
function namesNoDay(value: unknown): boolean {
  const text: unknown = toValue(value);
  const day = typeof text === 'string' ? /^\s*(\d{4}-\d{2}-\d{2})(?!\d)/.exec(text)?.[1] : undefined;
  return day !== undefined && parseTimestamp(`${day}T00:00:00Z`) === undefined;
}

/** The format in directives of the library alone. `asked` formats the date. */
function spelledOut(
  format: string,
  zone_name: string | undefined,
  asked: (directives: string) => string,
): string {
  return format.replace(DIRECTIVE, (whole, flags: string, width: string, letter: string | undefined) => {
    if (letter === undefined) return whole;
    if (letter === 'Z' && zone_name !== undefined) return zone_name;
    const short = SHORT[letter];
    if (short !== undefined)
      return letter === '+' && zone_name !== undefined ? short.replace('%Z', () => zone_name) : short;
    if (!WEEK.has(letter)) return whole;
    const { year, week } = isoWeek(asked('%Y-%m-%d'));
    const number = letter === 'V' ? week : letter === 'G' ? year : year % 100;
    const length = Number(width) || (letter === 'G' ? 4 : 2);
    return flags.includes('-')
      ? String(number)
      : String(number).padStart(length, flags.includes('_') ? ' ' : '0');
  });
}

/** The ISO 8601 week of a day `YYYY-MM-DD`: the first one of a year has its first Thursday. */
function isoWeek(day: string): { year: number; week: number } {
  const at = new Date(`${day}T00:00:00Z`);
  const thursday_ms = at.getTime() + (4 - (at.getUTCDay() || 7)) * DAY_MS;
  const year = new Date(thursday_ms).getUTCFullYear();
  return { year, week: Math.floor((thursday_ms - Date.UTC(year, 0, 1)) / DAY_MS / 7) + 1 };
}
