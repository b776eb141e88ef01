import { ERRORS, SIGNATURE_STATUS, type ErrorCode } from '../errors.ts';
import { describeNeeded } from './auth/roles.ts';
import type { Access, DocumentedEndpoint } from './endpoint.ts';
import { addExamples, type Examples } from './openapi-examples.ts';
import { asExtensions } from './openapi-extensions.ts';
import { errorHeaders, successHeaders } from './openapi-headers.ts';
import { linksOf, type LinkedOperation } from './openapi-links.ts';
import { DocumentSchemas } from './openapi-schemas.ts';
import { pathItem, shareParts, type SharingOperation } from './openapi-sharing.ts';

type Json = Record<string, unknown>;

const SECURITY: Record<Access['mode'], Json[]> = {
  public: [],
  // Each provider has its own signature headers, which OpenAPI cannot describe.
  webhook: [],
  internal: [{ internal_secret: [] }],
  api_key: [{ api_key: [] }],
  session: [{ session: [] }],
  user: [{ session: [] }],
  session_or_internal: [{ session: [] }, { internal_secret: [] }],
};

/**
 * The OpenAPI 3.1 document of the endpoints, made from the schemas that validate requests. `ingest_url` is the default
 * URL of the ingestion host; a client may replace it.
 */
export function openApiDocument(
  endpoints: readonly DocumentedEndpoint[],
  ingest_url: string,
  examples: Examples = {},
): Json {
  const schemas = new DocumentSchemas();
  const linked = endpoints.map((endpoint) => linkedOperation(endpoint, schemas));
  const operations = endpoints.map((endpoint, i) =>
    operation(endpoint, schemas, linked[i] === undefined ? {} : linksOf(linked[i], linked)),
  );
  const shared = shareParts(operations);
  const shared_examples = addExamples(operations, shared, examples);
  const ingestion = {
    url: '{ingest_url}',
    description: 'The ingestion host',
    variables: { ingest_url: { default: ingest_url } },
  };
  const paths: Record<string, Record<string, SharingOperation & Json>> = {};
  for (const [i, { method, path, server }] of endpoints.entries()) {
    (paths[path.replace(/:(\w+)/g, '{$1}')] ??= {})[method.toLowerCase()] = {
      ...(operations[i] ?? { responses: {} }),
      ...(server === undefined ? {} : { servers: [ingestion] }),
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Player Engagement Service', version: '1' },
    security: SECURITY.session,
    paths: Object.fromEntries(Object.entries(paths).map(([path, methods]) => [path, pathItem(methods)])),
    components: {
      securitySchemes: {
        api_key: { type: 'http', scheme: 'bearer', description: 'An API key, svc_pk_<env>_<id8>_<secret44>' },
        session: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        internal_secret: { type: 'apiKey', in: 'header', name: 'X-Internal-Secret' },
      },
      schemas: { ...OF_ENVELOPES, ...sorted(asExtensions(schemas.named)) },
      ...shared,
      examples: shared_examples,
    },
  };
}

/** Schemas of every answer: the error envelope, and what a page of a list has in addition to its data. */
const OF_ENVELOPES = {
  Failure: {
    type: 'object',
    required: ['error'],
    properties: { error: { $ref: '#/components/schemas/Error' } },
  },
  Error: {
    type: 'object',
    required: ['code', 'message'],
    properties: {
      code: { type: 'string', enum: Object.keys(ERRORS) },
      message: { type: 'string' },
      details: { type: 'object' },
    },
  },
  PageMeta: {
    type: 'object',
    required: ['next_cursor'],
    properties: { next_cursor: { type: ['string', 'null'] } },
  },
};

function sorted(named: Record<string, Json>): Json {
  return Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The error codes that an endpoint may return: its own, and those that its access, inputs and method imply. */
export function possibleErrors(endpoint: DocumentedEndpoint): ErrorCode[] {
  const { access, method, errors } = endpoint;
  const codes = new Set<ErrorCode>([...errors, 'HEADERS_TOO_LARGE', 'INTERNAL_ERROR']);
  const add = (...more: ErrorCode[]) => more.forEach((code) => codes.add(code));
  if (access.mode === 'webhook') add('FORBIDDEN', 'SERVICE_UNAVAILABLE');
  else if (access.mode !== 'public') add('UNAUTHORIZED', 'SERVICE_UNAVAILABLE');
  if (isOfSession(access)) add('FORBIDDEN', 'RATE_LIMITED', 'VALIDATION_ERROR');
  if (isOfProject(access)) add('PROJECT_NOT_FOUND');
  if (access.mode === 'api_key') add('FORBIDDEN', 'RATE_LIMITED');
  if (access.mode === 'api_key' && access.kind === 'server') add('KEY_KIND_FORBIDDEN');
  if (access.mode === 'user') add('FORBIDDEN', 'RATE_LIMITED');
  if (endpoint.idempotent === true)
    add('IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS', 'VALIDATION_ERROR', 'SERVICE_UNAVAILABLE');
  if (endpoint.versioned === true && method === 'PATCH') add('PRECONDITION_FAILED');
  if (method !== 'GET') add('BODY_MALFORMED', 'UNSUPPORTED_MEDIA_TYPE', 'PAYLOAD_TOO_LARGE');
  if (endpoint.query !== undefined || endpoint.body !== undefined) add('VALIDATION_ERROR');
  return [...codes];
}

function isOfSession({ mode }: Access): boolean {
  return mode === 'session' || mode === 'session_or_internal';
}

function isOfProject(access: Access): boolean {
  return access.mode === 'session_or_internal' || (access.mode === 'session' && access.scope === 'project');
}

function linkedOperation(endpoint: DocumentedEndpoint, schemas: DocumentSchemas): LinkedOperation {
  const data = schemas.resolved(schemas.of(endpoint.response, 'output'));
  const { items } = data as { items?: Json };
  return {
    operation_id: operationId(endpoint),
    path: endpoint.path,
    access: endpoint.access.mode,
    parameters: parameters(endpoint, schemas) as { name: string; in: string }[],
    data: items === undefined ? data : { ...data, items: schemas.resolved(items) },
    list: endpoint.shape === 'list',
  };
}

function operationId({ method, path }: DocumentedEndpoint): string {
  return `${method.toLowerCase()}${path.replace(/\W+/g, '_')}`;
}

function operation(
  endpoint: DocumentedEndpoint,
  schemas: DocumentSchemas,
  links: Json,
): SharingOperation & Json {
  const { summary, access, body, status, content_type, raw_types = ['application/json'] } = endpoint;
  const type = content_type?.split(';', 1)[0] ?? 'application/json';
  return {
    summary,
    description: describeAccess(access),
    operationId: operationId(endpoint),
    ...(isDefault(access) ? {} : { security: SECURITY[access.mode] }),
    parameters: parameters(endpoint, schemas),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !body.safeParse(undefined).success,
            content: Object.fromEntries(raw_types.map((name) => [name, { schema: schemas.of(body) }])),
          },
        }),
    responses: {
      [status]: {
        description: 'Success',
        headers: successHeaders(endpoint),
        content: { [type]: { schema: successSchema(endpoint, schemas) } },
        ...(Object.keys(links).length === 0 ? {} : { links }),
      },
      ...errorResponses(endpoint),
    },
  };
}

/** Whether the operation needs what those need that say nothing. */
function isDefault({ mode }: Access): boolean {
  return mode === 'session' || mode === 'user';
}

function describeAccess(access: Access): string {
  if (access.mode === 'session') return `Admin session, role ${describeNeeded(access.role)}.`;
  if (access.mode === 'session_or_internal')
    return (
      `Admin session, role ${describeNeeded(access.role)}, or the internal secret; with the secret, X-Tenant-Id and ` +
      'X-Project-Id are required.'
    );
  const others = {
    public: 'No credential.',
    webhook: 'Signed by the provider, over the request as it is sent; a bad signature is 401.',
    internal: 'Internal secret.',
    api_key: 'API key.',
    user: 'Admin session of any user; X-Tenant-Id is not read.',
  };
  return others[access.mode];
}

function parameters(
  { method, path, query, access, idempotent, versioned, names_batch }: DocumentedEndpoint,
  schemas: DocumentSchemas,
): Json[] {
  const found: Json[] = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    // Parameters with such a name are ids of this service, which are UUIDs.
    schema: parameterSchema(name ?? ''),
  }));
  if (query !== undefined) {
    const { properties = {}, required = [] } = schemas.of(query) as {
      properties?: Record<string, Json>;
      required?: string[];
    };
    for (const [name, schema] of Object.entries(properties)) {
      found.push({ name, in: 'query', ...(required.includes(name) ? { required: true } : {}), schema });
    }
  }
  const header = (name: string, description: string) =>
    found.push({ name, in: 'header', description, schema: { type: 'string', format: 'uuid' } });
  if (isOfSession(access)) {
    header('X-Tenant-Id', 'Which tenant, for members of several');
    if (isOfProject(access)) header('X-Project-Id', "Which project; default: the tenant's oldest");
  }
  if (versioned === true && method === 'PATCH')
    found.push({
      name: 'If-Match',
      in: 'header',
      description: 'The ETag that the change was made from: another version is refused with 412',
      schema: { type: 'string' },
    });
  if (idempotent === true)
    header('Idempotency-Key', 'For 7 days, repeating the request under this key gives the same answer again');
  if (names_batch !== undefined)
    found.push({
      name: 'Idempotency-Key',
      in: 'header',
      description: names_batch,
      schema: { type: 'string', minLength: 1, maxLength: 256 },
    });
  return found;
}

function successSchema({ response, shape, meta }: DocumentedEndpoint, schemas: DocumentSchemas): Json {
  const data = schemas.of(response, 'output');
  if (shape === 'raw') return data;
  const properties: Json = { data };
  if (shape === 'list') {
    const page = { $ref: '#/components/schemas/PageMeta' };
    properties['meta'] = meta === undefined ? page : { allOf: [page, schemas.of(meta, 'output')] };
  }
  return { type: 'object', required: Object.keys(properties), properties };
}

function errorResponses(endpoint: DocumentedEndpoint): Json {
  const byStatus = groupByStatus(possibleErrors(endpoint), endpoint);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      String(status),
      {
        headers: errorHeaders(status, endpoint),
        description: group.map((code) => `${code}: ${ERRORS[code].when}`).join('; '),
        content: {
          'application/json': {
            schema: {
              $ref: '#/components/schemas/Failure',
              properties: { error: { properties: { code: { enum: group } } } },
            },
          },
        },
      },
    ]),
  );
}

function groupByStatus(
  codes: readonly ErrorCode[],
  { access, errors }: DocumentedEndpoint,
): Map<number, ErrorCode[]> {
  const groups = new Map<number, ErrorCode[]>();
  const add = (status: number, code: ErrorCode) => groups.set(status, [...(groups.get(status) ?? []), code]);
  for (const code of codes) {
    const isSignature = access.mode === 'webhook' && code === 'FORBIDDEN';
    if (isSignature) add(SIGNATURE_STATUS, code);
    // A webhook that is signed well may be refused for another reason, which the endpoint declares.
    if (!isSignature || errors.includes(code)) add(ERRORS[code].status, code);
  }
  return groups;
}

/** A path parameter is an id, the number of a version, or an index; its name decides. */
function parameterSchema(name: string): Json {
  if (name === 'index') return { type: 'string', pattern: '^[0-9]{1,3}$' };
  if (/^id$|Id$|_id$/.test(name)) return { type: 'string', format: 'uuid' };
  return name === 'version' ? { type: 'string', pattern: '^[1-9][0-9]{0,8}$' } : { type: 'string' };
}
