import { z } from 'zod';

const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * The schema of a time in a request: ISO-8601 with an offset, in the years 1 to 9999 of UTC. Postgres does not read the
 * text of other years.
 */
export const timestampWithOffset = z.iso.datetime({ offset: true }).refine((text) => {
  const time_ms = Date.parse(text);
  return time_ms >= FIRST_MS && time_ms <= LAST_MS;
}, 'must be in the years 1 to 9999 in UTC');
