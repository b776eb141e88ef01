import { hasWords } from '../format/search.ts';

/** A JSON Schema as the OpenAPI document has it. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  format?: string;
  pattern?: string;
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
}

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
}

/** A body or an answer in one format, with what a test has recorded. */
interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: Readonly<Record<string, OrRef<{ value?: unknown }>>>;
}

export interface DocumentedResponse {
  description?: string;
  content?: Readonly<Record<string, Media>>;
}

/** A part, or where it is written. */
type OrRef<T> = T | { $ref: string };

interface DocumentedOperation {
  summary: string;
  description?: string;
  operationId: string;
  parameters?: readonly OrRef<Parameter>[];
  requestBody?: { content: Readonly<Record<string, Media>> };
  responses?: Readonly<Record<string, OrRef<DocumentedResponse>>>;
  servers?: readonly { variables?: Readonly<Record<string, { default?: string }>> }[];
}

/** Operations by their methods, and the parameters that all of them have. */
type PathItem = Pick<DocumentedOperation, 'parameters'> & { readonly [method: string]: unknown };

/** What the console reads of the OpenAPI document. */
export interface ApiDocument {
  paths: Readonly<Record<string, PathItem>>;
  components?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** One operation with its parts looked up. */
export interface Operation {
  id: string;
  method: string;
  path: string;
  summary: string;
  /** Who may call it. */
  access: string;
  parameters: readonly Parameter[];
  body: Schema | undefined;
  responses: readonly { status: string; description: string; schema: Schema | undefined }[];
  /** A recorded body and its answer, as far as there are any. */
  examples: { body: unknown; answer: unknown };
  /** The address of the ingestion host, for the operations that it serves. */
  ingest_url: string | undefined;
}

/** The part that a reference names; undefined when the document does not have it. */
function resolve({ components = {} }: ApiDocument, ref: string): unknown {
  const [, kind = '', name = ''] = /^#\/components\/([^/]+)\/(.+)$/.exec(ref) ?? [];
  return components[kind]?.[name];
}

/** A schema, or the one that it refers to. One that has the fields of others and more has all of them itself. */
export function schemaOf(document: ApiDocument, schema: Schema): Schema {
  const found =
    schema.$ref === undefined ? undefined : (resolve(document, schema.$ref) as Schema | undefined);
  const { allOf, ...rest } = found ?? schema;
  const parts = (allOf ?? []).map((one) => schemaOf(document, one));
  if (parts.length === 0 || parts.some(({ properties }) => properties === undefined)) return found ?? schema;
  return {
    type: 'object',
    ...rest,
    properties: Object.fromEntries(parts.flatMap(({ properties = {} }) => Object.entries(properties))),
    required: parts.flatMap(({ required = [] }) => required),
  };
}

/** All operations in the order of their paths. */
export function operationsOf(document: ApiDocument): Operation[] {
  const found = <T extends object>(part: OrRef<T>): T | undefined =>
    '$ref' in part ? (resolve(document, part.$ref) as T | undefined) : part;
  return Object.entries(document.paths)
    .flatMap(([path, { parameters: common = [], ...methods }]) =>
      Object.entries(methods as Record<string, DocumentedOperation>).map(([method, one]) => ({
        id: one.operationId,
        method: method.toUpperCase(),
        path,
        summary: one.summary,
        access: one.description ?? '',
        parameters: [...common, ...(one.parameters ?? [])].map(found).filter((each) => each !== undefined),
        body: schemaIn(one.requestBody?.content),
        responses: Object.entries(one.responses ?? {}).map(([status, response]) => {
          const { description = '', content } = found(response) ?? {};
          return { status, description, schema: schemaIn(content) };
        }),
        examples: {
          body: exampleIn(one.requestBody?.content, found),
          answer: exampleIn(
            Object.entries(one.responses ?? {})
              .filter(([status]) => status.startsWith('2'))
              .map(([, response]) => found(response))[0]?.content,
            found,
          ),
        },
        ingest_url: one.servers?.[0]?.variables?.['ingest_url']?.default,
      })),
    )
    .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

function schemaIn(content: Readonly<Record<string, Media>> = {}): Schema | undefined {
  return Object.values(content)[0]?.schema;
}

function exampleIn(
  content: Readonly<Record<string, Media>> = {},
  found: <T extends object>(part: OrRef<T>) => T | undefined,
): unknown {
  const { example, examples = {} } = Object.values(content)[0] ?? {};
  const [shared] = Object.values(examples);
  return example ?? (shared === undefined ? undefined : found(shared)?.value);
}

/** One name of an event, or a pattern of names, with the schema of its properties. */
export interface EventShape {
  name: string;
  properties: Readonly<Record<string, Schema>>;
  required: readonly string[];
}

/** The catalogue of events, as the schema `Event` of the document has it. */
export function eventsOf(document: ApiDocument): EventShape[] {
  const { allOf = [] } = schemaOf(document, { $ref: '#/components/schemas/Event' });
  const alternatives = allOf.flatMap(({ anyOf = [] }) => anyOf);
  return alternatives
    .flatMap(({ properties = {} }) => {
      const names = properties['event'];
      const own = properties['properties'];
      const shape = { properties: own?.properties ?? {}, required: own?.required ?? [] };
      if (names === undefined) return [];
      const listed = names.enum?.map(String) ?? [names.pattern === undefined ? '' : 'custom_…'];
      return listed.map((name) => ({ name, ...shape }));
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The type of a schema in a few words: `string (uuid)`, `integer`, `Player`, `array of Player`. */
export function typeOf(schema: Schema): string {
  const { $ref, type, format, items, enum: values, const: constant, anyOf, oneOf, allOf } = schema;
  if ($ref !== undefined) return $ref.split('/').at(-1) ?? $ref;
  if (constant !== undefined) return JSON.stringify(constant);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ');
  const several = anyOf ?? oneOf;
  if (several !== undefined) return several.map(typeOf).join(' | ');
  if (allOf !== undefined) return allOf.map(typeOf).join(' & ');
  const name = typeof type === 'string' ? type : (type ?? []).join(' | ');
  if (name === 'array') return `array of ${items === undefined ? 'any' : typeOf(items)}`;
  return format === undefined ? name || 'any' : `${name} (${format})`;
}

/** Further rules of a schema: its bounds, pattern and default. */
export function rulesOf({ minimum, maximum, minLength, maxLength, pattern, default: other }: Schema): string {
  const bound = (name: string, value: unknown) =>
    value === undefined ? [] : [`${name} ${JSON.stringify(value)}`];
  return [
    ...bound('≥', minimum),
    ...bound('≤', maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum),
    ...bound('length ≥', minLength),
    ...bound('length ≤', maxLength),
    ...(pattern === undefined ? [] : [`/${pattern}/`]),
    ...bound('default', other),
  ].join(', ');
}

/** Whether an operation is about the searched text: every word of it is in its method, path or summary. */
export function isFound({ method, path, summary }: Operation, q: string): boolean {
  return hasWords(`${method} ${path} ${summary}`, q);
}
