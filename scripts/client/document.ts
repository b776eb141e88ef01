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
  paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  components: { schemas: Readonly<Record<string, Schema>> } & Readonly<
    Record<string, Record<string, unknown>>
  >;
}

type Reference = { $ref: string };
type RawOperation = Omit<Operation, 'method' | 'path' | 'parameters' | 'responses'> & {
  parameters: readonly (Parameter | Reference)[];
  responses: Readonly<Record<string, Response | Reference>>;
};

/** The operations of a document. */
export function operationsOf({ paths, components }: Document): Operation[] {
  const resolved = <T>(part: T | Reference): T => {
    const reference = (part as Partial<Reference>).$ref;
    if (reference === undefined) return part as T;
    const [, , kind = '', name = ''] = reference.split('/');
    return components[kind]?.[name] as T;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => ({
      ...raw,
      method: method.toUpperCase(),
      path,
      parameters: raw.parameters.map((one) => resolved<Parameter>(one)),
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
