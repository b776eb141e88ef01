type Json = Record<string, unknown>;

/** The document with each reference to `components` replaced by what it refers to; what stands beside a reference is added. */
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
  return resolved(document) as Json;
}
