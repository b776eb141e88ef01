import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, startTestService, sunk, type TestService } from '../engines/embedded.ts';
import { messagingClient, type MessagingClient } from './messaging-client.ts';

let service: TestService;
let client: MessagingClient;
beforeAll(async () => {
  service = await startTestService();
  client = messagingClient(service);
});
afterAll(async () => service?.close());

const deposit = (transaction_id: string) => ({
  amount: 5_000,
  currency: 'EUR',
  transaction_id,
  payment_method: 'card',
});

it('a triggered campaign writes to a member at each of its events, from when it was sent until it is cancelled', async () => {
  const [member = '', stranger = ''] = await client.players(2);
  const segment_id = await client.segment([member]);
  const provider_id = await client.provider();
  const template_id = await client.template({ body: 'Thank you for {{context.amount}}' });
  const rest = { type: 'triggered', trigger_event: 'deposit_confirmed' };
  const campaign_id = await client.campaign({ segment_id, template_id, provider_id, ...rest });
  await client.event(member, 'deposit_confirmed', deposit('too early'));
  await sunk(service.platform);
  expect((await client.send(campaign_id)).data).toMatchObject({ recipients_total: 0, enqueued: 0 });
  await client.event(member, 'deposit_confirmed', deposit('first'));
  await client.event(member, 'deposit_confirmed', deposit('first'));
  await client.event(member, 'login');
  await client.event(stranger, 'deposit_confirmed', deposit('of a stranger'));
  await client.event(member, 'deposit_confirmed', deposit('second'));
  const messages = await eventually('two messages', async () => {
    const found = await client.messages(provider_id);
    return found.length >= 2 ? found : undefined;
  });
  expect(messages.map(({ body, recipient }) => [body, recipient])).toEqual(
    Array.from({ length: 2 }, () => ['Thank you for 5000', `${member}@example.com`]),
  );
  // It goes on: nothing ends it but cancelling.
  expect((await client.api('GET', `/v1/campaigns/${campaign_id}`)).data['status']).toBe('sending');
  expect((await client.api('POST', `/v1/campaigns/${campaign_id}/cancel`)).status).toBe(200);
  await client.event(member, 'deposit_confirmed', deposit('too late'));
  await sunk(service.platform);
  await eventually('the trigger has seen it', async () => {
    const lag = await service.platform.eventLog.lag('player-events', 'campaign-trigger');
    return lag.every(({ next_offset, end_offset }) => next_offset >= end_offset) ? true : undefined;
  });
  expect(await client.recipients(campaign_id)).toHaveLength(2);
});

it('needs to be told its event, which cannot be a message of its own', async () => {
  const segment_id = await client.segment([]);
  const provider_id = await client.provider();
  const template_id = await client.template();
  const body = { segment_id, template_id, provider_id, type: 'triggered' };
  const refused = await client.send(await client.campaign(body));
  expect([refused.status, refused.code]).toEqual([422, 'VALIDATION_ERROR']);
  const circular = { ...body, name: 'circular', channel: 'email', trigger_event: 'email_sent' };
  expect((await client.api('POST', '/v1/campaigns', circular)).code).toBe('VALIDATION_ERROR');
});
