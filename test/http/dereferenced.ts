type Json = Record<string, unknown>;
type PathItem = Record<string, Json & { parameters?: Json[] }> & { parameters?: Json[] };

/**
 * The document with each reference to `components` replaced by what it refers to; what stands beside a reference is added. Operations
 * have the security and the parameters that the document and their path have for them.
 */
export function dereferenced(document: Json): Json {
  const known = new Map<string, unknown>();
  const target = (reference: string): unknown => {
    if (!known.has(reference)) {
      const parts = reference.slice('#/'.length).split('/');
      const found = parts.reduce<unknown>((value, part) => (value as Json | undefined)?.[part], document);
      if (found === undefined) throw new Error(`${reference} leads nowhere`);
      known.set(reference, resolved(found));
    }
    return known.get(reference);
  };
  const resolved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolved);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref: reference, ...rest } = value as Json;
    const own = Object.fromEntries(Object.entries(rest).map(([key, one]) => [key, resolved(one)]));
    if (typeof reference !== 'string') return '$ref' in value ? { ...own, $ref: resolved(reference) } : own;
    const referred = target(reference) as Json;
    return Object.keys(own).length === 0 || own['description'] !== undefined
      ? { ...referred, ...own }
      : { allOf: [referred, own] };
  };
  const { paths, ...rest } = resolved(document) as Json & { paths: Record<string, PathItem> };
  const filled = Object.entries(paths).map(([path, { parameters: common = [], ...operations }]) => {
    const own = Object.entries(operations).map(([method, { parameters = [], ...one }]) => [
      method,
      { security: rest['security'], ...one, parameters: [...common, ...parameters] },
    ]);
    return [path, Object.fromEntries(own)];
  });
  return { ...rest, paths: Object.fromEntries(filled) as Json };
}

/**
 * A dereferenced schema of an answer, with no fields but those that it has: the document leaves open that answers get more, but a
 * field that is not documented is a fault.
 */
export function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { type, properties, allOf, additionalProperties } = schema as Json;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, one]) => [key, closed(one)]));
  // The parts know nothing of each other's fields.
  if (Array.isArray(allOf)) return { ...inner, allOf: allOf.map(openAtTop), unevaluatedProperties: false };
  const is_object = [type].flat().includes('object') && properties !== undefined;
  return is_object && additionalProperties === undefined ? { ...inner, additionalProperties: false } : inner;
}

function openAtTop(part: unknown): unknown {
  const bounds = ['additionalProperties', 'unevaluatedProperties'];
  return Object.fromEntries(
    Object.entries(closed(part) as Json).filter(([key, value]) => !bounds.includes(key) || value !== false),
  );
}
