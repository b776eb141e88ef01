type Json = Record<string, unknown>;

/** A schema of objects that says which fields they have, and leaves open which others. */
interface Fields extends Json {
  properties: Readonly<Record<string, Json>>;
  required?: readonly string[];
}

const KEYWORDS = ['type', 'properties', 'required', 'description'];

/** A named schema, with the text of each field. */
interface Base {
  name: string;
  fields: Readonly<Record<string, string>>;
  required: readonly string[];
}

/**
 * The named schemas, with objects that have all fields of a named one, and at most as many others, written as that one and the
 * others: `allOf`. The given schemas stay as they are.
 */
export function asExtensions(named: Readonly<Record<string, Json>>): Record<string, Json> {
  const bases = Object.entries(named)
    .flatMap(([name, schema]): Base[] => {
      if (!isFields(schema)) return [];
      return [{ name, fields: textsOf(schema.properties), required: schema.required ?? [] }];
    })
    .toSorted((a, b) => countOf(b.fields) - countOf(a.fields));
  const rewritten = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewritten);
    if (typeof value !== 'object' || value === null) return value;
    const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, rewritten(one)]));
    const base = isFields(value as Json) ? baseOf(value as Fields, bases) : undefined;
    return base === undefined ? inner : extensionOf(inner as Fields, base);
  };
  return rewritten(named) as Record<string, Json>;
}

/** A set of fields, of which one may be called `properties`, is none: its `type` is no word. */
function isFields(schema: Json): schema is Fields {
  return (
    schema['type'] === 'object' &&
    'properties' in schema &&
    Object.keys(schema).every((keyword) => KEYWORDS.includes(keyword))
  );
}

function baseOf({ properties, required = [] }: Fields, bases: readonly Base[]): Base | undefined {
  const texts = textsOf(properties);
  const count = countOf(texts);
  return bases.find((base) => {
    const shared = countOf(base.fields);
    return (
      shared < count &&
      2 * shared >= count &&
      Object.entries(base.fields).every(([name, text]) => texts[name] === text) &&
      base.required.every((name) => required.includes(name))
    );
  });
}

function extensionOf(
  { type, properties, required = [], ...rest }: Fields,
  { name, fields, required: there }: Base,
): Json {
  const own = Object.entries(properties).filter(([field]) => !(field in fields));
  const own_required = required.filter((field) => !there.includes(field));
  const others = {
    type,
    properties: Object.fromEntries(own),
    ...(own_required.length === 0 ? {} : { required: own_required }),
  };
  return { ...rest, allOf: [{ $ref: `#/components/schemas/${name}` }, others] };
}

function textsOf(fields: Readonly<Record<string, Json>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, JSON.stringify(field)]));
}

const countOf = (record: object) => Object.keys(record).length;
