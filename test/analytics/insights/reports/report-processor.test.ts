import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { SETTLE_MS } from '../../../../src/analytics/insights/due/evaluator.ts';
import { accept, newPlayer } from '../../../console/events/event-client.ts';
import { answering, startReceiver, type Receiver } from '../../../engage/webhooks/receiver.ts';
import { call } from '../../../engines/http-client.ts';
import type { TestService, TestTenant } from '../../../engines/service.ts';
import { sharedService } from '../../../engines/shared-service.ts';
import { until } from '../../../engines/until.ts';
import { HOUR_MS } from '../alerts/alert-fixture.ts';
import { DAY_MS, TWO_DAYS, type ReportPayload } from './report-fixture.ts';

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

const post = async (path: string, body: object): Promise<string> => {
  const answer = await call(service.base_url + path, tenant.session_token, { method: 'POST', body });
  expect(answer.status, answer.text).toBe(201);
  return String(answer.data['id']);
};

it('a report whose time has come arrives, as webhook and as mail, with what was accepted before', async () => {
  // The last hour that has begun and settled.
  const due_ms = Math.floor((Date.now() - SETTLE_MS) / HOUR_MS) * HOUR_MS;
  const hour = new Date(due_ms).getUTCHours();
  const yesterday_ms = Math.floor(due_ms / DAY_MS) * DAY_MS - 1;
  await post('/v1/webhook-secrets', {});
  const provider = await post('/v1/messaging-providers', {
    name: 'mail',
    kind: 'sandbox',
    channel: 'email',
    config: {},
  });
  const insight_id = await post('/v1/insights', { name: 'Deposits', query: TWO_DAYS });
  const dashboard_id = await post('/v1/dashboards', { name: 'Board', tiles: [{ insight_id }] });
  const player_id = await newPlayer(service, tenant, { external_id: 'ann' });
  await accept(service, tenant, {
    event: 'deposit_confirmed',
    player_id,
    timestamp: new Date(yesterday_ms).toISOString(),
    properties: { transaction_id: 't1', amount: 1_250, currency: 'EUR', payment_method: 'card' },
  });
  const id = await post('/v1/reports', {
    name: 'Daily figures',
    dashboard_id,
    schedule: { every: 'day', hour },
    receivers: [
      { kind: 'webhook', url: there.url },
      { kind: 'email', user_id: tenant.owner, address: 'owner@operator.example' },
    ],
  });
  // As if it had been created the day before.
  await service.platform.postgres.service`
    update reports set created_at = ${new Date(due_ms - DAY_MS)}, decided_until = null, next_at = '-infinity'
    where report_id = ${id}`;
  await until('the notices are sent', async (saw) => {
    const { data } = saw(
      await call(`${service.base_url}/v1/reports/${id}`, tenant.session_token, { method: 'GET' }),
    );
    const notices = data['notices'] as { status: string }[];
    return notices.length === 2 && notices.every(({ status }) => status === 'sent');
  });
  expect(there.received).toHaveLength(1);
  const { tiles, time } = JSON.parse(there.received[0]?.body ?? '') as ReportPayload;
  expect(time).toBe(new Date(due_ms).toISOString());
  expect(tiles[0]?.answer?.rows.map((row) => row[2])).toEqual([0, 1_250]);
  const messages = await call(
    `${service.base_url}/v1/messaging-providers/${provider}/messages`,
    tenant.session_token,
    { method: 'GET' },
  );
  const [mail] = messages.data as unknown as { recipient: string; subject: string; body: string }[];
  expect(mail).toMatchObject({ recipient: 'owner@operator.example', subject: 'Report: Daily figures' });
  expect(mail?.body).toContain('€12.50');
});
