import { Ajv2020 } from 'ajv/dist/2020.js';
import * as addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERRORS } from '../../src/errors.ts';
import { EVENTS } from '../../src/events/catalogue.ts';
import { findEventProblem } from '../../src/events/validate.ts';
import { apiEndpoints } from '../../src/http/api-app.ts';
import type { AnyEndpoint } from '../../src/http/endpoint.ts';
import { openFixture, type Answer, type Fixture, type Tenant } from './api-fixture.ts';
import { custom, login, REQUIRED } from './sound-events.ts';

let fixture: Fixture;
let tenant: Tenant;
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
  paths: Record<string, Record<string, Operation>>;
}

beforeAll(async () => {
  fixture = await openFixture();
  tenant = await fixture.makeTenant();
  document = JSON.parse((await fixture.call('/openapi.json')).text) as Document;
});
afterAll(() => fixture.close());

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

test('every documented error is in the error table under its status', () => {
  for (const { responses, operationId } of operations()) {
    for (const [status, { description }] of Object.entries(responses)) {
      if (Number(status) < 400) continue;
      const codes = [...description.matchAll(/([A-Z][A-Z_]+): /g)].map(
        ([, code]) => code as keyof typeof ERRORS,
      );
      expect(codes.length, operationId).toBeGreaterThan(0);
      for (const code of codes) expect(ERRORS[code].status, `${operationId} ${code}`).toBe(Number(status));
    }
  }
});

test('inputs come from the schemas', () => {
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

test('metrics are in Prometheus’ format', async () => {
  const answer = await fixture.call('/metrics');
  expect(String(answer.headers['content-type'])).toContain('text/plain');
  expect(answer.text).toContain('# TYPE events_accepted_total counter');
});
