const ISO_8601 =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})$/;

const DAY_MS = 86_400_000;

/** The range of ClickHouse's DateTime64. */
export const EARLIEST_MS = Date.UTC(1900, 0, 1);
export const LATEST_MS = Date.UTC(2299, 11, 31);
/** How far the clock of a caller may be ahead. */
export const MAX_AHEAD_MS = DAY_MS;

/**
 * The form that nearly every caller sends. It goes to the JavaScript engine's own parser, which is several times
 * faster. Days after the 28th are excluded, because the engine reads 30 February as 2 March.
 */
const USUAL =
  /^[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?Z$/;

/**
 * Milliseconds since the epoch of an ISO-8601 date and time with an offset (`Z` for UTC). Undefined for any other
 * text and for dates that do not exist. Digits below the millisecond are cut off.
 */
export function parseTimestamp(text: string): number | undefined {
  return USUAL.test(text) ? Date.parse(text) : parseCarefully(text);
}

/** Like {@link parseTimestamp}, but undefined also for a time that the stores cannot hold. */
export function parseStoredTime(text: string): number | undefined {
  const at_ms = parseTimestamp(text);
  return at_ms !== undefined && at_ms >= EARLIEST_MS && at_ms <= LATEST_MS ? at_ms : undefined;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Like {@link parseStoredTime}, but a date alone (`2027-03-31`) is a time, too: the beginning of that day in UTC. */
export function parseDateOrTime(text: string): number | undefined {
  return parseStoredTime(DATE.test(text) ? `${text}T00:00:00Z` : text);
}

function parseCarefully(text: string): number | undefined {
  const match = ISO_8601.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second = '0', fraction = '0', offset = 'Z'] = match;
  const [y, mo, d, h, mi, s] = [
    Number(year),
    Number(month),
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  ];
  if (mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || s > 59) return undefined;
  const offset_ms = offsetOf(offset);
  if (offset_ms === undefined) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(y, mo - 1, d);
  if (date.getUTCDate() !== d) return undefined;
  const day_ms = ((h * 60 + mi) * 60 + s) * 1000 + Number(fraction.padEnd(3, '0').slice(0, 3));
  return date.getTime() + day_ms - offset_ms;
}

function offsetOf(text: string): number | undefined {
  if (text === 'Z') return 0;
  const hours = Number(text.slice(1, 3));
  const minutes = Number(text.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
