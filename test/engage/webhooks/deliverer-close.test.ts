import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig, ROLES } from '../../../src/config.ts';
import { loadCredentialsKeys } from '../../../src/engage/providers/credentials.ts';
import { Deliverer } from '../../../src/engage/webhooks/deliverer.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { answering, startReceiver, type Receiver } from './receiver.ts';
import { webhookFixture, type WebhookFixture } from './webhook-fixture.ts';

let service: TestService;
let on: WebhookFixture;
let there: Receiver;
let is_silent = true;
beforeAll(async () => {
  // The tests start deliverers of their own.
  const roles = new Set(ROLES.filter((role) => role !== 'webhook-deliverer'));
  service = await startTestService({ roles });
  on = webhookFixture(service);
  await on.secret();
  there = await startReceiver((response, n) => {
    if (!is_silent) answering(200)(response, n, response.req);
  });
});
afterAll(async () => {
  await there?.close();
  await service?.close();
});

async function newDeliverer(): Promise<Deliverer> {
  const keys = await loadCredentialsKeys(readConfig({ DATA_DIR: service.data_dir }));
  return new Deliverer(service.platform, keys);
}

it('a deliverer that closes stops the attempt of a silent host, which the next one makes again at once', async () => {
  const journey_id = await on.journey();
  const retry = { max_attempts: 1, backoff_ms: 60_000 };
  const { event_id, run_id } = await on.call(journey_id, { url: there.url, timeout_ms: 30_000, retry });
  const first = await newDeliverer();
  // A turn may find the fold behind, and put the delivery off.
  await until(async () => {
    await first.turn();
    return there.received.length === 1;
  });
  await first.close();
  const [stopped] = await on.deliveries(journey_id);
  expect(stopped).toMatchObject({ status: 'pending', attempts: 1, error_code: 'INTERRUPTED' });
  expect((await on.run(run_id)).woken_by).toBeNull();
  is_silent = false;
  const second = await newDeliverer();
  await until(async () => {
    await second.turn();
    return there.received.length === 2;
  });
  await second.close();
  const [delivered] = await on.deliveries(journey_id);
  expect(delivered).toMatchObject({ event_id, status: 'delivered', attempts: 2, error_code: null });
  expect(new Set(there.received.map(({ body }) => body)).size).toBe(1);
});

it('two deliverers at the same time attempt each delivery once', async () => {
  const journey_id = await on.journey();
  const before = there.received.length;
  const calls = Array.from({ length: 60 }, () => on.call(journey_id, { url: there.url }));
  const made = await Promise.all(calls);
  const both = await Promise.all([newDeliverer(), newDeliverer()]);
  await until(async (saw) => {
    await Promise.all(both.map((one) => one.turn()));
    return saw((await on.deliveries(journey_id, '?status=delivered&limit=200')).length) === made.length;
  });
  await Promise.all(both.map((one) => one.close()));
  const ids = there.received.slice(before).map(({ headers }) => String(headers['x-service-event-id']));
  expect(ids).toHaveLength(made.length);
  expect(new Set(ids)).toEqual(new Set(made.map(({ event_id }) => event_id)));
});
