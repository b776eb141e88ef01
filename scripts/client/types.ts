import { nameOf, type Document, type Schema } from './document.ts';

type Named = Document['components']['schemas'];

/** Formats of integers that a client reads as `bigint`; `bigint` is also a string of digits when it is large. */
const BIG = ['int64', 'bigint'];

/** Where a schema is used: callers may write an integer as a number, too, and omit fields as undefined. */
export type Use = 'input' | 'output';

/** The TypeScript type of a schema. */
export function typeOf(schema: Schema, use: Use): string {
  const name = nameOf(schema);
  if (name !== undefined) return name;
  const { type, format, enum: values, const: value, anyOf, oneOf, allOf, properties } = schema;
  if (BIG.includes(format ?? '')) return bigType(schema, use);
  if (value !== undefined) return JSON.stringify(value);
  if (values !== undefined) return union(values.map((one) => JSON.stringify(one)));
  const alternatives = (anyOf ?? oneOf ?? []).filter(isTyped);
  if (properties === undefined && alternatives.length > 0)
    return union(alternatives.map((one) => typeOf(one, use)));
  const all = (allOf ?? []).filter(isTyped);
  if (properties === undefined && all.length > 0) return all.map((one) => typeOf(one, use)).join(' & ');
  if (type === undefined) return 'unknown';
  return union([type].flat().map((one) => typeOfKind(one, schema, use)));
}

/** Whether a schema says which type a value has, and not only what an object must have. */
function isTyped({ $ref, type, enum: values, const: value, anyOf, oneOf, allOf }: Schema): boolean {
  const isSaid = [$ref, type, values, value].some((part) => part !== undefined);
  return isSaid || [anyOf, oneOf, allOf].some((parts) => parts?.some(isTyped));
}

function bigType({ type, format }: Schema, use: Use): string {
  const none = [type].flat().includes('null') ? ['null'] : [];
  if (use === 'output') return union(['bigint', ...none]);
  return union(['bigint', 'number', ...(format === 'bigint' ? ['string'] : []), ...none]);
}

function typeOfKind(kind: string, schema: Schema, use: Use): string {
  switch (kind) {
    case 'integer':
      return 'number';
    case 'array':
      return `Array<${schema.items === undefined ? 'unknown' : typeOf(schema.items, use)}>`;
    case 'object':
      return objectType(schema, use);
    default:
      return kind;
  }
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema, use: Use): string {
  const names = Object.keys(properties);
  const others =
    typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
      ? typeOf(additionalProperties, use)
      : 'unknown';
  if (names.length === 0)
    return additionalProperties === false ? 'Record<string, never>' : `Record<string, ${others}>`;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const isRequired = required.includes(name);
    const mayLack = !isRequired && use === 'input';
    const type = union([typeOf(schema, use), ...(mayLack ? ['undefined'] : [])]);
    return `${comment(schema.description)}${JSON.stringify(name)}${isRequired ? '' : '?'}: ${type};`;
  });
  // An index signature must allow what the fields have.
  if (additionalProperties !== undefined && additionalProperties !== false)
    fields.push('[name: string]: unknown;');
  return `{ ${fields.join(' ')} }`;
}

function union(types: readonly string[]): string {
  return types.includes('unknown') ? 'unknown' : [...new Set(types)].join(' | ');
}

/** A JSDoc comment; empty when there is nothing to say. */
export function comment(text: string | undefined): string {
  return text === undefined ? '' : `/** ${text.replaceAll('*/', '*\\/')} */ `;
}

/** The names of all schemas that are reached from some. */
export function reachable(from: readonly Schema[], named: Named): Set<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const name = nameOf(value);
    if (typeof name === 'string' && !found.has(name)) {
      found.add(name);
      visit(named[name]);
    }
    Object.values(value).forEach(visit);
  };
  from.forEach(visit);
  return found;
}

/** Where a value has integers that become `bigint`: fields joined by `.`, with `*` for every element or value. */
export function int64Paths(schema: Schema, named: Named, path = ''): string[] {
  const { format, anyOf = [], oneOf = [], allOf = [], properties = {}, items, additionalProperties } = schema;
  if (BIG.includes(format ?? '')) return [path];
  const name = nameOf(schema);
  const below = (key: string, inner: Schema) =>
    int64Paths(inner, named, path === '' ? key : `${path}.${key}`);
  const found = [
    ...(name === undefined ? [] : int64Paths(named[name] ?? {}, named, path)),
    ...[...anyOf, ...oneOf, ...allOf].flatMap((one) => int64Paths(one, named, path)),
    ...Object.entries(properties).flatMap(([key, inner]) => below(key, inner)),
    ...(items === undefined ? [] : below('*', items)),
    ...(typeof additionalProperties === 'object' ? below('*', additionalProperties) : []),
  ];
  return [...new Set(found)];
}
