/** The form that `jsonDate` of the segment compiler accepts: a date, or a time with an offset; no year 0000. */
const ISO_8601 =
  /^(?!0000)([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(?:T([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:[.]([0-9]{1,9}))?)?(Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]))?$/;

const MINUTE_MS = 60_000;

/**
 * The moment that a JSON value names, in milliseconds since the epoch: a text with a date (its midnight in UTC), or with
 * a time and its offset. Undefined for anything else, also for a day that its month does not have.
 *
 * It reads what the segment compiler's expression reads, so that an event matches a journey as it matches a segment.
 */
export function jsonMomentMs(value: unknown): number | undefined {
  const match = typeof value === 'string' ? ISO_8601.exec(value) : null;
  if (match === null) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset = 'Z'] = match;
  const [month_index, day_of_month] = [Number(month) - 1, Number(day)];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), month_index, day_of_month);
  if (date.getUTCMonth() !== month_index || date.getUTCDate() !== day_of_month) return undefined;
  const minutes = Number(hour) * 60 + Number(minute) - offsetMinutes(offset);
  const second_ms = Number(second) * 1_000 + Number(fraction.padEnd(3, '0').slice(0, 3));
  return date.getTime() + minutes * MINUTE_MS + second_ms;
}

function offsetMinutes(offset: string): number {
  if (offset === 'Z') return 0;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6));
  return offset.startsWith('-') ? -minutes : minutes;
}
