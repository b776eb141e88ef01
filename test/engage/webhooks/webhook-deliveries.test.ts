import { afterAll, beforeAll, expect, it } from 'vitest';
import { isSigned } from '../../../src/http/auth/webhook-signature.ts';
import { CLEAN_UP_CRONTAB } from '../../../src/http/idempotency.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { answering, startReceiver, type Receiver } from './receiver.ts';
import { webhookFixture, type ShownDelivery, type WebhookFixture } from './webhook-fixture.ts';

let service: TestService;
let on: WebhookFixture;
let there: Receiver;
let status = 500;
const once = { max_attempts: 1, backoff_ms: 10 };
beforeAll(async () => {
  service = await sharedService();
  on = webhookFixture(service);
  there = await startReceiver((response, n) => answering(status)(response, n, response.req));
});
afterAll(async () => {
  await there?.close();
  await service?.close();
});

it('without a secret nothing is sent; a new one signs what is due from then on, the newest one of several', async () => {
  status = 200;
  const journey_id = await on.journey();
  const retry = { max_attempts: 3, backoff_ms: 60_000 };
  const { event_id } = await on.call(journey_id, { url: there.url, retry });
  await until(
    async (saw) => saw((await on.deliveries(journey_id))[0]?.error_code) === 'WEBHOOK_SECRET_MISSING',
  );
  expect(there.received).toEqual([]);
  const old = await on.secret();
  const newest = await on.secret();
  await on.hurry(event_id);
  await on.reached(journey_id, event_id, 'delivered');
  const [got] = there.received;
  const signed = {
    signature: String(got?.headers['x-service-signature']),
    timestamp: String(got?.headers['x-service-timestamp']),
    body: got?.body ?? '',
  };
  expect([isSigned([newest], signed, Date.now()), isSigned([old], signed, Date.now())]).toEqual([
    true,
    false,
  ]);
});

it('the secret of the active adapter signs instead of the project’s own, while there is one', async () => {
  status = 200;
  const own = await on.secret();
  const body = { slug: 'signing-casino', kind: 'sandbox' };
  const { data } = await on.client.api('POST', '/v1/adapters', body);
  const signer = async () => {
    const journey_id = await on.journey();
    const { event_id } = await on.call(journey_id, { url: there.url, retry: once });
    await on.reached(journey_id, event_id, 'delivered');
    const got = there.received.at(-1);
    const signed = {
      signature: String(got?.headers['x-service-signature']),
      timestamp: String(got?.headers['x-service-timestamp']),
      body: got?.body ?? '',
    };
    return [own, String(data['secret'])].findIndex((secret) => isSigned([secret], signed, Date.now()));
  };
  expect(await signer()).toBe(1);
  await on.client.api('PATCH', `/v1/adapters/${String(data['id'])}`, { is_active: false });
  expect(await signer()).toBe(0);
});

it('deliveries are listed by page, by status and by run', async () => {
  status = 500;
  const journey_id = await on.journey();
  const made = [];
  for (let n = 0; n < 5; n++) made.push(await on.call(journey_id, { url: there.url, retry: once }));
  for (const { event_id } of made) await on.reached(journey_id, event_id, 'failed');
  const path = `/v1/journeys/${journey_id}/deliveries`;
  const ids: string[] = [];
  for (let cursor = ''; ;) {
    const page = await on.client.api<ShownDelivery[]>('GET', `${path}?limit=2${cursor}`);
    ids.push(...page.data.map(({ event_id }) => event_id));
    if (page.next_cursor === null) break;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
  expect(ids).toEqual(made.map(({ event_id }) => event_id).reverse());
  expect(await on.deliveries(journey_id, '?status=pending')).toEqual([]);
  expect(await on.deliveries(journey_id, '?status=failed')).toHaveLength(5);
  const [first] = made;
  expect(await on.deliveries(journey_id, `?run_id=${first?.run_id}`)).toMatchObject([
    { event_id: first?.event_id },
  ]);
  const other = await on.client.api('GET', `/v1/journeys/${service.project_id}/deliveries`);
  expect([other.status, other.code]).toEqual([404, 'JOURNEY_NOT_FOUND']);
});

it('those of all journeys of the project are listed by page and by status, for admins', async () => {
  const at = (ago_ms: number) => new Date(Date.now() - ago_ms);
  const journeys = [await on.journey(), await on.journey()];
  const made: string[] = [];
  const statuses = ['failed', 'cancelled', 'failed', 'delivered', 'failed'];
  for (const [n, status_now] of statuses.entries()) {
    const { event_id } = await on.call(journeys[n % 2] ?? '', { url: 'https://not.called.test/hook' });
    await on.sql`
      update webhook_deliveries set status = ${status_now}, completed_at = now(), attempts = 3, last_error = 'CODE',
        last_reason = 'why', created_at = ${at(-1_000 * (n + 1))}
      where event_id = ${event_id}`;
    made.unshift(event_id);
  }
  const pages: string[][] = [];
  for (let cursor = ''; pages.flat().length < made.length;) {
    const path = `/v1/webhook-deliveries?limit=2${cursor}`;
    const page = await on.client.api<ShownDelivery[]>('GET', path);
    pages.push(page.data.map(({ event_id }) => event_id));
    cursor = `&cursor=${encodeURIComponent(page.next_cursor ?? '')}`;
  }
  expect(pages.flat().slice(0, made.length)).toEqual(made);
  const failed = await on.client.api<ShownDelivery[]>('GET', '/v1/webhook-deliveries?status=failed&limit=3');
  expect(failed.data.map(({ event_id }) => event_id)).toEqual([made[0], made[2], made[4]]);
  expect(failed.data[0]).toMatchObject({
    journey_id: journeys[0],
    url: 'https://not.called.test/hook',
    status: 'failed',
    attempts: 3,
    error_code: 'CODE',
    reason: 'why',
  });
  const other = await webhookFixture(service, await service.newTenant()).client.api(
    'GET',
    '/v1/webhook-deliveries',
  );
  expect([other.status, other.data]).toEqual([200, []]);
});

it('a failed delivery is delivered again when asked to, with the same bytes; its run stays as it is', async () => {
  status = 500;
  const journey_id = await on.journey();
  const { run_id, event_id } = await on.call(journey_id, { url: there.url, retry: once });
  await on.reached(journey_id, event_id, 'failed');
  // The runner has moved the run.
  await on.sql`update journey_runs set seq = 4, node_id = 'next', woken_by = null where run_id = ${run_id}`;
  status = 200;
  const path = `/v1/journeys/${journey_id}/deliveries/${event_id}/retry`;
  const answer = await on.client.api<ShownDelivery>('POST', path);
  expect([answer.status, answer.data.status]).toEqual([200, 'pending']);
  expect(await on.reached(journey_id, event_id, 'delivered')).toMatchObject({
    attempts: 2,
    error_code: null,
  });
  const bodies = there.received.map(({ body }) => body).filter((body) => body.includes(event_id));
  expect(bodies).toHaveLength(2);
  expect(new Set(bodies).size).toBe(1);
  expect(await on.run(run_id)).toMatchObject({ seq: 4, woken_by: null });
  const again = await on.client.api('POST', path);
  expect([again.status, again.code]).toEqual([409, 'CONFLICT']);
  const unknown = await on.client.api('POST', `/v1/journeys/${journey_id}/deliveries/${run_id}/retry`);
  expect([unknown.status, unknown.code]).toEqual([404, 'NOT_FOUND']);
  const log = await on.client.api('GET', `/v1/audit-log?resource_id=${event_id}`);
  expect(log.data).toMatchObject([{ action: 'retry_failed', resource_type: 'webhook_delivery' }]);
});

it('the nightly job removes deliveries 30 days after their end, and gives up pending ones after a week', async () => {
  status = 200;
  const journey_id = await on.journey();
  const [old, young, pending] = await Promise.all(
    [1, 2, 3].map(async () => on.call(journey_id, { url: there.url })),
  );
  if (old === undefined || young === undefined || pending === undefined) throw new Error('unreachable');
  for (const { event_id } of [old, young, pending]) await on.reached(journey_id, event_id, 'delivered');
  const aged = (event_id: string, age: string) => on.sql`
    update webhook_deliveries set completed_at = now() - ${age}::interval where event_id = ${event_id}`;
  await aged(old.event_id, '31 days');
  await aged(young.event_id, '29 days');
  await on.sql`
    update webhook_deliveries set status = 'pending', completed_at = null, next_at = now() + interval '1 day',
      expires_at = now() - interval '1 second'
    where event_id = ${pending.event_id}`;
  const [nightly] = CLEAN_UP_CRONTAB;
  if (nightly === undefined) throw new Error('no crontab');
  await service.platform.jobs.add(on.sql, nightly.job);
  await until(async (saw) => saw((await on.deliveries(journey_id)).length) === 2);
  const left = new Map((await on.deliveries(journey_id)).map((one) => [one.event_id, one]));
  expect(left.get(young.event_id)?.status).toBe('delivered');
  expect(left.get(pending.event_id)).toMatchObject({ status: 'failed', error_code: 'WEBHOOK_EXPIRED' });
});
