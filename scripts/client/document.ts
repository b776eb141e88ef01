/** A JSON Schema, as the OpenAPI document has them. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  enum?: readonly unknown[];
  const?: unknown;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
}

interface Content {
  content?: Readonly<Record<string, { schema: Schema }>>;
}

interface Response extends Content {
  description: string;
}

/** One operation, in which no part but schemas is a reference. */
export interface Operation {
  method: string;
  path: string;
  summary: string;
  description: string;
  parameters: readonly Parameter[];
  requestBody: (Content & { required?: boolean }) | undefined;
  responses: Readonly<Record<string, Response>>;
  servers: readonly unknown[] | undefined;
}

/** The OpenAPI document as `/openapi.json` has it. */
export interface Document {
  /** Of operations that say nothing. */
  security?: readonly Readonly<Record<string, unknown>>[];
  paths: Readonly<Record<string, PathItem>>;
  components: { schemas: Readonly<Record<string, Schema>> } & Readonly<
    Record<string, Record<string, unknown>>
  >;
}

type Reference = { $ref: string };
interface Parameters {
  parameters?: readonly (Parameter | Reference)[];
}
/** Operations by their methods, and the parameters that all of them have. */
type PathItem = Parameters & { readonly [method: string]: unknown };
type RawOperation = Omit<Operation, 'method' | 'path' | 'parameters' | 'responses'> &
  Parameters & {
    responses: Readonly<Record<string, Response | Reference>>;
  };

/** The operations of a document. */
export function operationsOf({ paths, components, security }: Document): Operation[] {
  const resolved = <T>(part: T | Reference): T => {
    const reference = (part as Partial<Reference>).$ref;
    if (reference === undefined) return part as T;
    const [, , kind = '', name = ''] = reference.split('/');
    return components[kind]?.[name] as T;
  };
  return Object.entries(paths).flatMap(([path, { parameters: common = [], ...methods }]) =>
    Object.entries(methods as Record<string, RawOperation>).map(([method, raw]) => ({
      ...(security === undefined ? {} : { security }),
      ...raw,
      method: method.toUpperCase(),
      path,
      parameters: [...common, ...(raw.parameters ?? [])].map((one) => resolved<Parameter>(one)),
      responses: Object.fromEntries(
        Object.entries(raw.responses).map(([status, one]) => [status, resolved<Response>(one)]),
      ),
    })),
  );
}

/** The schema's name in `components`; undefined when it is written where it is used. */
export function nameOf({ $ref: reference }: Schema): string | undefined {
  return reference?.slice(reference.lastIndexOf('/') + 1);
}
