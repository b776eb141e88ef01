import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { TestService, TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { messagingClient, type MessagingClient } from './messaging-client.ts';

let service: TestService;
let tenant: TestTenant;
let client: MessagingClient;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service?.close());
beforeEach(async () => {
  tenant = await service.newTenant();
  client = messagingClient(service, tenant);
});

interface Shown {
  id: string;
  channel: string;
  address: string;
  reason: string;
}
const suppress = (address: string, channel = 'email') =>
  client.api<Shown>('POST', '/v1/suppressions', { channel, address });
const list = async (query = '') =>
  (await client.api<Shown[]>('GET', `/v1/suppressions${query}`)).data.map(({ address }) => address);

/** What became of a message to the player. */
async function outcome(player_id: string): Promise<string> {
  const campaign_id = await client.campaign({
    segment_id: await client.segment([player_id]),
    provider_id: await client.provider(),
    template_id: await client.template(),
  });
  await client.send(campaign_id);
  await client.reaches(campaign_id, 'sent');
  return (await client.recipients(campaign_id))[0]?.error_code ?? 'sent';
}

it('the gate obeys one that was entered, whatever the case of its letters, until it is taken back', async () => {
  const [ada = ''] = await client.players(1);
  const { data, status } = await suppress(`${ada.toUpperCase()}@EXAMPLE.com`);
  expect([status, data]).toMatchObject([201, { address: `${ada}@example.com`, reason: 'manual' }]);
  expect(await outcome(ada)).toBe('SKIPPED_SUPPRESSED');
  expect((await client.api('DELETE', `/v1/suppressions/${data.id}`)).status).toBe(200);
  expect(await outcome(ada)).toBe('sent');
  expect((await client.api('DELETE', `/v1/suppressions/${data.id}`)).code).toBe('NOT_FOUND');
  const log = await client.api<{ action: string }[]>('GET', '/v1/audit-log?resource_type=suppression');
  expect(log.data.map(({ action }) => action)).toEqual(['delete', 'create']);
  expect(JSON.stringify(log.data)).not.toContain('@example.com');
});

it('the gate finds a telephone number however it is spelled, here and in the profile', async () => {
  const number = '+49 151 2345678';
  const { data } = await suppress(number, 'sms');
  for (const spelling of ['+491512345678', '0049 (151) 234-56-78', '+49 (0) 151 / 2345678']) {
    expect((await suppress(spelling, 'sms')).data, spelling).toEqual(data);
    expect(await list(`?address=${encodeURIComponent(spelling)}`), spelling).toEqual([number]);
    const [player_id = ''] = await client.players(1, { phone: spelling });
    const reach = await client.api<{ channel: string }[]>('GET', `/v1/players/${player_id}/reachability`);
    expect(reach.data.find(({ channel }) => channel === 'sms')).toMatchObject({
      suppressed: true,
      codes: ['SKIPPED_SUPPRESSED'],
    });
  }
  const [player_id = ''] = await client.players(1, { phone: '+491512345678' });
  const campaign_id = await client.campaign({
    channel: 'sms',
    segment_id: await client.segment([player_id]),
    provider_id: await client.provider({ channel: 'sms' }),
    template_id: await client.template({ channel: 'sms', subject: null }),
  });
  await client.send(campaign_id);
  await client.reaches(campaign_id, 'sent');
  expect(await client.recipients(campaign_id)).toMatchObject([{ error_code: 'SKIPPED_SUPPRESSED' }]);

  const [other = ''] = await client.players(1, { phone: '+49 151 2345679' });
  expect((await client.api('GET', `/v1/players/${other}/reachability`)).data).toContainEqual(
    expect.objectContaining({ channel: 'sms', suppressed: false }),
  );
  // What is no number, as earlier releases took it, is compared as it is, and an email with digits is none.
  for (const address of ['test-a', 'test-b'])
    await service.platform.postgres.service`
      insert into suppressions (tenant_id, channel, address, reason, created_at)
      values (${tenant.tenant_id}, 'sms', ${address}, 'manual', now())`;
  expect(await list('?channel=sms')).toEqual(['test-b', 'test-a', number]);
  expect(await list('?address=x491512345678%40example.com')).toEqual([]);
  expect((await client.api('DELETE', `/v1/suppressions/${data.id}`)).status).toBe(200);
  expect((await client.api('GET', `/v1/players/${player_id}/reachability`)).data).toContainEqual(
    expect.objectContaining({ channel: 'sms', suppressed: false }),
  );
});

it('the first reason stays, and nothing is recorded of a second time', async () => {
  await service.platform.postgres.service`
    insert into suppressions (tenant_id, channel, address, reason, created_at)
    values (${tenant.tenant_id}, 'email', 'a@b.c', 'complaint', now())`;
  expect((await suppress('A@b.c')).data).toMatchObject({ reason: 'complaint' });
  expect((await client.api('GET', '/v1/audit-log?resource_type=suppression')).data).toEqual([]);
});

it('are listed by page, channel, reason and address, those of the own tenant alone', async () => {
  for (const n of [1, 2, 3]) await suppress(`n${n}@example.com`);
  await suppress('+4670000', 'sms');
  const first = await client.api<Shown[]>('GET', '/v1/suppressions?limit=3');
  const rest = await list(`?limit=3&cursor=${encodeURIComponent(first.next_cursor ?? '')}`);
  expect([...first.data.map(({ address }) => address), ...rest]).toEqual([
    '+4670000',
    'n3@example.com',
    'n2@example.com',
    'n1@example.com',
  ]);
  expect(await list('?channel=sms')).toEqual(['+4670000']);
  expect(await list('?reason=bounce')).toEqual([]);
  expect(await list('?address=N2%40example.com')).toEqual(['n2@example.com']);
  const other = messagingClient(service, await service.newTenant());
  expect((await other.api('GET', '/v1/suppressions')).data).toEqual([]);
  const [id] = first.data.map((one) => one.id);
  expect((await other.api('DELETE', `/v1/suppressions/${id}`)).status).toBe(404);
});

it.each([
  ['no email address', { channel: 'email', address: 'nobody' }],
  ['another channel', { channel: 'fax', address: '+4670000' }],
  ['an empty address', { channel: 'sms', address: '  ' }],
  ['no telephone number', { channel: 'sms', address: 'undefined' }],
  ['digits that are no number', { channel: 'sms', address: '000-000' }],
  ['the text of an empty value', { channel: 'push', address: '[object Object]' }],
  ['a reason', { channel: 'sms', address: '+4670000', reason: 'bounce' }],
])('refuses %s', async (_what, body) => {
  const { status } = await client.api('POST', '/v1/suppressions', body);
  expect(status).toBe(422);
});
