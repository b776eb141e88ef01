import { z } from 'zod';

type Json = Record<string, unknown>;
type Io = 'input' | 'output';

/** Formats whose patterns of zod say no more than the format does. */
const IMPLIED_BY_FORMAT = ['uuid', 'date-time', 'date', 'uri'];
/** zod's pattern of `z.guid()`. The pattern of `z.uuid()` allows less than the format. */
const ANY_UUID = z.toJSONSchema(z.guid()).pattern;
const RFC_UUID = z.toJSONSchema(z.uuid()).pattern;
/** What the pattern of `z.uuid()` allows of the format: its versions and variant, only zeros, only `f`. */
export const RFC_OF_UUID = '^.{14}[1-8].{4}[89abAB]|^[0-]+$|^[f-]+$';
const IN_COMPONENTS = '#/components/schemas/';

interface Made {
  schema: Json;
  named: Readonly<Record<string, Json>>;
}

/** By schema: making one costs as much as many requests, and most are asked for twice. */
const made = { input: new WeakMap<z.ZodType, Made>(), output: new WeakMap<z.ZodType, Made>() };

/** The JSON Schemas of one document. Those with a name (see `nameSchemas`) are referred to. */
export class DocumentSchemas {
  /** `components.schemas`, by name. */
  readonly named: Record<string, Json> = {};

  /**
   * The JSON Schema of a request's part or of an answer's. Throws when a name would mean two things: when schemas with the
   * same name, or the input and the output of one, differ.
   */
  of(schema: z.ZodType, io: Io = 'input'): Json {
    const known = made[io].get(schema) ?? make(schema, io);
    made[io].set(schema, known);
    for (const [name, json] of Object.entries(known.named)) {
      const before = (this.named[name] ??= json);
      if (before !== json && JSON.stringify(before) !== JSON.stringify(json)) {
        throw new Error(`the schema name ${name} means two things: ${JSON.stringify([before, json])}`);
      }
    }
    return known.schema;
  }

  /** The schema that is referred to; any other is returned as it is. */
  resolved(schema: Json): Json {
    const { $ref: reference } = schema;
    return typeof reference === 'string'
      ? (this.named[reference.slice(IN_COMPONENTS.length)] ?? schema)
      : schema;
  }
}

function make(schema: z.ZodType, io: Io): Made {
  const json = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      shorten(jsonSchema, io);
      // Fields may be added to answers: only those that are strict in bodies, too, say that they have no others.
      if (io === 'output' && isLax(zodSchema)) delete jsonSchema.additionalProperties;
    },
  });
  const text = JSON.stringify(json).replaceAll('"#/$defs/', `"${IN_COMPONENTS}`);
  const parsed = JSON.parse(text, (_key, value: unknown) => nullable(value)) as Json;
  const { $schema: _dialect, $defs, ...root } = parsed;
  const { id, ...rest } = root;
  const named = Object.entries(($defs ?? {}) as Record<string, Json>).map(([name, { id: _id, ...def }]) => {
    return [name, def] as const;
  });
  if (typeof id !== 'string') return { schema: root, named: Object.fromEntries(named) };
  return { schema: { $ref: IN_COMPONENTS + id }, named: { ...Object.fromEntries(named), [id]: rest } };
}

function isLax({ _zod: { def } }: z.core.$ZodType): boolean {
  if (def.type !== 'object') return false;
  const { shape, catchall } = def as z.core.$ZodObjectDef;
  return catchall === undefined && Object.keys(shape).length > 0;
}

function shorten(json: z.core.JSONSchema.BaseSchema, io: Io): void {
  const { format, pattern, propertyNames: names } = json;
  // What every name of a JSON object is.
  if (JSON.stringify(names) === '{"type":"string"}') delete json.propertyNames;
  const isImplied = io === 'output' ? IMPLIED_BY_FORMAT.includes(format ?? '') : pattern === ANY_UUID;
  if (isImplied) delete json.pattern;
  if (json.pattern === RFC_UUID) json.pattern = RFC_OF_UUID;
  // zod limits integers to 2^53 - 1; responses contain larger integers with all their digits.
  if (io === 'input' || json.type !== 'integer') return;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
}

/** `anyOf` with null in its short form, for types whose other keywords say nothing about null. */
function nullable(value: unknown): unknown {
  const { anyOf, ...rest } = (value ?? {}) as { anyOf?: Json[] };
  const [one, none] = anyOf ?? [];
  const isShort =
    anyOf?.length === 2 && none?.['type'] === 'null' && typeof one?.['type'] === 'string' && !('enum' in one);
  if (!isShort || 'const' in one || Object.keys(rest).some((key) => key in one)) return value;
  return { ...rest, ...one, type: [one['type'], 'null'] };
}
