import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isSigned } from '../../../src/http/auth/webhook-signature.ts';
import { cancelDeliveries, insertDeliveries } from '../../../src/engage/webhooks/delivery-queries.ts';
import { ROLES } from '../../../src/config.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { answering, startReceiver, type Answer, type Receiver } from './receiver.ts';
import { webhookFixture, type WebhookFixture } from './webhook-fixture.ts';

let service: TestService;
let on: WebhookFixture;
let secret: string;
let journey_id: string;
const open: Receiver[] = [];
beforeAll(async () => {
  // Without a runner the timers of woken runs stay.
  service = await startTestService({ roles: new Set(ROLES.filter((role) => role !== 'journey-runner')) });
  on = webhookFixture(service);
  secret = await on.secret();
  journey_id = await on.journey();
});
afterAll(async () => service?.close());
afterEach(async () => {
  await Promise.all(open.splice(0).map((receiver) => receiver.close()));
});

async function receiver(answer: Answer): Promise<Receiver> {
  const started = await startReceiver(answer);
  open.push(started);
  return started;
}

/**
 * A delivery that no run waits for, after its first attempt was answered with 500. Where a machine stands still, the
 * second one has begun before the first is looked at: then there is a new delivery.
 */
async function attemptedOnce(url: string) {
  for (;;) {
    const made = await on.call(journey_id, { url, wait_for_response: false });
    const shown = await until('the first attempt is over', async (saw) => {
      const found = saw(await on.deliveries(journey_id)).find((one) => one.event_id === made.event_id);
      return found?.response_status === 500 && found.next_attempt_at !== null ? found : undefined;
    });
    if (shown.attempts === 1) return { ...made, shown };
  }
}

/** Nobody listens there. */
async function deadUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/`;
}

describe('a webhook', () => {
  it('arrives signed, with the body and headers of the specification, and wakes its run', async () => {
    const there = await receiver(answering(200, '{"vip":true}'));
    const player_id = (await on.client.players(1))[0] ?? '';
    await on.sql`update players set external_id = ${`ext-${player_id}`} where player_id = ${player_id}`;
    await on.sql`
      update player_totals set total_wagered = 9007199254740993, total_won = 3 where player_id = ${player_id}`;
    const context = { trigger_payload: { amount: 5000 }, coupon: 'A7' };
    const headers = { 'X-Own': 'yes', 'x-service-signature': 'forged', Host: 'other', 'content-length': '1' };
    const data = {
      text: 'Hello {{first_name}}, {{journey.context.coupon}}',
      list: [1, true, null, '{{context.trigger_payload.amount}}'],
      totals: '{{ total_wagered }} {{ player.ggr }} {{ kyc_status }}',
      money: "{{ total_wagered | money }} {{ context.trigger_payload.amount | money: 'ETH', 'de' }}",
    };
    const { run_id, event_id } = await on.call(
      journey_id,
      { url: there.url, headers, data, save_as: 'crm' },
      { player_id, context },
    );
    const shown = await on.reached(journey_id, event_id, 'delivered');
    expect(shown).toMatchObject({
      run_id,
      node_id: 'n4',
      attempts: 1,
      response_status: 200,
      error_code: null,
    });
    expect(shown.response).toBe('{"vip":true}');
    const [got] = there.received;
    expect(JSON.parse(got?.body ?? '')).toEqual({
      event: 'journey.webhook',
      event_id,
      ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      tenant_id: service.tenant_id,
      project_id: service.project_id,
      journey_id,
      journey_version: 1,
      run_id,
      node_id: 'n4',
      player: { id: player_id, external_id: `ext-${player_id}` },
      context,
      data: {
        text: 'Hello Ada, A7',
        list: [1, true, null, '5000'],
        totals: '9007199254740993 9007199254740990 none',
        money: '€90,071,992,547,409.93 0,000000000000005\u00a0ETH',
      },
    });
    expect(got?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(got?.body ?? '')),
      host: there.host,
      'x-own': 'yes',
      'x-service-event-id': event_id,
      'x-service-attempt': '1',
    });
    const signed = {
      signature: String(got?.headers['x-service-signature']),
      timestamp: String(got?.headers['x-service-timestamp']),
      body: got?.body ?? '',
    };
    expect(isSigned([secret], signed, Date.now())).toBe(true);
    const run = await on.run(run_id);
    expect(run).toMatchObject({ status: 'running', seq: 3 });
    expect(run.woken_by).toEqual({ kind: 'delivery', outcome: 'delivered' });
    expect(run.context).toEqual({ ...context, responses: { crm: { vip: true } } });
    const timers = await on.dueTimers(run_id);
    expect(timers.map(({ seq }) => seq)).toEqual([3]);
    expect(run.due_at).toEqual(timers[0]?.due_at);
  });

  it('is repeated after 500 with the same bytes and a new signature, until it is delivered', async () => {
    const there = await receiver((response, n) => answering(n < 3 ? 500 : 204)(response, n, response.req));
    const { run_id, event_id } = await on.call(journey_id, { url: there.url });
    const shown = await on.reached(journey_id, event_id, 'delivered');
    expect(shown.attempts).toBe(3);
    expect(new Set(there.received.map(({ body }) => body)).size).toBe(1);
    expect(there.received.map(({ headers }) => headers['x-service-attempt'])).toEqual(['1', '2', '3']);
    expect(new Set(there.received.map(({ headers }) => headers['x-service-event-id']))).toEqual(
      new Set([event_id]),
    );
    expect((await on.run(run_id)).woken_by).toEqual({ kind: 'delivery', outcome: 'delivered' });
  });

  it('is given up after its attempts, and wakes its run with the code', async () => {
    const there = await receiver(answering(503));
    const { run_id, event_id } = await on.call(journey_id, {
      url: there.url,
      retry: { max_attempts: 2, backoff_ms: 10 },
    });
    expect(await on.reached(journey_id, event_id, 'failed')).toMatchObject({
      attempts: 2,
      response_status: 503,
      error_code: 'WEBHOOK_HTTP_ERROR',
      reason: 'HTTP 503',
      next_attempt_at: null,
    });
    expect((await on.run(run_id)).woken_by).toEqual({
      kind: 'delivery',
      outcome: 'exhausted',
      error_code: 'WEBHOOK_HTTP_ERROR',
    });
    expect(await on.dueTimers(run_id)).toHaveLength(1);
  });

  it.each([400, 401, 403, 404, 410])('is not repeated after %i', async (status) => {
    const there = await receiver(answering(status));
    const { event_id } = await on.call(journey_id, { url: there.url });
    const shown = await on.reached(journey_id, event_id, 'failed');
    expect(shown).toMatchObject({ attempts: 1, response_status: status, error_code: 'WEBHOOK_HTTP_ERROR' });
  });

  it.each([408, 425, 429])('is repeated after %i', async (status) => {
    const there = await receiver((response, n) =>
      answering(n === 1 ? status : 200)(response, n, response.req),
    );
    const { event_id } = await on.call(journey_id, { url: there.url });
    expect((await on.reached(journey_id, event_id, 'delivered')).attempts).toBe(2);
  });

  it('waits as long as Retry-After says, an hour at most', async () => {
    const there = await receiver(answering(503, '', { 'Retry-After': '600' }));
    const greedy = await receiver(answering(503, '', { 'Retry-After': '864000' }));
    for (const [{ url }, seconds] of [
      [there, 600],
      [greedy, 3_600],
    ] as const) {
      const before_ms = Date.now();
      const { event_id } = await on.call(journey_id, { url });
      let next_ms = 0;
      await until(async (saw) => {
        const found = saw(await on.deliveries(journey_id)).find((one) => one.event_id === event_id);
        next_ms = Date.parse(found?.next_attempt_at ?? '');
        return found?.response_status === 503;
      });
      const after_ms = Date.now();
      expect(next_ms).toBeGreaterThanOrEqual(before_ms + seconds * 1_000);
      expect(next_ms).toBeLessThanOrEqual(after_ms + seconds * 1_000);
    }
  });

  it('is a failure when it is redirected, and nothing follows the redirect', async () => {
    const other = await receiver(answering(200));
    for (const location of ['http://169.254.169.254/latest/meta-data/', other.url]) {
      const there = await receiver(answering(307, '', { Location: location }));
      const { event_id } = await on.call(journey_id, { url: there.url });
      const shown = await on.reached(journey_id, event_id, 'failed');
      expect(shown).toMatchObject({ attempts: 1, response_status: 307, error_code: 'WEBHOOK_REDIRECTED' });
    }
    expect(other.received).toEqual([]);
  });

  it('does not go to an address that is not public', async () => {
    for (const url of [
      'http://169.254.169.254/latest/',
      'http://10.0.0.1/',
      'http://[::ffff:a9fe:a9fe]/',
      'nonsense',
    ]) {
      const { run_id, event_id } = await on.call(journey_id, { url });
      const shown = await on.reached(journey_id, event_id, 'failed');
      expect(shown, url).toMatchObject({ attempts: 1, response_status: null, error_code: 'EGRESS_REFUSED' });
      expect((await on.run(run_id)).woken_by).toMatchObject({
        outcome: 'exhausted',
        error_code: 'EGRESS_REFUSED',
      });
    }
  });

  it('has a limit of time for the whole attempt, also for an answer that goes on and on', async () => {
    const silent = await receiver(() => undefined);
    const dripping = await receiver((response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(drip));
    });
    for (const { url } of [silent, dripping]) {
      const retry = { max_attempts: 1, backoff_ms: 10 };
      const { event_id } = await on.call(journey_id, { url, timeout_ms: 300, retry });
      const shown = await on.reached(journey_id, event_id, 'failed');
      expect(shown).toMatchObject({ attempts: 1, error_code: 'WEBHOOK_TIMEOUT' });
    }
  });

  it('reads no more than 64 KB of an answer', async () => {
    let sent = 0;
    const there = await receiver((response) => {
      response.writeHead(200, { 'Content-Length': String(10 * 1024 ** 3) });
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const pour = () => {
        while (!response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', pour);
        }
      };
      pour();
    });
    const { run_id, event_id } = await on.call(journey_id, { url: there.url, save_as: 'crm' });
    const shown = await on.reached(journey_id, event_id, 'delivered');
    expect(shown.response).toBe('x'.repeat(1_000));
    expect(sent).toBeLessThan(64 * 1024 ** 2);
    expect((await on.run(run_id)).context).not.toHaveProperty('responses');
  });

  it('is repeated when the connection breaks before or within the answer', async () => {
    const there = await receiver((response, n) => {
      if (n === 1) return void response.socket?.resetAndDestroy();
      if (n === 3) return answering(200)(response, n, response.req);
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('half', () => response.socket?.destroy());
    });
    const { event_id } = await on.call(journey_id, { url: there.url });
    expect((await on.reached(journey_id, event_id, 'delivered')).attempts).toBe(3);
  });

  it('keeps JSON answers alone, and none with which the context would grow beyond 16 KB', async () => {
    const texts = [
      '',
      'no json',
      `"${'x'.repeat(17_000)}"`,
      '"\\u0000"',
      '['.repeat(100) + ']'.repeat(100),
      '{"n":1e400}',
    ];
    for (const text of texts) {
      const there = await receiver(answering(200, text));
      const { run_id, event_id } = await on.call(journey_id, { url: there.url, save_as: 'crm' });
      await on.reached(journey_id, event_id, 'delivered');
      const run = await on.run(run_id);
      expect(run.woken_by).toEqual({ kind: 'delivery', outcome: 'delivered' });
      expect(run.context, text.slice(0, 20)).toEqual({ trigger_payload: { amount: 5 } });
    }
  });

  it('fails without being sent when its body is over 20 KB, or its data cannot be rendered', async () => {
    const there = await receiver(answering(200));
    for (const [id, data, code] of [
      ['loops', { text: '{% for i in (1..30000) %}x{% endfor %}' }, 'TEMPLATE_FAILED'],
      ['no_liquid', { text: '{% if %}' }, 'TEMPLATE_FAILED'],
      ['long', { text: 'x'.repeat(20_480) }, 'WEBHOOK_BODY_TOO_LARGE'],
    ] as const) {
      const { run_id, event_id } = await on.call(journey_id, { id, url: there.url, data });
      const shown = await on.reached(journey_id, event_id, 'failed');
      expect(shown).toMatchObject({ attempts: 1, error_code: code });
      expect((await on.run(run_id)).woken_by).toMatchObject({ outcome: 'exhausted', error_code: code });
    }
    expect(there.received).toEqual([]);
  });

  it('goes once per node of a run, and wakes no run that has gone on', async () => {
    const there = await receiver(answering(200));
    const { run_id, event_id, row } = await on.call(journey_id, { url: there.url });
    await on.reached(journey_id, event_id, 'delivered');
    await on.sql.begin((tx) => insertDeliveries(tx, [row]));
    const later = await on.call(journey_id, { url: there.url }, { changed: { seq: 2 } });
    await on.reached(journey_id, later.event_id, 'delivered');
    expect(there.received.filter(({ body }) => body.includes(run_id))).toHaveLength(1);
    expect((await on.run(later.run_id)).woken_by).toBeNull();
    expect(await on.dueTimers(later.run_id)).toEqual([]);
  });

  it('that no run waits for has the long schedule', async () => {
    const there = await receiver(answering(500));
    const { run_id, event_id, shown } = await attemptedOnce(there.url);
    const requests = () => there.received.filter(({ headers }) => headers['x-service-event-id'] === event_id);
    const shown_ms = Date.now();
    // 5 s and a fifth more or less, counted from when the answer was read: after the request came, and before now.
    const next_ms = Date.parse(shown.next_attempt_at ?? '');
    expect(next_ms).toBeGreaterThanOrEqual((requests()[0]?.at_ms ?? Number.NaN) + 4_000);
    expect(next_ms).toBeLessThanOrEqual(shown_ms + 6_000);
    await on.hurry(event_id);
    await until((saw) => saw(requests().length) >= 2);
    expect((await on.run(run_id)).woken_by).toBeNull();
  });

  it('is not sent any more once its run is cancelled', async () => {
    const there = await receiver(answering(503, '', { 'Retry-After': '60' }));
    const { run_id, event_id } = await on.call(journey_id, { url: there.url });
    await until((saw) => saw(there.received.length) === 1);
    await until(
      async (saw) => saw((await on.deliveries(journey_id, `?run_id=${run_id}`))[0]?.response_status) === 503,
    );
    await on.sql.begin((tx) =>
      cancelDeliveries(tx, [{ tenant_id: service.tenant_id, project_id: service.project_id, run_id }]),
    );
    await on.hurry(event_id);
    const next = await on.call(journey_id, { url: there.url });
    await until(() => there.received.some(({ body }) => body.includes(next.run_id)));
    expect(there.received.filter(({ body }) => body.includes(run_id))).toHaveLength(1);
    expect((await on.deliveries(journey_id, `?run_id=${run_id}`))[0]).toMatchObject({ status: 'cancelled' });
  });
});

describe('an attempt that was lost', () => {
  it('is made again once its claim is over, with the same bytes, and the lost result counts no more', async () => {
    const held: (() => void)[] = [];
    const there = await receiver((response, n) => {
      if (n === 1) held.push(() => response.writeHead(500).end());
      else response.writeHead(200).end();
    });
    const { run_id, event_id } = await on.call(journey_id, { url: there.url });
    await until((saw) => saw(there.received.length) === 1);
    // As if the process that makes the attempt had died: its claim runs out.
    await on.hurry(event_id);
    const shown = await on.reached(journey_id, event_id, 'delivered');
    expect(shown.attempts).toBe(2);
    expect(there.received.map(({ body }) => body)).toEqual([
      there.received[0]?.body,
      there.received[0]?.body,
    ]);
    for (const end of held) end();
    const after = await on.call(journey_id, { url: there.url });
    await on.reached(journey_id, after.event_id, 'delivered');
    expect((await on.deliveries(journey_id, `?run_id=${run_id}`))[0]).toMatchObject({
      status: 'delivered',
      attempts: 2,
    });
  });
});

describe('a delivery whose attempts are lost', () => {
  /** A receiver that holds its first requests, as if the process that makes the attempt died, then answers as told. */
  async function holding(held: number, statuses: readonly number[]): Promise<Receiver> {
    return receiver((response, n, request) => {
      const status = statuses[n - held - 1] ?? 200;
      if (n > held) answering(status)(response, n, request);
    });
  }

  it('still has all attempts of its node: only what has failed counts', async () => {
    const there = await holding(2, [503, 503, 200]);
    const retry = { max_attempts: 3, backoff_ms: 10 };
    const { event_id, run_id } = await on.call(journey_id, { url: there.url, timeout_ms: 60_000, retry });
    for (const lost of [1, 2]) {
      await until((saw) => saw(there.received.length) === lost);
      await on.hurry(event_id);
    }
    expect(await on.reached(journey_id, event_id, 'delivered')).toMatchObject({ attempts: 5 });
    expect(there.received.map(({ headers }) => headers['x-service-attempt'])).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
    ]);
    expect(new Set(there.received.map(({ body }) => body)).size).toBe(1);
    expect((await on.run(run_id)).woken_by).toEqual({ kind: 'delivery', outcome: 'delivered' });
  });

  it('is given up after so many failures, however many were lost', async () => {
    const there = await holding(1, [503, 503]);
    const retry = { max_attempts: 2, backoff_ms: 10 };
    const { event_id } = await on.call(journey_id, { url: there.url, timeout_ms: 60_000, retry });
    await until((saw) => saw(there.received.length) === 1);
    await on.hurry(event_id);
    expect(await on.reached(journey_id, event_id, 'failed')).toMatchObject({
      attempts: 3,
      error_code: 'WEBHOOK_HTTP_ERROR',
    });
  });

  it('is attempted again however often, after pauses that double up to an hour', async () => {
    const lost = 10;
    const there = await holding(lost, [200]);
    const retry = { max_attempts: 1, backoff_ms: 10 };
    const { event_id } = await on.call(journey_id, { url: there.url, timeout_ms: 60_000, retry });
    const pauses_s: number[] = [];
    for (let n = 1; n <= lost; n++) {
      await until((saw) => saw(there.received.length) === n);
      const [row] = await on.sql<{ pause_s: number }[]>`
        select extract(epoch from next_at - attempted_at)::float8 - 60 as pause_s
        from webhook_deliveries where event_id = ${event_id}`;
      pauses_s.push(row?.pause_s ?? 0);
      await on.hurry(event_id);
    }
    expect(pauses_s).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
    expect(await on.reached(journey_id, event_id, 'delivered')).toMatchObject({ attempts: lost + 1 });
  });
});

describe('a host that does not answer', () => {
  it('holds up no other, gets no more than 16 attempts at a time, and rests after 10 failures', async () => {
    const hanging = await receiver(() => undefined);
    const fast = await receiver(answering(200));
    const own = await on.journey();
    const retry = { max_attempts: 10, backoff_ms: 1 };
    // An attempt that timed out before its request was sent would not be among those that arrived.
    const slow = Array.from({ length: 40 }, () =>
      on.call(own, { url: hanging.url, timeout_ms: 10_000, retry }),
    );
    await Promise.all(slow);
    await until((saw) => saw(hanging.received.length) >= 16);
    const before = hanging.received.length;
    const { event_id } = await on.call(own, { url: fast.url });
    await on.reached(own, event_id, 'delivered');
    expect(before).toBeLessThanOrEqual(32);
    expect(hanging.most_open()).toBeLessThanOrEqual(17);
    // Those that are running end; then nothing is sent, although all of them are due.
    await until(async (saw) => {
      const all = saw(await on.deliveries(own, '?limit=200&status=pending'));
      return all.filter(({ error_code }) => error_code === 'WEBHOOK_TIMEOUT').length >= 16;
    });
    const sent = hanging.received.length;
    const again = await on.call(own, { url: fast.url });
    await on.reached(own, again.event_id, 'delivered');
    expect(hanging.received.length - sent).toBeLessThanOrEqual(16);
    expect(hanging.received.length).toBeLessThanOrEqual(48);
  });

  it('holds up no other when nobody listens', async () => {
    const url = await deadUrl();
    const own = await on.journey();
    const retry = { max_attempts: 2, backoff_ms: 10 };
    const { event_id, run_id } = await on.call(own, { url, retry });
    const shown = await on.reached(own, event_id, 'failed');
    expect(shown).toMatchObject({
      error_code: 'WEBHOOK_CONNECTION_FAILED',
      reason: 'ECONNREFUSED',
      attempts: 2,
    });
    expect((await on.run(run_id)).woken_by).toMatchObject({ outcome: 'exhausted' });
  });
});

it('the metrics count attempts, and what is pending by host', async () => {
  const text = await (await fetch(`${service.base_url}/metrics`)).text();
  expect(text).toMatch(/webhook_attempts_total\{outcome="delivered"\} \d+/);
  expect(text).toContain('backlog_items{queue="webhooks"}');
  for (const outcome of ['delivered', 'failed'])
    expect(text).toMatch(new RegExp(`webhook_deliveries_total\\{outcome="${outcome}"\\} [1-9]`));
  expect(text).not.toContain('webhook_deliveries_total{outcome="pending"}');
});
