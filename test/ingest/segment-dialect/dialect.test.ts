import { afterAll, beforeAll, expect, it } from 'vitest';
import { sentIdOf } from '../../../src/ingest/intake/sent-id.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { openDialectHost, type DialectHost } from './dialect-host.ts';

let fixture: Fixture;
let host: DialectHost;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
  host = await openDialectHost(fixture);
  tenant = await fixture.makeTenant();
});
afterAll(async () => {
  await host?.close();
  await fixture?.close();
});

it('every path takes its kind of call, with and without a slash at its end', async () => {
  const call = {
    userId: 'u-paths',
    anonymousId: 'a-paths',
    event: 'Clicked',
    groupId: 'g',
    previousId: 'p-paths',
  };
  for (const path of 'track identify page screen group alias t i p s g a'.split(' ')) {
    for (const url of [`/v1/${path}`, `/v1/${path}/`]) {
      const { status, text } = await host.post(tenant.api_key, url, call);
      expect([url, status, text]).toEqual([url, 200, '{"success":true}']);
    }
  }
  for (const path of ['batch', 'import', 'b']) {
    for (const url of [`/v1/${path}`, `/v1/${path}/`]) {
      const { status } = await host.post(tenant.api_key, url, { batch: [{ ...call, type: 'track' }] });
      expect([url, status]).toEqual([url, 200]);
    }
  }
  expect(new Set(host.takeAppended().map(({ event }) => event.event))).toEqual(
    new Set(['custom_clicked', 'page_view', 'custom_group']),
  );
});

it('a track call becomes an event of the player of userId', async () => {
  const sent = {
    userId: 'u-1',
    anonymousId: null,
    event: 'Deposit Tried',
    messageId: 'm-1',
    properties: { n: 1 },
  };
  const { status } = await host.post(tenant.api_key, '/v1/track', sent);
  expect(status).toBe(200);
  const [appended] = host.takeAppended();
  const { data } = await fixture.as(tenant.session, `/v1/projects/${tenant.project_id}/api-keys`);
  const key_id = String(data[0]?.['id']);
  expect(appended).toMatchObject({
    ingestion_id: sentIdOf(key_id, 'm-1'),
    index: 0,
    event: { event: 'custom_deposit_tried', properties: { n: 1, _name: 'Deposit Tried' } },
  });
});
