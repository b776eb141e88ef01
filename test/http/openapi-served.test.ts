import { Ajv2020 } from 'ajv/dist/2020.js';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readExamples, type Examples } from '../../src/http/openapi-examples.ts';
import { acceptsGzip } from '../../src/http/prepared-answer.ts';
import { closed, dereferenced } from './dereferenced.ts';
import { FORMATS } from './documented-formats.ts';
import type { Fixture } from './api-fixture.ts';
import { sharedFixture } from './shared-fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await sharedFixture();
});
afterAll(() => fixture.close());

const get = (headers: Record<string, string> = {}) =>
  fixture.app.inject({ method: 'GET', url: '/openapi.json', headers });

/** What the compressed document may be, in bytes per operation. */
const MAX_GZIP = 368;

describe('/openapi.json', () => {
  it('is sent with gzip to those who accept it, and as it is to others', async () => {
    const plain = await get();
    expect(plain.headers['content-encoding']).toBeUndefined();
    const compressed = await get({ 'accept-encoding': 'br;q=1.0, gzip;q=0.8' });
    expect(compressed.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'application/json; charset=utf-8',
      vary: 'accept-encoding',
    });
    const { paths } = plain.json<{ paths: Record<string, object> }>();
    const operations = Object.values(paths).reduce((sum, path) => sum + Object.keys(path).length, 0);
    expect(compressed.rawPayload.length / operations).toBeLessThan(MAX_GZIP);
    expect(gunzipSync(compressed.rawPayload).toString()).toBe(plain.body);
  });

  it('is not sent again to those who have it', async () => {
    for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
      const { headers: answered } = await get(headers);
      const etag = String(answered['etag']);
      const again = await get({ ...headers, 'if-none-match': `"other", W/${etag}` });
      expect(again.statusCode).toBe(304);
      expect(again.rawPayload.length).toBe(0);
      expect(again.headers['etag']).toBe(etag);
      expect((await get({ ...headers, 'if-none-match': '"other"' })).statusCode).toBe(200);
    }
  });

  it('has another tag in each encoding', async () => {
    const [plain, compressed] = [await get(), await get({ 'accept-encoding': 'gzip' })];
    expect(plain.headers['etag']).not.toBe(compressed.headers['etag']);
  });
});

describe('the examples', () => {
  interface Media {
    schema?: Record<string, unknown>;
    example?: unknown;
    examples?: Record<string, { value: unknown }>;
  }
  const hasExample = (media: Media | undefined) =>
    media?.example !== undefined || Object.values(media?.examples ?? {})[0]?.value !== undefined;
  interface Operation {
    operationId: string;
    requestBody?: { required: boolean; content: Record<string, Media> };
    responses: Record<string, { content: Record<string, Media> }>;
  }
  let recorded: Examples;
  let document: { paths: Record<string, Record<string, Operation>>; components: Record<string, unknown> };
  beforeAll(async () => {
    recorded = await readExamples();
    document = dereferenced(JSON.parse((await get()).body) as Record<string, unknown>) as never;
  });

  /** The first medium of a body or of a success. */
  const mediaOf = ({ requestBody, responses }: Operation) => {
    const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
    return {
      body: Object.values(requestBody?.content ?? {})[0],
      answer: Object.values(success?.content ?? {})[0],
    };
  };
  const operations = () => Object.values(document.paths).flatMap((path) => Object.values(path));

  it('are there for every operation, but for files, streams of them and the document itself', () => {
    const missing = operations().flatMap((operation) => {
      const { body, answer } = mediaOf(operation);
      const is_file = answer?.schema?.['format'] === 'binary' || operation.operationId === 'get_openapi_json';
      return [
        ...(body !== undefined && operation.requestBody?.required === true && !hasExample(body)
          ? [`${operation.operationId}: request`]
          : []),
        ...(is_file || hasExample(answer) ? [] : [`${operation.operationId}: answer`]),
      ];
    });
    expect(missing, 'add a case to test/tenants/tenancy-cases.ts, then record: docs/developing.md').toEqual(
      [],
    );
  });

  it('are of operations that exist', () => {
    const ids = new Set(operations().map(({ operationId }) => operationId));
    expect(Object.keys(recorded).filter((id) => !ids.has(id))).toEqual([]);
  });

  it('match their schemas, bodies as well as answers', () => {
    const ajv = new Ajv2020({ strict: false, formats: FORMATS });
    const wrong: string[] = [];
    const check = (what: string, schema: Record<string, unknown>, example: unknown) => {
      if (!ajv.validate({ ...schema, components: document.components }, example))
        wrong.push(`${what}: ${ajv.errorsText()}`);
    };
    for (const operation of operations()) {
      const { body, answer } = mediaOf(operation);
      // All recorded ones, also those that the document leaves out because the answer is shared.
      const { request, answer: answered } = recorded[operation.operationId] ?? {};
      if (body?.schema !== undefined && request !== undefined)
        check(`${operation.operationId}: request`, body.schema, request);
      if (answer?.schema !== undefined && answered !== undefined)
        check(`${operation.operationId}: answer`, closed(answer.schema) as Record<string, unknown>, answered);
    }
    expect(wrong).toEqual([]);
  });
});

it.each([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['x-gzip', true],
  ['br, gzip;q=0', false],
  ['*', true],
  ['*;q=0', false],
  ['gzip;q=0, *', false],
  ['identity', false],
])('Accept-Encoding %j takes gzip: %s', (accepted, takes) => {
  expect(acceptsGzip(accepted)).toBe(takes);
});
