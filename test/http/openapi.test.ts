import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERRORS } from '../../src/errors.ts';
import { EVENTS } from '../../src/ingest/events/catalogue.ts';
import { findEventProblem } from '../../src/ingest/events/validate.ts';
import { apiEndpoints } from '../../src/app/api-app.ts';
import type { AnyEndpoint } from '../../src/http/endpoint.ts';
import { closed, dereferenced } from './dereferenced.ts';
import { FORMATS } from './documented-formats.ts';
import type { Answer } from '../engines/http-client.ts';
import type { Fixture, Tenant } from './api-fixture.ts';
import { sharedFixture } from './shared-fixture.ts';
import { custom, login, propertiesOf } from '../ingest/sound-events.ts';

let fixture: Fixture;
let tenant: Tenant;
let served: string;
let document: Document;

type Json = Record<string, unknown>;
interface Header {
  required?: boolean;
  schema: Json;
}
interface Response {
  description: string;
  headers?: Record<string, Header>;
  content: Record<string, { schema: Json }>;
  links?: Record<string, { operationId: string; parameters: Record<string, string> }>;
}
interface Operation {
  operationId: string;
  security: Record<string, unknown>[];
  servers?: { url: string; variables: Record<string, { default: string }> }[];
  parameters: { name: string; in: string; schema: Json }[];
  requestBody?: { content: Record<string, { schema: Json & { properties?: Record<string, Json> } }> };
  responses: Record<string, Response>;
}
interface Document {
  openapi: string;
  components: Json;
  paths: Record<string, Record<string, Operation>>;
}

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  served = (await fixture.call('/openapi.json')).text;
  document = dereferenced(JSON.parse(served) as Json) as unknown as Document;
});
afterAll(() => fixture.close());

/** The endpoint's path, with `:name` for parameters. */
function operationOf(method: string, path: string): Operation {
  const found = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
  if (found === undefined) throw new Error(`${method} ${path} is not documented`);
  return found;
}

const operations = () => Object.values(document.paths).flatMap((path) => Object.values(path));

test('documents every endpoint and the ingestion host', () => {
  expect(document.openapi).toBe('3.1.0');
  for (const { method, path } of apiEndpoints(fixture.platform, fixture.config, fixture.deps)) {
    const name = path.replace(/:(\w+)/g, '{$1}');
    const operation = document.paths[name]?.[method.toLowerCase()];
    expect(operation, `${method} ${path}`).toBeDefined();
    const inPath = operation?.parameters
      .filter((parameter) => parameter.in === 'path')
      .map(({ name }) => name);
    expect(inPath).toEqual([...path.matchAll(/:(\w+)/g)].map(([, parameter]) => parameter));
  }
  expect(document.paths['/v1/events']?.['post']?.security).toEqual([{ api_key: [] }]);
  expect(document.paths['/v1/events/batch']?.['post']?.responses).toHaveProperty('202');
  const ids = operations().map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

/** What the document may be without its examples, and its examples, in bytes as served, with so many operations. */
const BYTES_PER_OPERATION = 2_560;
const EXAMPLE_BYTES_PER_OPERATION = 280;
const MIN_NAMED = 130;

test('is small, because what occurs often is written once, without spaces', () => {
  expect(served).toBe(JSON.stringify(JSON.parse(served)));
  const { components } = JSON.parse(served) as { components: Record<string, Json> };
  expect(Object.keys(components['schemas'] ?? {}).length).toBeGreaterThanOrEqual(MIN_NAMED);
  const without = JSON.stringify(JSON.parse(served), (name, value: unknown) =>
    (name === 'example' || name === 'examples') && !Array.isArray(value) ? undefined : value,
  );
  const per_operation = (bytes: number) => bytes / operations().length;
  const bytes = Buffer.byteLength(without);
  expect(per_operation(bytes)).toBeLessThan(BYTES_PER_OPERATION);
  expect(per_operation(Buffer.byteLength(served) - bytes)).toBeLessThan(EXAMPLE_BYTES_PER_OPERATION);
});

test('bodies and resources have names', () => {
  const { paths } = JSON.parse(served) as { paths: Record<string, Record<string, Operation>> };
  const unnamed = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(
        ([, { requestBody }]) => requestBody?.content['application/json']?.schema['properties'] !== undefined,
      )
      .map(([method]) => `${method} ${path}`),
  );
  expect(unnamed).toEqual([]);
});

test('every documented error is in the error table under its status', () => {
  for (const { responses, operationId } of operations()) {
    for (const [status, { description }] of Object.entries(responses)) {
      if (Number(status) < 400) continue;
      const codes = [...description.matchAll(/([A-Z][A-Z_]+): /g)].map(
        ([, code]) => code as keyof typeof ERRORS,
      );
      expect(codes.length, operationId).toBeGreaterThan(0);
      for (const code of codes) {
        // A webhook signature is no credential: a wrong one is answered with 401. Only KYC may be refused with 403.
        const isSignature = code === 'FORBIDDEN' && operationId.includes('_webhooks_');
        const expected = isSignature ? [401] : [ERRORS[code].status];
        if (operationId.endsWith('_kyc_events')) expected.push(ERRORS[code].status);
        expect(expected, `${operationId} ${code}`).toContain(Number(status));
      }
    }
  }
});

test('a POST of which no field is required needs no body', () => {
  const asking = apiEndpoints(fixture.platform, fixture.config, fixture.deps).filter(
    ({ method, body }) =>
      method === 'POST' && body?.safeParse({}).success === true && !body.safeParse(undefined).success,
  );
  // A call of identify that says nothing is one whose body was lost.
  expect(asking.map(({ path }) => path)).toEqual(['/v1/players/identify']);
});

test('input schemas come from the endpoints’ schemas', () => {
  const list = document.paths['/v1/players']?.['get'];
  expect(list?.parameters.map(({ name }) => name)).toEqual([
    'cursor',
    'limit',
    'status',
    'email',
    'external_id',
    'phone',
    'telegram_id',
    'X-Tenant-Id',
    'X-Project-Id',
  ]);
  const patch = document.paths['/v1/players/{id}']?.['patch'];
  const fields = patch?.requestBody?.content['application/json']?.schema.properties;
  expect(Object.keys(fields ?? {}).sort()).toEqual([
    'custom_attributes',
    'email',
    'phone',
    'status',
    'telegram_id',
    'timezone',
  ]);
  expect(Object.keys(patch?.responses ?? {})).toEqual(
    expect.arrayContaining([
      '200',
      '400',
      '401',
      '403',
      '404',
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ]),
  );
});

/** Statuses that every endpoint with this access may answer, besides its success and its own errors. */
const OF_ACCESS: Record<AnyEndpoint['access']['mode'], number[]> = {
  public: [431, 500],
  webhook: [401, 431, 500, 503],
  internal: [401, 431, 500, 503],
  api_key: [401, 403, 429, 431, 500, 503],
  session: [401, 403, 422, 429, 431, 500, 503],
  user: [401, 403, 429, 431, 500, 503],
  session_or_internal: [401, 403, 404, 422, 429, 431, 500, 503],
};

function statusesOf(endpoint: AnyEndpoint): Set<number> {
  const { access, method, status, errors, query, body, idempotent, versioned } = endpoint;
  const found = new Set<number>([status, ...OF_ACCESS[access.mode]]);
  const add = (...more: number[]) => more.forEach((one) => found.add(one));
  if (access.mode === 'session' && access.scope === 'project') add(404);
  if (method !== 'GET') add(400, 413, 415);
  if (query !== undefined || body !== undefined) add(422);
  if (idempotent === true) add(409, 422, 503);
  if (versioned === true && method === 'PATCH') add(412);
  add(...errors.map((code) => ERRORS[code].status));
  return found;
}

test('every operation documents the statuses that its access, method and errors imply, and no other', () => {
  for (const endpoint of apiEndpoints(fixture.platform, fixture.config, fixture.deps)) {
    const documented = Object.keys(operationOf(endpoint.method, endpoint.path).responses).map(Number);
    expect(new Set(documented), `${endpoint.method} ${endpoint.path}`).toEqual(statusesOf(endpoint));
  }
});

test('every status documents the headers that it always carries', () => {
  for (const { operationId, responses, servers } of operations()) {
    for (const [status, { headers = {} }] of Object.entries(responses)) {
      const required = Object.keys(headers).filter((name) => headers[name]?.required === true);
      const expected = headersOf(Number(status), servers !== undefined);
      expect(required.sort(), `${operationId} ${status}`).toEqual(expected.sort());
    }
  }
});

function headersOf(status: number, ingestion: boolean): string[] {
  const rate = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
  if (status === 431) return [];
  if (status < 300) return ingestion ? rate : ['X-Request-Id'];
  if (status === 401) return ['X-Request-Id', 'WWW-Authenticate'];
  if (status === 503) return ['X-Request-Id', 'Retry-After'];
  if (status === 429) return ['X-Request-Id', 'Retry-After'];
  return ['X-Request-Id'];
}

test('ids in paths are UUIDs, versions and indexes numbers, and integers in answers have no upper bound', () => {
  for (const { operationId, parameters, responses } of operations()) {
    for (const { name, in: location, schema } of parameters) {
      // The name of an adapter, which its platform chooses, and the code of a currency.
      if (location !== 'path' || name === 'slug' || name === 'code') continue;
      const patterns: Record<string, string> = { version: '^[1-9][0-9]{0,8}$', index: '^[0-9]{1,3}$' };
      const expected = patterns[name] === undefined ? { format: 'uuid' } : { pattern: patterns[name] };
      expect(schema, `${operationId} ${name}`).toMatchObject(expected);
    }
    expect(JSON.stringify(responses), operationId).not.toContain(String(Number.MAX_SAFE_INTEGER));
  }
});

const EVERYBODY = { operator: 'AND', conditions: [{ type: 'random', percent: 100, salt: 'documented' }] };

describe('answers conform to the document', () => {
  const ajv = new Ajv2020({ strict: false, formats: FORMATS });

  function conforms(method: string, path: string, answer: Answer): void {
    const response = operationOf(method, path).responses[answer.status];
    const where = `${method} ${path} ${answer.status}: ${answer.text.slice(0, 300)}`;
    expect(response, where).toBeDefined();
    for (const [name, { required }] of Object.entries(response?.headers ?? {})) {
      if (required === true) expect(answer.headers.has(name), where).toBe(true);
    }
    const schema = closed(response?.content['application/json']?.schema ?? {}) as Json;
    const valid = ajv.validate({ ...schema, components: document.components }, answer.body);
    expect(valid, `${where} ${ajv.errorsText()}`).toBe(true);
  }

  test.each<[string, string, string, number, unknown?]>([
    ['GET', '/healthz', '', 200],
    ['GET', '/readyz', '', 200],
    ['GET', '/v1/me', 'api_key', 200],
    ['GET', '/v1/me', '', 401],
    ['POST', '/v1/players/identify', 'api_key', 200, { external_id: 'documented' }],
    ['POST', '/v1/players/identify', 'api_key', 422, {}],
    ['POST', '/v1/players/identify', 'api_key', 400, null],
    ['POST', '/v1/players/identify', 'session', 401, {}],
    ['GET', '/v1/players', 'session', 200],
    ['GET', '/v1/players/:id', 'session', 404],
    ['PATCH', '/v1/players/:id', 'session', 422, { ggr: 1 }],
    ['POST', '/v1/projects/:projectId/api-keys', 'session', 404, { name: 'documented' }],
    ['GET', '/v1/tenant/config', 'session', 200],
    ['GET', '/v1/currencies', 'session', 200],
    ['GET', '/v1/segments', 'session', 200],
    ['GET', '/v1/segments/:id', 'session', 404],
    ['POST', '/v1/segments', 'session', 201, { name: 'documented', definition: EVERYBODY }],
    ['POST', '/v1/segments', 'session', 422, { name: 'documented', definition: {} }],
    ['POST', '/v1/segments/preview', 'session', 200, { definition: EVERYBODY }],
    ['GET', '/v1/internal/dead-letters', 'session', 401],
  ])('%s %s as %s is %i', async (method, path, caller, status, body) => {
    const url = path.replace(/:\w+/g, '00000000-0000-4000-8000-000000000000');
    const request = { method, ...(body === undefined ? {} : { body }) };
    const token = caller === 'api_key' ? tenant.api_key : tenant.session;
    const answer = await (caller === '' ? fixture.call(url, request) : fixture.as(token, url, request));
    expect(answer.status, answer.text).toBe(status);
    conforms(method, path, answer);
  });
});

describe('links', () => {
  test('name operations and parameters that exist', () => {
    const byId = new Map(operations().map((operation) => [operation.operationId, operation]));
    let links = 0;
    for (const { operationId, responses } of operations()) {
      for (const link of Object.values(responses).flatMap((response) =>
        Object.values(response.links ?? {}),
      )) {
        const names = byId.get(link.operationId)?.parameters.map(({ name }) => name);
        expect(names, operationId).toEqual(expect.arrayContaining(Object.keys(link.parameters)));
        links++;
      }
    }
    expect(links).toBeGreaterThan(10);
  });

  test('lead from an answer to the operations on what it names', async () => {
    const identified = await identify('linked');
    const { links } = operationOf('POST', '/v1/players/identify').responses['200'] ?? {};
    expect(links?.['get_v1_players_id']?.parameters).toEqual({ id: '$response.body#/data/player_id' });
    const player = await fixture.as(tenant.session, `/v1/players/${identified}`);
    expect(player.body.data['id']).toBe(identified);

    const made = operationOf('POST', '/v1/projects/:projectId/api-keys').responses['201']?.links ?? {};
    const parameters = { projectId: '$request.path.projectId', id: '$response.body#/data/id' };
    expect(Object.values(made)).toEqual([
      { operationId: 'patch_v1_projects_projectId_api_keys_id', parameters },
      { operationId: 'delete_v1_projects_projectId_api_keys_id', parameters },
    ]);
    // From a segment to every operation on it, and to its project.
    const segment = operationOf('POST', '/v1/segments').responses['201']?.links ?? {};
    expect(Object.keys(segment).sort()).toEqual([
      'delete_v1_segments_id',
      'get_v1_projects_projectId_api_keys',
      'get_v1_segments_id',
      'get_v1_segments_id_explain',
      'get_v1_segments_id_history',
      'get_v1_segments_id_members',
      'get_v1_segments_id_references',
      'get_v1_segments_id_sample',
      'patch_v1_segments_id',
      'post_v1_projects_projectId_api_keys',
      'post_v1_segments_id_refresh',
    ]);
    // Internal operations have no links: their callers do not have a session.
    const tenants = operationOf('POST', '/v1/internal/tenants').responses['201']?.links;
    expect(tenants).toBeUndefined();
  });

  test('lead to the next page with the same filters', async () => {
    await Promise.all([identify('page-1'), identify('page-2')]);
    const { parameters } = operationOf('GET', '/v1/players').responses['200']?.links?.['next_page'] ?? {};
    expect(parameters).toMatchObject({
      cursor: '$response.body#/meta/next_cursor',
      limit: '$request.query.limit',
      status: '$request.query.status',
      'X-Project-Id': '$request.header.X-Project-Id',
    });
    const filters = '?limit=1&status=active';
    const first = await fixture.as(tenant.session, `/v1/players${filters}`);
    const cursor = String(first.body.meta['next_cursor']);
    const second = await fixture.as(tenant.session, `/v1/players${filters}&cursor=${cursor}`);
    expect(second.status, second.text).toBe(200);
    expect(second.body.data[0]?.['id']).not.toBe(first.body.data[0]?.['id']);
  });

  async function identify(external_id: string): Promise<string> {
    const request = { method: 'POST', body: { external_id } };
    const answer = await fixture.as(tenant.api_key, '/v1/players/identify', request);
    return String(answer.body.data['player_id']);
  }
});

describe('events', () => {
  const context = { now_ms: Date.now(), hasCurrency: () => true };

  let validate: ValidateFunction;
  // Compiled once, because compiling takes much longer than validating.
  beforeAll(() => {
    const { schema } = operationOf('POST', '/v1/events').requestBody?.content['application/json'] ?? {};
    validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema ?? {});
  });

  /** Whether the document accepts the event; fails when intake decides differently. */
  function isDocumented(event: unknown): boolean {
    const valid = validate(event);
    expect(valid, JSON.stringify(event)).toBe(findEventProblem(event, context) === undefined);
    return valid;
  }

  test.each(Object.keys(EVENTS))('%s is documented as intake checks it', (event) => {
    const properties = propertiesOf(event);
    expect(isDocumented(login({ event, properties }))).toBe(true);
    const required = EVENTS[event as keyof typeof EVENTS].required;
    for (const missing of required) {
      const { [missing]: _left_out, ...rest } = properties;
      expect(isDocumented(login({ event, properties: rest }))).toBe(false);
      expect(isDocumented(login({ event, properties: { ...properties, [missing]: {} } }))).toBe(false);
    }
    expect(isDocumented(login({ event }))).toBe(required.length === 0);
  });

  test('of wallets and sportsbooks are documented as intake checks them', () => {
    const sent = (event: string, more: object) =>
      isDocumented(login({ event, properties: { ...propertiesOf(event), ...more } }));
    expect(sent('bet_won', { bonus_payout: 0, movement_id: 'm' })).toBe(true);
    expect(sent('bet_won', { bonus_stake: 0 })).toBe(false);
    expect(sent('bet_placed', { bonus_payout: 0 })).toBe(false);
    expect(sent('sport_bet_settled', { bonus_stake: 0, amount: 1 })).toBe(true);
    expect(sent('sport_bet_settled', { bonus_stake: 0 })).toBe(false);
    expect(sent('bet_lost', { bonus_stake: 'free', dedupe_id: 7 })).toBe(true);
    expect(sent('login', { dedupe_id: 'e' })).toBe(true);
    for (const event of ['login', 'bonus_claimed', 'email_opened', 'deposit_failed'])
      expect(sent(event, { dedupe_id: 7 })).toBe(false);
    expect(sent('deposit_failed', { dedupe_id: 7, transaction_id: 't' })).toBe(true);
    for (const event of ['kyc_approved', 'self_exclusion_set', 'custom_spin'])
      expect(sent(event, { dedupe_id: 7 })).toBe(true);
  });

  test('with other names, shapes or identities are documented as intake checks them', () => {
    expect(isDocumented(custom({ anything: [1] }))).toBe(true);
    expect(isDocumented({ event: 'login', player_id: '00000000-0000-4000-8000-000000000000' })).toBe(true);
    for (const event of [
      { event: 'login' },
      { event: 'login', external_id: 'only' },
      { anonymous_id: 'nameless' },
      login({ event: 'custom_' }),
      login({ event: `custom_${'x'.repeat(200)}` }),
      login({ event: 'unheard_of' }),
      login({ amount: 1 }),
      login({ anonymous_id: '' }),
      login({ properties: [] }),
      [],
    ]) {
      expect(isDocumented(event)).toBe(false);
    }
  });

  test('have a valid example', () => {
    const { schema } = operationOf('POST', '/v1/events').requestBody?.content['application/json'] ?? {};
    const examples = schema?.['examples'] as unknown[];
    expect(examples).toHaveLength(1);
    expect(isDocumented(examples[0])).toBe(true);
  });

  test('are sent to a host of their own', () => {
    const [server] = operationOf('POST', '/v1/events').servers ?? [];
    const ingest_url = { default: `http://localhost:${fixture.config.ingest_port}` };
    expect(server).toMatchObject({ url: '{ingest_url}', variables: { ingest_url } });
  });
});

test('the pattern of a telephone number describes the untrimmed text', async () => {
  const { properties } =
    operationOf('PATCH', '/v1/players/:id').requestBody?.content['application/json']?.schema ?? {};
  const phone = { type: 'object', properties: { phone: properties?.['phone'] ?? {} } };
  const player = await fixture.as(tenant.api_key, '/v1/players/identify', {
    method: 'POST',
    body: { external_id: 'trimmed' },
  });
  const path = `/v1/players/${String(player.body.data['player_id'])}`;
  for (const text of ['1234', ' 1234 ', '12 34', '1 2 3', '12', ' 12 ', '   ', '1  ', '']) {
    const body = { phone: text };
    const { status } = await fixture.as(tenant.session, path, { method: 'PATCH', body });
    const valid = new Ajv2020({ strict: false }).validate(phone, body);
    expect(status, `"${text}"`).toBe(valid ? 200 : 422);
  }
});

test('metrics are in Prometheus’ format', async () => {
  const answer = await fixture.call('/metrics');
  expect(String(answer.headers.get('content-type'))).toContain('text/plain');
  expect(answer.text).toContain('# TYPE events_accepted_total counter');
});
