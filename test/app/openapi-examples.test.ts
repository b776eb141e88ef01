import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Document } from '../../scripts/client/document.ts';
import { packageRoot } from '../../src/package-root.ts';
import type { Examples } from '../../src/http/openapi-examples.ts';
import { PUBLIC_URL } from '../engage/messaging/callback-fixture.ts';
import { call } from '../engines/http-client.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { fillProject, type FilledProject } from '../tenants/filled-project.ts';
import { recordExamples } from './openapi-recorder.ts';

// The examples of the OpenAPI document, recorded from a service. test/http/openapi-served.test.ts compares them with their schemas.

const GOLDEN = join(packageRoot, 'src/app/openapi-examples.json');

let service: TestService;
let own: FilledProject;
let spare: FilledProject;
beforeAll(async () => {
  service = await startTestService({ public_url: PUBLIC_URL });
  const other = await service.newTenant();
  [own, spare] = await Promise.all([
    fillProject(service, service, 'example'),
    fillProject(service, other, 'further'),
  ]);
});
afterAll(() => service?.close());

it('every operation does what its example shows; UPDATE_GOLDEN=1 records the examples again', async () => {
  const { text } = await call(`${service.base_url}/openapi.json`, undefined);
  const recorded = await recordExamples(service, JSON.parse(text) as Document, { own, spare });
  if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(GOLDEN, `${JSON.stringify(recorded, null, 2)}\n`);
  const golden = JSON.parse(await readFile(GOLDEN, 'utf8')) as Examples;
  expect(outlineOf(recorded)).toEqual(outlineOf(golden));
});

/** The statuses of examples, and the fields that they have. Their values may depend on what else runs. */
function outlineOf(examples: Examples): Record<string, unknown> {
  const fields = (value: unknown): string[] => Object.keys(value ?? {}).sort();
  return Object.fromEntries(
    Object.entries(examples).map(([id, { status, request, answer }]) => [
      id,
      { status, request: fields(request), answer: typeof answer === 'string' ? [] : fields(answer) },
    ]),
  );
}
