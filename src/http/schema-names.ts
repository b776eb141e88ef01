import { z } from 'zod';

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
