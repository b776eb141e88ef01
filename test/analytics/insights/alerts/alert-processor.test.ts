import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { SETTLE_MS } from '../../../../src/analytics/insights/due/evaluator.ts';
import { accept, newPlayer } from '../../../console/events/event-client.ts';
import { answering, startReceiver, type Receiver } from '../../../engage/webhooks/receiver.ts';
import { call } from '../../../engines/http-client.ts';
import type { TestService, TestTenant } from '../../../engines/service.ts';
import { sharedService } from '../../../engines/shared-service.ts';
import { until } from '../../../engines/until.ts';
import { DEPOSITS, HOUR_MS } from './alert-fixture.ts';

let service: TestService;
let tenant: TestTenant;
let there: Receiver;
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
  there = await startReceiver(answering(200));
});
afterEach(() => there.close());
afterAll(() => service.close());

const post = (path: string, body: object) =>
  call(service.base_url + path, tenant.session_token, { method: 'POST', body });

it('an hour that is over fires, and its notice arrives', async () => {
  // An hour that was over and settled before the alert was looked at, wherever in the hour the test runs.
  const hour_ms = (Math.floor((Date.now() - SETTLE_MS) / HOUR_MS) - 1) * HOUR_MS;
  const player_id = await newPlayer(service, tenant, { external_id: 'ann' });
  await accept(service, tenant, {
    event: 'deposit_confirmed',
    player_id,
    timestamp: new Date(hour_ms + 1_000).toISOString(),
    properties: { transaction_id: 't1', amount: 1_250, currency: 'EUR', payment_method: 'card' },
  });
  expect((await post('/v1/webhook-secrets', {})).status).toBe(201);
  const made = await post('/v1/alerts', {
    name: 'Deposits',
    query: DEPOSITS,
    interval: 'hour',
    condition: { kind: 'threshold', op: 'gt', value: 1_000 },
    receivers: [{ kind: 'webhook', url: there.url }],
  });
  expect(made.status, made.text).toBe(201);
  const id = String(made.data['id']);
  // As if it had been created in that hour.
  await service.platform.postgres.service`
    update alerts set created_at = ${new Date(hour_ms)}, next_at = '-infinity' where alert_id = ${id}`;
  const shown = await until('the notice is sent', async (saw) => {
    const { data } = saw(
      await call(`${service.base_url}/v1/alerts/${id}`, tenant.session_token, { method: 'GET' }),
    );
    const [notice] = data['notices'] as { status: string }[];
    return notice?.status === 'sent' ? data : undefined;
  });
  expect(shown).toMatchObject({
    state: 'waiting',
    firings: [{ from: new Date(hour_ms).toISOString(), value: 1_250 }],
  });
  expect(there.received).toHaveLength(1);
  expect(JSON.parse(there.received[0]?.body ?? '')).toMatchObject({ event: 'alert.fired', value: 1_250 });
});
