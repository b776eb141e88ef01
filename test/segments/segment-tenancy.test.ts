import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../engines/service.ts';
import { call } from '../engines/http-client.ts';
import { digestOf, fillProject, referring, type FilledProject } from '../tenants/filled-project.ts';

// Covers what tenancy-matrix.test.ts does not reach with paths, headers and cursors: ids inside definitions, and
// players inside answers.

let service: TestService;
let own: FilledProject;
/** Another tenant, and another project of the same tenant. */
let victims: { kind: 'tenant' | 'project'; project: FilledProject; before: Record<string, string> }[];

beforeAll(async () => {
  service = await startTestService();
  const headers = { 'x-internal-secret': service.internal_secret };
  const body = { tenant_id: service.tenant_id, name: 'Second' };
  const url = `${service.base_url}/v1/internal/projects`;
  const second = await call(url, undefined, { method: 'POST', body, headers });
  const { project_id } = second.body.data as { project_id: string };
  const other = await service.newTenant('SEK');
  const [mine, theirs, sibling] = await Promise.all([
    fillProject(service, service, 'mine'),
    fillProject(service, other, 'victim'),
    fillProject(service, { ...service, project_id }, 'sibling'),
  ]);
  own = mine;
  // Uses of their keys while they were filled are written at some time: before, not between.
  await service.service.key_uses?.flush();
  victims = [
    { kind: 'tenant', project: theirs, before: await digestOf(service, theirs, 'tenant') },
    { kind: 'project', project: sibling, before: await digestOf(service, sibling, 'project') },
  ];
});
afterAll(() => service?.close());

async function expectUnchanged(): Promise<void> {
  for (const { kind, project, before } of victims) {
    expect(await digestOf(service, project, kind)).toEqual(before);
  }
}

test('a definition cannot refer to a segment of another tenant or project', async () => {
  const segments = `${service.base_url}/v1/segments`;
  for (const { project } of victims) {
    for (const op of ['in', 'not_in']) {
      const definition = referring(project.segment_id, op);
      for (const [method, url, body] of [
        ['POST', segments, { name: 'thief', definition }],
        ['POST', `${segments}/preview`, { definition }],
        ['PATCH', `${segments}/${own.segment_id}`, { definition }],
      ] as const) {
        const answer = await call(url, own.session, { method, body });
        expect([answer.status, answer.body.error?.code], `${method} ${url} ${answer.text}`).toEqual([
          422,
          'SEGMENT_DEFINITION_INVALID',
        ]);
        expect(answer.text).toContain('definition.conditions.1.conditions.0.segment_id');
      }
    }
  }
  await expectUnchanged();
});

test('a segment of all players contains none of another tenant or project', async () => {
  const segments = `${service.base_url}/v1/segments`;
  const everybody = { operator: 'AND', conditions: [{ type: 'random', percent: 100, salt: 'all' }] };
  const body = { name: 'everybody', definition: everybody };
  const preview = await call(`${segments}/preview`, own.session, {
    method: 'POST',
    body: { definition: everybody },
  });
  const { id } = (await call(segments, own.session, { method: 'POST', body })).body.data as { id: string };
  const refreshed = await call(`${segments}/${id}/refresh`, own.session, { method: 'POST' });
  const sample = await call(`${segments}/${id}/sample?limit=100`, own.session);
  const counted = await service.platform.postgres.service`
    select from players where project_id = ${own.project_id} and deleted_at is null`;
  expect(preview.body.data).toMatchObject({ estimated_size: counted.length });
  expect(refreshed.body.data).toMatchObject({ matched: counted.length });
  for (const { project } of victims) {
    for (const marker of project.markers) expect(preview.text + sample.text).not.toContain(marker);
    const explain = `${segments}/${id}/explain?player_id=${project.player_id}`;
    expect((await call(explain, own.session)).body.error?.code).toBe('PLAYER_NOT_FOUND');
  }
  await expectUnchanged();
});
