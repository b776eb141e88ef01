import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDialectHost, type DialectHost } from '../ingest/segment-dialect/dialect-host.ts';
import { until } from '../engines/until.ts';
import { openFixture, type Fixture, type Tenant } from './api-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
let intake: DialectHost;
beforeAll(async () => {
  fixture = await openFixture();
  tenant = await fixture.makeTenant();
  intake = await openDialectHost(fixture);
});
afterAll(async () => {
  await intake?.close();
  await fixture?.close();
});

/** The samples of the count of requests, by their labels. */
async function counts(): Promise<Map<string, number>> {
  const text = (await fixture.app.inject('/metrics')).body;
  const lines = text.matchAll(/^http_request_duration_seconds_count\{(.*)\} (\d+)$/gm);
  return new Map([...lines].map(([, labels = '', count]) => [labels, Number(count)]));
}

const labelsOf = (route: string, method: string, status: number) =>
  `route="${route}",method="${method}",status="${status}"`;

it('requests of both hosts are counted by the pattern of their route, their method and their status', async () => {
  const project = `/v1/projects/${tenant.project_id}/api-keys`;
  expect((await fixture.as(tenant.session, project)).status).toBe(200);
  expect((await fixture.as('wrong', project)).status).toBe(401);
  const event = { event: 'login', anonymous_id: 'a', properties: {} };
  const headers = { authorization: `Bearer ${tenant.api_key}`, 'content-type': 'application/json' };
  expect((await intake.post(undefined, '/v1/events', event, { headers })).status).toBe(202);
  expect((await intake.post(undefined, '/v1/track', { event: 'a' })).status).toBe(401);
  const expected = [
    labelsOf('/v1/projects/:projectId/api-keys', 'GET', 200),
    labelsOf('/v1/projects/:projectId/api-keys', 'GET', 401),
    labelsOf('/v1/events', 'POST', 202),
    labelsOf('/v1/track', 'POST', 401),
  ];
  await until(async (saw) => {
    const found = saw(await counts());
    return expected.every((labels) => found.get(labels) === 1);
  });
  const buckets = (await fixture.app.inject('/metrics')).body;
  expect(buckets).toContain(`http_request_duration_seconds_bucket{le="10",${expected[0]}} 1`);
});

it('what callers write as a path or a method is no label', async () => {
  const before = (await counts()).get(labelsOf('none', 'any', 404)) ?? 0;
  for (const url of ['/v1/unknown-1', '/v1/unknown-2?x=1', '/unknown/3']) {
    expect((await intake.app.inject({ method: 'POST', url })).statusCode).toBe(404);
    expect((await fixture.app.inject({ method: 'PUT', url })).statusCode).toBe(404);
  }
  expect((await intake.app.inject({ method: 'DELETE', url: '/v1/events' })).statusCode).toBe(405);
  const found = await until(async (saw) => {
    const now = saw(await counts());
    return now.get(labelsOf('none', 'any', 404)) === before + 6 ? now : undefined;
  });
  expect(found.get(labelsOf('none', 'any', 405))).toBe(1);
  expect([...found.keys()].filter((labels) => labels.includes('unknown'))).toEqual([]);
});
