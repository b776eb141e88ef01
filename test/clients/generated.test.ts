import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../clients/js/src/admin.ts';
import { OPERATIONS } from '../../clients/js/src/generated/operations.ts';
import { operationsOf, type Document, type Schema } from '../../scripts/client/document.ts';
import { generateClient } from '../../scripts/client/generate.ts';
import { int64Paths, typeOf } from '../../scripts/client/types.ts';
import { packageRoot } from '../../src/package-root.ts';
import { openFixture, type Fixture } from '../http/api-fixture.ts';

const MAX_BUNDLE_GZIP = 12_000;

let fixture: Fixture;
let document: Document;
beforeAll(async () => {
  fixture = await openFixture();
  document = JSON.parse((await fixture.call('/openapi.json')).text) as Document;
});
afterAll(() => fixture.close());

describe('the generated client', () => {
  it('is what the OpenAPI document gives; `npm run generate-client` writes it again', async () => {
    for (const [name, text] of Object.entries(generateClient(document))) {
      const file = join(packageRoot, 'clients/js/src/generated', name);
      if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(file, text);
      else expect(await readFile(file, 'utf8'), name).toBe(text);
    }
  });

  it('has a method for every operation, and no other', () => {
    const documented = operationsOf(document).map(({ method, path }) => `${method} ${path}`);
    const inTable = Object.values(OPERATIONS).map((line) => line.split(' ').slice(0, 2).join(' '));
    expect(inTable).toEqual(documented);
    expect(Object.keys(OPERATIONS).filter((name) => name.split('.').includes(''))).toEqual([]);
    const client: unknown = createClient();
    for (const name of Object.keys(OPERATIONS)) {
      const found = name.split('.').reduce((at, part) => (at as Record<string, unknown>)[part], client);
      expect(found, name).toBeTypeOf('function');
    }
  });

  it('has the descriptions of fields word for word', () => {
    const comments = Object.values(generateClient(document)).flatMap(
      (text) => text.match(/\/\*[\s\S]*?\*\//g) ?? [],
    );
    expect(comments.length).toBeGreaterThan(100);
    expect(comments.filter((comment) => /\bS\.[A-Z]/.test(comment))).toEqual([]);
  });

  it('compiles under the strictest options for browsers', async () => {
    const tsc = join(packageRoot, 'node_modules/typescript/bin/tsc');
    for (const project of ['clients/js', 'clients/js/tsconfig.browser.json']) {
      const run = promisify(execFile)(process.execPath, [tsc, '-p', project], { cwd: packageRoot });
      const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
      expect(stdout, project).toBe('');
    }
  });

  it('is small in a browser with all its operations', async () => {
    const built = (await build({
      configFile: false,
      logLevel: 'error',
      build: {
        write: false,
        target: 'es2023',
        lib: { entry: join(packageRoot, 'clients/js/src/admin.ts'), formats: ['es'], fileName: 'client' },
      },
    })) as Rolldown.RolldownOutput[];
    const code = built.flatMap(({ output }) => output.map((one) => ('code' in one ? one.code : ''))).join('');
    expect(code).toContain('/v1/players/{id}');
    expect(gzipSync(code).length).toBeLessThan(MAX_BUNDLE_GZIP);
  });
});

describe('the generator', () => {
  it.each<[Schema, string, string]>([
    [{ type: 'integer', format: 'int64' }, 'bigint', 'bigint | number'],
    [{ type: ['integer', 'null'], format: 'int64' }, 'bigint | null', 'bigint | number | null'],
    [{ type: 'integer' }, 'number', 'number'],
    [{ type: ['string', 'null'] }, 'string | null', 'string | null'],
    [{ enum: ['a', 'b'] }, '"a" | "b"', '"a" | "b"'],
    [{ anyOf: [{ $ref: '#/components/schemas/Tier' }, { type: 'null' }] }, 'Tier | null', 'Tier | null'],
    [{ type: 'array', items: { type: 'string' } }, 'Array<string>', 'Array<string>'],
    [{ type: 'object', additionalProperties: {} }, 'Record<string, unknown>', 'Record<string, unknown>'],
    [
      { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false },
      '{ "a"?: string; }',
      '{ "a"?: string | undefined; }',
    ],
    [
      { allOf: [{ anyOf: [{ required: ['a'] }] }], type: 'object' },
      'Record<string, unknown>',
      'Record<string, unknown>',
    ],
  ])('writes %j as %s in answers and as %s in bodies', (schema, output, input) => {
    expect(typeOf(schema, 'output')).toBe(output);
    expect(typeOf(schema, 'input')).toBe(input);
  });

  it('finds 64-bit integers in lists, records, alternatives and named schemas', () => {
    const int64: Schema = { type: 'integer', format: 'int64' };
    const named = { Money: { type: 'object', properties: { amount: int64 } } };
    const schema: Schema = {
      type: 'object',
      properties: {
        list: { type: 'array', items: { $ref: '#/components/schemas/Money' } },
        by_code: { type: 'object', additionalProperties: int64 },
        maybe: { anyOf: [{ $ref: '#/components/schemas/Money' }, { type: 'null' }] },
        plain: { type: 'integer' },
      },
    };
    expect(int64Paths(schema, named)).toEqual(['list.*.amount', 'by_code.*', 'maybe.amount']);
  });
});
