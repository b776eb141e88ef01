import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestService } from '../../../engines/service.ts';
import { sharedService } from '../../../engines/shared-service.ts';
import { until } from '../../../engines/until.ts';
import { startReceiver, type Receiver } from '../../webhooks/receiver.ts';
import { end, runFixture, wait, type RunFixture } from './run-fixture.ts';

// What those who read runs rely on, and what a run must not cause.

const DAY_MS = 86_400_000;

let service: TestService;
let on: RunFixture;
let receiver: Receiver;
const waiting: (() => void)[] = [];
beforeAll(async () => {
  service = await sharedService();
  on = runFixture(service);
  receiver = await startReceiver((response) => {
    waiting.push(() => response.end('{}'));
  });
});
afterAll(async () => {
  for (const answer of waiting) answer();
  await receiver?.close();
  await service?.close();
});

const one = async () => (await on.client.players(1))[0] ?? '';

it('a step names the call of its webhook, while it waits and when it is done', async () => {
  await on.client.api('POST', '/v1/webhook-secrets');
  const journey_id = await on.journey([
    { id: 'call', type: 'call_webhook', url: receiver.url, next: 'end' },
    end(),
  ]);
  const run_id = await on.start(journey_id, await one());
  await on.reached(journey_id, run_id, 'call');
  await until((saw) => Promise.resolve(saw(waiting.length) === 1));
  const { data } = await on.client.api<{ event_id: string }[]>(
    'GET',
    `/v1/journeys/${journey_id}/deliveries`,
  );
  const webhook_event_id = data[0]?.event_id;
  expect((await on.run(journey_id, run_id)).history).toMatchObject([{ status: 'waiting', webhook_event_id }]);
  waiting[0]?.();
  const { history } = await on.reached(journey_id, run_id, 'completed');
  expect(history[0]).toMatchObject({ outcome: 'delivered', webhook_event_id });
});

it('an event that ends a run leaves the webhooks of steps that are done', async () => {
  const call = (id: string, next: string, wait_for_response: boolean) => ({
    id,
    type: 'call_webhook',
    url: receiver.url,
    wait_for_response,
    next,
  });
  const journey_id = await on.journey(
    [call('told', 'asked', false), call('asked', 'end', true), end()],
    { kind: 'api' },
    { exit_on: [{ event: 'custom_left' }] },
  );
  const player_id = await one();
  const answered = waiting.length;
  const run_id = await on.start(journey_id, player_id);
  await until((saw) => Promise.resolve(saw(waiting.length) === answered + 2));
  await on.client.event(player_id, 'custom_left');
  await on.reached(journey_id, run_id, 'completed');
  const { data } = await on.client.api<{ node_id: string; status: string }[]>(
    'GET',
    `/v1/journeys/${journey_id}/deliveries`,
  );
  const statuses = Object.fromEntries(data.map(({ node_id, status }) => [node_id, status]));
  expect(statuses).toEqual({ told: 'pending', asked: 'cancelled' });
});

it('a step says why its message was skipped', async () => {
  const [template_id, provider_id] = [await on.client.template(), await on.client.provider()];
  const journey_id = await on.journey([
    { id: 'mail', type: 'send_message', template_id, provider_id, next: 'end' },
    end(),
  ]);
  const player_id = await one();
  await on.sql`update players set self_excluded = true where player_id = ${player_id}`;
  const run_id = await on.start(journey_id, player_id);
  await on.reached(journey_id, run_id, 'completed');
  await until(async (saw) => saw((await on.run(journey_id, run_id)).history[0]?.message_status) === 'failed');
  expect((await on.run(journey_id, run_id)).history[0]).toMatchObject({
    status: 'completed',
    outcome: 'queued',
    error_code: 'SKIPPED_SELF_EXCLUDED',
  });
});

it('what became of its messages does not start a journey again', async () => {
  const [template_id, provider_id] = [await on.client.template(), await on.client.provider()];
  const by = { kind: 'event', event: 'email_sent' };
  const mail = { id: 'mail', type: 'send_message', template_id, provider_id, next: 'end' };
  const journey_id = await on.journey([mail, end()], by);
  const other = await on.journey([wait('w', DAY_MS, 'end'), end()], by);
  const run_id = await on.start(journey_id, await one());
  await on.reached(journey_id, run_id, 'completed');
  await until(async (saw) => saw((await on.runs(other)).data.length) === 1);
  const waits = await on.sql`select from trigger_events where decided_at is null`;
  expect(waits).toEqual([]);
  expect((await on.runs(journey_id)).data).toHaveLength(1);
});

it('a player who is held out gets no effects, also when a caller starts the run', async () => {
  const nodes = [wait('w', DAY_MS, 'end'), end()];
  const journey_id = await on.journey(nodes, { kind: 'api' }, { holdout_percent: 100 });
  const { status, data } = await on.trigger(journey_id, await one());
  expect(status).toBe(201);
  expect(data).toMatchObject({ status: 'completed', outcome: 'held_out' });
});

it('the runs of a deleted journey can be read and listed', async () => {
  const journey_id = await on.journey([wait('w', DAY_MS, 'end'), end()]);
  const run_id = await on.start(journey_id, await one());
  expect((await on.client.api('DELETE', `/v1/journeys/${journey_id}`)).status).toBe(200);
  await until(async (saw) => saw((await on.run(journey_id, run_id)).status) === 'cancelled');
  const { status, data } = await on.runs(journey_id);
  expect([status, data.map((run) => run.run_id)]).toEqual([200, [run_id]]);
});

it('the audit log does not keep the context of runs', async () => {
  const journey_id = await on.journey([wait('w', DAY_MS, 'end'), end()]);
  const run_id = await on.start(journey_id, await one(), { iban: 'MT84MALT' });
  const [row] = await on.sql<{ text: string }[]>`
    select to_jsonb(a)::text as text from audit_log a where a.resource_id = ${run_id}`;
  expect(row?.text).toContain(run_id);
  expect(row?.text).not.toContain('MT84MALT');
});

it('a journey that grants bonuses cannot be activated while there are none', async () => {
  const graph = {
    start_node_id: 'g',
    nodes: [{ id: 'g', type: 'grant_bonus', template_id: 'any', next: 'end' }, end()],
  };
  const made = await on.client.api<{ id: string; warnings: { code: string }[] }>('POST', '/v1/journeys', {
    name: 'grants',
    trigger: { kind: 'api' },
    graph,
  });
  expect(made.data.warnings.map(({ code }) => code)).toContain('BONUS_TEMPLATE_NOT_ACTIVE');
  const activated = await on.client.api('POST', `/v1/journeys/${made.data.id}/activate`);
  expect(activated).toMatchObject({ status: 422, error: { code: 'JOURNEY_GRAPH_INVALID' } });
});
