import { z } from 'zod';
import { parseTimestamp } from '../platform/timestamp.ts';

/**
 * Gives schemas their names in the OpenAPI document, where each is a schema of `components` that others refer to. A name
 * must mean one thing: a schema of bodies and one of answers need two names, unless both are described the same way. An
 * optional schema names what is given.
 */
export function nameSchemas(named: Readonly<Record<string, z.ZodType>>): void {
  for (const [id, schema] of Object.entries(named)) {
    const given = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
    z.globalRegistry.add(given, { ...z.globalRegistry.get(given), id });
  }
}

/** The schema of a 64-bit integer in an answer. It is written with all its digits, so clients must not read it as a double. */
export const int64 = z.int().meta({ format: 'int64' });

/**
 * A schema of a string that is trimmed, or changed by `clean`, and then has `min` (at least 1) to `max` characters. The pattern is for the
 * OpenAPI document: it requires of the untrimmed string what `min` requires of the trimmed one.
 */
export function trimmedText(min: number, max: number, clean = (text: string) => text.trim()) {
  const pattern = min === 1 ? '\\S' : `\\S[\\s\\S]{${min - 2},}\\S`;
  return z.string().overwrite(clean).min(min).max(max).meta({ pattern });
}

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

/** The fields of a body that creates a record, ignored: a preview takes them too, so that both take the same body. */
export function ignored<Shape extends z.ZodRawShape>({ shape }: z.ZodObject<Shape>) {
  const fields = Object.keys(shape).map((field) => [field, z.unknown().optional()]);
  return Object.fromEntries(fields) as Record<keyof Shape, z.ZodOptional<z.ZodUnknown>>;
}

/** Query parameters of an endpoint with `named_in: 'query'`; they are read where the caller is authorised. */
export const placeInQuery = {
  tenant_id: z.guid().optional().describe('As X-Tenant-Id, for callers that cannot set headers'),
  project_id: z.guid().optional().describe('As X-Project-Id, for callers that cannot set headers'),
};
