import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../errors.ts';
import type { Access, AnyEndpoint } from './endpoint.ts';

/** An endpoint as far as the documentation is concerned. */
export interface DocumentedEndpoint extends Pick<
  AnyEndpoint,
  'method' | 'path' | 'summary' | 'access' | 'response' | 'errors'
> {
  status: 200 | 201 | 202;
  query?: z.ZodType;
  body?: z.ZodType;
  shape?: 'list' | 'raw';
  content_type?: string;
  /** Absent: the API host. */
  server?: 'ingestion';
}

type Json = Record<string, unknown>;

const SECURITY: Record<Access['mode'], Json[]> = {
  public: [],
  internal: [{ internal_secret: [] }],
  api_key: [{ api_key: [] }],
  session: [{ session: [] }],
};

/** The OpenAPI 3.1 document of the endpoints, made from the schemas that check requests. */
export function openApiDocument(endpoints: readonly DocumentedEndpoint[]): Json {
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[endpoint.method.toLowerCase()] = operation(endpoint);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Player Engagement Service', version: '1' },
    paths,
    components: {
      securitySchemes: {
        api_key: { type: 'http', scheme: 'bearer', description: 'An API key, svc_pk_<env>_<id8>_<secret44>' },
        session: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        internal_secret: { type: 'apiKey', in: 'header', name: 'X-Internal-Secret' },
      },
      schemas: {
        Error: {
          type: 'object',
          required: ['code', 'message'],
          properties: {
            code: { type: 'string', enum: Object.keys(ERRORS) },
            message: { type: 'string' },
            details: { type: 'object' },
          },
        },
      },
    },
  };
}

/** The codes an endpoint may answer with: its own, and those that its access and method imply. */
export function possibleErrors(endpoint: DocumentedEndpoint): ErrorCode[] {
  const { access, method, errors } = endpoint;
  const codes = new Set<ErrorCode>([...errors, 'INTERNAL_ERROR']);
  const add = (...more: ErrorCode[]) => more.forEach((code) => codes.add(code));
  if (access.mode !== 'public') add('UNAUTHORIZED', 'SERVICE_UNAVAILABLE');
  if (access.mode === 'session') add('FORBIDDEN', 'RATE_LIMITED', 'VALIDATION_ERROR');
  if (access.mode === 'session' && access.scope === 'project') add('PROJECT_NOT_FOUND');
  if (access.mode === 'api_key' && access.rate === 'identify') add('RATE_LIMITED');
  if (method !== 'GET') add('BODY_MALFORMED', 'UNSUPPORTED_MEDIA_TYPE', 'PAYLOAD_TOO_LARGE');
  if (endpoint.query !== undefined || endpoint.body !== undefined) add('VALIDATION_ERROR');
  return [...codes];
}

function operation(endpoint: DocumentedEndpoint): Json {
  const { summary, access, body, status, content_type, server } = endpoint;
  const type = content_type?.split(';', 1)[0] ?? 'application/json';
  return {
    summary,
    description: describeAccess(access),
    operationId: `${endpoint.method.toLowerCase()}${endpoint.path.replace(/\W+/g, '_')}`,
    ...(server === undefined ? {} : { servers: [{ url: '/', description: 'the ingestion host' }] }),
    security: SECURITY[access.mode],
    parameters: parameters(endpoint),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body) } } } }),
    responses: {
      [status]: { description: 'Success', content: { [type]: { schema: successSchema(endpoint) } } },
      ...errorResponses(possibleErrors(endpoint)),
    },
  };
}

function describeAccess(access: Access): string {
  if (access.mode === 'session') return `Admin session, role ${access.role} or above.`;
  return { public: 'No credential.', internal: 'Internal secret.', api_key: 'API key.' }[access.mode];
}

function parameters({ path, query, access }: DocumentedEndpoint): Json[] {
  const found: Json[] = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  if (query !== undefined) {
    const { properties = {}, required = [] } = schemaOf(query) as {
      properties?: Record<string, Json>;
      required?: string[];
    };
    for (const [name, schema] of Object.entries(properties)) {
      found.push({ name, in: 'query', required: required.includes(name), schema });
    }
  }
  const header = (name: string, description: string) =>
    found.push({ name, in: 'header', description, schema: { type: 'string', format: 'uuid' } });
  if (access.mode === 'session') {
    header('X-Tenant-Id', 'Which tenant, for members of several');
    if (access.scope === 'project') header('X-Project-Id', "Which project; default: the tenant's oldest");
  }
  return found;
}

function successSchema({ response, shape }: DocumentedEndpoint): Json {
  const data = schemaOf(response, 'output');
  if (shape === 'raw') return data;
  const properties: Json = { data };
  if (shape === 'list') {
    properties['meta'] = {
      type: 'object',
      required: ['next_cursor'],
      properties: { next_cursor: { type: ['string', 'null'] } },
    };
  }
  return { type: 'object', required: Object.keys(properties), properties };
}

function errorResponses(codes: readonly ErrorCode[]): Json {
  const byStatus = groupByStatus(codes);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      String(status),
      {
        description: group.map((code) => `${code}: ${ERRORS[code].when}`).join('; '),
        content: {
          'application/json': {
            schema: {
              type: 'object',
              required: ['error'],
              properties: {
                error: {
                  allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { code: { enum: group } } }],
                },
              },
            },
          },
        },
      },
    ]),
  );
}

function groupByStatus(codes: readonly ErrorCode[]): Map<number, ErrorCode[]> {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERRORS[code];
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return groups;
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output' = 'input'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
