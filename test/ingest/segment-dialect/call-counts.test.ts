import { afterAll, beforeAll, expect, it } from 'vitest';
import { openFixture, type Fixture, type Tenant } from '../../http/api-fixture.ts';
import { openDialectHost, type DialectHost } from './dialect-host.ts';

let fixture: Fixture;
let host: DialectHost;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await openFixture();
  host = await openDialectHost(fixture);
  tenant = await fixture.makeTenant();
});
afterAll(async () => {
  await host?.close();
  await fixture?.close();
});

/** The samples of a counter, by their labels. */
async function samples(name: string): Promise<Record<string, number>> {
  const text = (await fixture.app.inject('/metrics')).body;
  const lines = text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'));
  return Object.fromEntries([...lines].map(([, labels = '', count]) => [labels, Number(count)]));
}

const track = { type: 'track', anonymousId: 'visitor', event: 'Clicked' };

it('calls are counted by type and outcome, in batches and alone', async () => {
  const batch = [track, { ...track, event: 7 }, { type: 'identify', userId: 'u' }, { type: 'sing' }, null];
  const answer = await host.post(tenant.api_key, '/v1/batch', { batch });
  expect(answer.status).toBe(200);
  expect((answer.body as unknown as { rejected: unknown[] }).rejected).toHaveLength(3);
  expect((await host.post(tenant.api_key, '/v1/t', { ...track, type: undefined })).status).toBe(200);
  expect((await host.post(tenant.api_key, '/v1/track', { event: 7 })).status).toBe(400);
  // Refused as a whole: no call of it is looked at.
  expect((await host.post(tenant.api_key, '/v1/batch', { batch: [] })).status).toBe(400);
  expect((await host.post(undefined, '/v1/track', track)).status).toBe(401);
  expect(await samples('segment_intake_events_total')).toEqual({
    'type="track",outcome="accepted"': 2,
    'type="track",outcome="rejected"': 2,
    'type="identify",outcome="accepted"': 1,
    'type="other",outcome="rejected"': 2,
  });
});

it('requests of intake are counted by the kind of their client, and no text of a caller is a label', async () => {
  const before = await samples('intake_clients_total');
  const context = (name: string) => ({ context: { library: { name } } });
  for (const name of ['analytics.js', 'analytics-python', 'RudderLabs SDK', 'made-up 1', 'made-up 2'])
    await host.post(tenant.api_key, '/v1/track', { ...track, ...context(name) });
  // The key in the body.
  const { api_key: writeKey } = tenant;
  const body = { ...track, ...context('analytics.js'), writeKey };
  expect((await host.post(undefined, '/v1/track', body)).status).toBe(200);
  const headers = { authorization: `Bearer ${tenant.api_key}`, 'user-agent': 'player-engagement/1' };
  const event = { event: 'login', anonymous_id: 'a', properties: {} };
  const json = { ...headers, 'content-type': 'application/json' };
  expect((await host.post(undefined, '/v1/events', event, { headers: json })).status).toBe(202);
  // Other hosts are not counted.
  await fixture.as(tenant.api_key, '/v1/players/identify', { method: 'POST', body: { anonymous_id: 'a' } });
  const after = await samples('intake_clients_total');
  const more = Object.entries(after).map(([labels, count]) => [labels, count - (before[labels] ?? 0)]);
  expect(Object.fromEntries(more)).toEqual({
    'library="segment_browser"': 2,
    'library="segment_server"': 1,
    'library="rudderstack"': 1,
    'library="sdk"': 1,
    'library="other"': 2,
  });
});
