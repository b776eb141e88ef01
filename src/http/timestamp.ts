import { z } from 'zod';
import { parseTimestamp } from '../platform/timestamp.ts';

const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

function isStorable(text: string): boolean {
  const at_ms = parseTimestamp(text);
  return at_ms !== undefined && at_ms >= FIRST_MS && at_ms <= LAST_MS;
}

/**
 * The schema of a time in a request, or in what another system answers: ISO-8601 with an offset, with or without seconds, in the years 1
 * to 9999 of UTC, because Postgres does not read the text of other years. It gives the time as `toISOString` writes it.
 */
export const timestampWithOffset = z
  .string()
  .refine(isStorable, {
    error: ({ input }) =>
      `must be a time with an offset, such as 2026-01-31T12:00:00Z, in the years 1 to 9999, and is ${JSON.stringify(String(input).slice(0, 100))}`,
  })
  .meta({ format: 'date-time' })
  .transform((text) => new Date(parseTimestamp(text) ?? Number.NaN).toISOString());
