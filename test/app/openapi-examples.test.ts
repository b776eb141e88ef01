import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Document } from '../../scripts/client/document.ts';
import { EXAMPLES_FILE, readExamples, type Examples } from '../../src/http/openapi-examples.ts';
import { PUBLIC_URL } from '../engage/messaging/callback-fixture.ts';
import { call } from '../engines/http-client.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { fillProject, type FilledProject } from '../tenants/filled-project.ts';
import { recordExamples } from './openapi-recorder.ts';

// The examples of the OpenAPI document, recorded from a service. test/http/openapi-served.test.ts compares them with their schemas.

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
  if (process.env['UPDATE_GOLDEN'] === '1')
    await writeFile(EXAMPLES_FILE, `${JSON.stringify(recorded, null, 2)}\n`);
  expect(outlineOf(recorded)).toEqual(outlineOf(await readExamples()));
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
