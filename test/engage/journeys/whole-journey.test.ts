import { afterAll, beforeAll, expect, it } from 'vitest';
import { isSigned } from '../../../src/http/auth/webhook-signature.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient, type MessagingClient } from '../messaging/messaging-client.ts';
import { answering, startReceiver, type Receiver } from '../webhooks/receiver.ts';

// One journey through every part: written and activated over HTTP, started by an event, with a message, a webhook, a
// wait for an event and a change of the player.

interface Run {
  run_id: string;
  status: string;
  outcome: string | null;
  context: { events?: Record<string, unknown>; responses?: Record<string, unknown> };
  history: { node_id: string; status: string; outcome: string; message_status?: string }[];
}

let service: TestService;
let client: MessagingClient;
let receiver: Receiver;
beforeAll(async () => {
  service = await sharedService();
  client = messagingClient(service);
  receiver = await startReceiver(answering(200, '{"segment":"high"}'));
});
afterAll(async () => {
  await receiver?.close();
  await service?.close();
});

it('a run goes from its event over a message, a webhook and an awaited event to its end', async () => {
  const { api } = client;
  const secret = await api<{ secret: string }>('POST', '/v1/webhook-secrets');
  expect(secret.status).toBe(201);
  const [template_id, provider_id] = [
    await client.template({ body: 'You paid {{ journey.context.trigger_payload.amount }}' }),
    await client.provider(),
  ];
  const graph = {
    start_node_id: 'mail',
    nodes: [
      { id: 'mail', type: 'send_message', template_id, provider_id, next: 'call' },
      { id: 'call', type: 'call_webhook', url: receiver.url, save_as: 'crm', next: 'which' },
      {
        id: 'which',
        type: 'branch',
        branches: [
          { name: 'high', condition: { where: { 'responses.crm.segment': 'high' } }, next: 'again' },
        ],
        else_next: 'end',
      },
      {
        id: 'again',
        type: 'wait_for_event',
        event: 'custom_again',
        where: { size: { gte: 3 } },
        timeout_ms: 86_400_000,
        next: 'set',
        timeout_next: 'end',
      },
      { id: 'set', type: 'update_player', set: { traits: { came_back: true } }, next: 'end' },
      { id: 'end', type: 'end' },
    ],
  };
  const trigger = { kind: 'event', event: 'deposit_confirmed', where: { amount: { gte: 1_000 } } };
  const made = await api<{ id: string }>('POST', '/v1/journeys', { name: 'whole', trigger, graph });
  expect(made.status, JSON.stringify(made.error)).toBe(201);
  const path = `/v1/journeys/${made.data.id}`;
  const activated = await api('POST', `${path}/activate`);
  expect(activated.status, JSON.stringify(activated.error)).toBe(200);
  const [player_id = '', other = ''] = await client.players(2);
  const deposit = (amount: number) => {
    return { amount, currency: 'EUR', transaction_id: `t-${amount}`, payment_method: 'card' };
  };
  await client.event(other, 'deposit_confirmed', deposit(999));
  await client.event(player_id, 'deposit_confirmed', deposit(1_000));
  const readRun = async () => {
    const { data } = await api<Run[]>('GET', `${path}/runs?player_id=${player_id}`);
    const [first] = data;
    return first && (await api<Run>('GET', `${path}/runs/${first.run_id}`)).data;
  };
  const reaches = (what: string, isSo: (run: Run) => boolean) =>
    until(what, async (saw) => {
      const run = saw(await readRun());
      return run !== undefined && isSo(run) ? run : undefined;
    });
  await reaches('it waits for the event', ({ history }) => history.at(-1)?.node_id === 'again');
  await client.event(player_id, 'custom_again', { size: 2 });
  await client.event(player_id, 'custom_again', { size: 3 });
  const run = await reaches(
    'it ends, and its message is sent',
    ({ status, history }) => status !== 'running' && history[0]?.message_status === 'sent',
  );
  expect(run).toMatchObject({ status: 'completed', outcome: 'ended' });
  expect(run.history.map(({ node_id, outcome }) => [node_id, outcome])).toEqual([
    ['mail', 'queued'],
    ['call', 'delivered'],
    ['which', 'branch:high'],
    ['again', 'event'],
    ['set', 'updated'],
    ['end', 'ended'],
  ]);
  expect(run.context).toMatchObject({
    events: { again: { size: 3 } },
    responses: { crm: { segment: 'high' } },
  });
  expect(await client.messages(provider_id)).toMatchObject([{ body: 'You paid 1000' }]);
  expect(receiver.received).toHaveLength(1);
  const [request] = receiver.received;
  expect(JSON.parse(String(request?.body))).toMatchObject({
    event: 'journey.webhook',
    run_id: run.run_id,
    player: { id: player_id },
  });
  const player = await api<{ custom_attributes: object }>('GET', `/v1/players/${player_id}`);
  expect(player.data.custom_attributes).toMatchObject({ came_back: true });
  const mine = await api<Run[]>('GET', `/v1/players/${player_id}/journeys`);
  expect(mine.data).toMatchObject([{ run_id: run.run_id, status: 'completed' }]);
  expect((await api<Run[]>('GET', `/v1/players/${other}/journeys`)).data).toEqual([]);
  const { headers = {}, body = '' } = request ?? {};
  const signed = {
    signature: String(headers['x-service-signature']),
    timestamp: String(headers['x-service-timestamp']),
    body,
  };
  expect(isSigned([secret.data.secret], signed, Date.now())).toBe(true);
});
