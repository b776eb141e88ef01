import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MAX_DECIDED } from '../../../../src/analytics/insights/alerts/evaluate.ts';
import { SETTLE_MS } from '../../../../src/analytics/insights/due/evaluator.ts';
import { cleanUpNotices } from '../../../../src/analytics/insights/notices/clean-up.ts';
import { claimNotices, MAIL_LANE } from '../../../../src/analytics/insights/notices/queries.ts';
import { NotCaughtUp } from '../../../../src/analytics/caught-up.ts';
import { InsightRunner } from '../../../../src/analytics/insights/runner.ts';
import { ApiError } from '../../../../src/errors.ts';
import { isSigned } from '../../../../src/http/auth/webhook-signature.ts';
import { answering, startReceiver, type Answer, type Receiver } from '../../../engage/webhooks/receiver.ts';
import type { Fixture } from '../../../http/api-fixture.ts';
import { sharedFixture } from '../../../http/shared-fixture.ts';
import { alertFixture, evaluateAt, HOUR_MS, sendAt, type ShownFiring } from './alert-fixture.ts';

let fixture: Fixture;
let on: Awaited<ReturnType<typeof alertFixture>>;
beforeAll(async () => {
  fixture = await sharedFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  on = await alertFixture(fixture);
});
const open: Receiver[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((receiver) => receiver.close()));
  // Alerts of other tests would be due at the times of the next.
  await fixture.platform.postgres.service`update alerts set deleted_at = now() where deleted_at is null`;
  await fixture.platform.postgres.service`delete from insight_notices`;
});

async function receiver(answer: Answer = answering(200)): Promise<Receiver> {
  const started = await startReceiver(answer);
  open.push(started);
  return started;
}

/** A receiver of webhooks, and the secret that signs them. */
async function webhook(answer?: Answer) {
  const there = await receiver(answer);
  const { data } = await on.api('/v1/webhook-secrets', { method: 'POST', body: {} });
  return { there, secret: String(data['secret']), receivers: [{ kind: 'webhook', url: there.url }] };
}

const firingsOf = async (id: string) => (await on.read(id))['firings'] as ShownFiring[];
const noticesOf = async (id: string) =>
  (await on.read(id))['notices'] as {
    id: string;
    status: string;
    error: string;
    attempts: number;
  }[];

describe('an interval', () => {
  it('is decided when it is over and settled, and then never again', async () => {
    const begun_ms = Date.now();
    const id = await on.create();
    const over_ms = on.overIn(0, begun_ms);
    await evaluateAt(fixture.platform, over_ms - 1);
    expect(await firingsOf(id)).toEqual([]);
    await evaluateAt(fixture.platform, over_ms);
    const [first] = await firingsOf(id);
    expect(first).toMatchObject({ value: 0, to: new Date(over_ms - SETTLE_MS).toISOString() });
    expect((await on.read(id))['decided_until']).toBe(first?.to);
    // A deposit that comes late changes nothing, also when the alert is changed and looked at again.
    await on.deposits([{ at_ms: Date.parse(first?.from ?? ''), amount: 5 }]);
    await on.api(`/v1/alerts/${id}`, { method: 'PATCH', body: { name: 'Other' } });
    await evaluateAt(fixture.platform, over_ms + 1);
    expect(await firingsOf(id)).toEqual([first]);
    expect(await noticesOf(id)).toHaveLength(1);
  });

  it('of a day is a local one', async () => {
    const config = { reporting: { timezone: 'Asia/Kathmandu' } };
    await on.api('/v1/tenant/config', { method: 'PATCH', body: { config } });
    const id = await on.create({ interval: 'day' });
    await evaluateAt(fixture.platform, Date.now() + 50 * HOUR_MS);
    const [first] = await firingsOf(id);
    expect(first?.from).toMatch(/T18:15:00.000Z$/);
  });

  it('that passed while nothing ran is decided, and the newest one is sent', async () => {
    const id = await on.create();
    const hour_ms = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    await on.deposits([{ at_ms: hour_ms + 2 * HOUR_MS, amount: 5 }]);
    await evaluateAt(fixture.platform, on.overIn(4));
    const found = await firingsOf(id);
    expect(found.map(({ from }) => (Date.parse(from) - hour_ms) / HOUR_MS)).toEqual([4, 3, 1, 0]);
    expect(await noticesOf(id)).toHaveLength(1);
    // After a long pause the last ones.
    await evaluateAt(fixture.platform, on.overIn(1_000));
    const [row] = await fixture.platform.postgres.service<{ count: number }[]>`
      select count(*)::integer as count from alert_firings where alert_id = ${id}`;
    expect(row?.count).toBe(4 + MAX_DECIDED);
  });
});

describe('a position within an interval', () => {
  const nextOf = async (id: string) => {
    const [row] = await fixture.platform.postgres.service<{ next_at: Date }[]>`
      select next_at from alerts where alert_id = ${id}`;
    return row?.next_at.getTime();
  };

  it('of an alert with another interval goes on with the next whole one, and rests until then', async () => {
    const id = await on.create();
    await on.api(`/v1/alerts/${id}`, { method: 'PATCH', body: { interval: 'day' } });
    const now_ms = Date.now();
    await evaluateAt(fixture.platform, now_ms);
    const days = Math.ceil(now_ms / (24 * HOUR_MS)) + 1;
    expect(await nextOf(id)).toBe(days * 24 * HOUR_MS + SETTLE_MS);
    expect(await firingsOf(id)).toEqual([]);
  });

  it('goes on with the next whole one when the time zone is another', async () => {
    const id = await on.create();
    const over_ms = on.overIn(0);
    await evaluateAt(fixture.platform, over_ms);
    const config = { reporting: { timezone: 'Asia/Kolkata' } };
    await on.api('/v1/tenant/config', { method: 'PATCH', body: { config } });
    await on.api(`/v1/alerts/${id}`, { method: 'PATCH', body: { name: 'Elsewhere' } });
    await evaluateAt(fixture.platform, over_ms + 1);
    expect(await nextOf(id)).toBe(over_ms + 1.5 * HOUR_MS);
    expect(await firingsOf(id)).toHaveLength(1);
  });
});

describe('an alert that is not enabled', () => {
  const enable = (id: string, is_enabled: boolean) =>
    on.api(`/v1/alerts/${id}`, { method: 'PATCH', body: { is_enabled } });

  it('decides nothing, and goes on with the next whole interval when it is enabled again', async () => {
    const id = await on.create();
    expect((await enable(id, false)).data).toMatchObject({ is_enabled: false, state: 'disabled' });
    const off = await on.create({ is_enabled: false });
    expect(await on.read(off)).toMatchObject({ state: 'disabled' });
    await evaluateAt(fixture.platform, on.overIn(3));
    for (const one of [id, off]) expect(await firingsOf(one)).toEqual([]);
    const begun_ms = Date.now();
    expect((await enable(id, true)).data).toMatchObject({ is_enabled: true, state: 'waiting' });
    await evaluateAt(fixture.platform, on.overIn(1, begun_ms));
    const begins_ms = Math.ceil(begun_ms / HOUR_MS) * HOUR_MS;
    expect(await firingsOf(id)).toMatchObject([{ from: new Date(begins_ms).toISOString() }]);
  });

  it('has no error of before', async () => {
    const id = await on.create();
    const runner = { run: () => Promise.reject(new ApiError('RATE_LIMITED', 'the seconds are used')) };
    await evaluateAt(fixture.platform, on.overIn(0), { runner: runner as unknown as InsightRunner });
    expect((await on.read(id))['state']).toBe('failing');
    await enable(id, false);
    expect(await on.read(id)).toMatchObject({ state: 'disabled', error: null });
  });

  it.each(['goes on', 'stops'])('while it is evaluated decides nothing: the process %s', async (what) => {
    const id = await on.create();
    const real = new InsightRunner(fixture.platform);
    const stop = new AbortController();
    const runner: Pick<InsightRunner, 'run'> = {
      run: async (...asked) => {
        await enable(id, false);
        if (what === 'goes on') return real.run(...asked);
        stop.abort();
        throw new Error('stopped');
      },
    };
    const over_ms = on.overIn(0);
    await evaluateAt(fixture.platform, over_ms, { runner: runner as InsightRunner, stop: stop.signal });
    await evaluateAt(fixture.platform, over_ms + 24 * HOUR_MS);
    expect(await on.read(id)).toMatchObject({ state: 'disabled', firings: [], notices: [] });
  });

  it('is none that was stored before there was the field', async () => {
    const id = await on.create();
    await fixture.platform.postgres.service`
      update alerts set content = content - 'is_enabled' where alert_id = ${id}`;
    expect(await on.read(id)).toMatchObject({ is_enabled: true, state: 'waiting' });
    const body = { name: 'Renamed' };
    const changed = await on.api(`/v1/alerts/${id}`, { method: 'PATCH', body });
    expect(changed.data).toMatchObject({ is_enabled: true, decided_until: null });
    await evaluateAt(fixture.platform, on.overIn(0));
    expect(await firingsOf(id)).toHaveLength(1);
  });
});

describe('an alert that cannot be evaluated', () => {
  it('for so many intervals at once is evaluated for fewer, and passes over none', async () => {
    const id = await on.create();
    const real = new InsightRunner(fixture.platform);
    let refusals = 2;
    const runner: Pick<InsightRunner, 'run'> = {
      run: (...asked) =>
        refusals-- > 0
          ? Promise.reject(new ApiError('INSIGHT_TOO_EXPENSIVE', 'too many rows'))
          : real.run(...asked),
    };
    await evaluateAt(fixture.platform, on.overIn(3), { runner: runner as InsightRunner });
    expect(refusals).toBeLessThan(0);
    expect(await firingsOf(id)).toHaveLength(4);
  });

  const failing = async (runner: Partial<InsightRunner>, at_ms: number) =>
    evaluateAt(fixture.platform, at_ms, { runner: runner as InsightRunner });

  it('says why, stays due, passes over no interval, and stops nobody else', async () => {
    const id = await on.create();
    const other = await alertFixture(fixture);
    const fine = await other.create();
    const over_ms = on.overIn(0);
    const real = new InsightRunner(fixture.platform);
    const limited = new ApiError('RATE_LIMITED', 'the seconds are used', { retry_after_s: 300 });
    const runner: Pick<InsightRunner, 'run'> = {
      run: (clickhouse, project, statements) =>
        project.tenant_id === on.tenant.tenant_id
          ? Promise.reject(limited)
          : real.run(clickhouse, project, statements),
    };
    await failing(runner, over_ms);
    expect(await on.read(id)).toMatchObject({
      state: 'failing',
      decided_until: null,
      firings: [],
      error: { code: 'RATE_LIMITED', message: 'the seconds are used', failures: 1 },
    });
    expect(await other.read(fine)).toMatchObject({ state: 'waiting', firings: [{ value: 0 }] });
    // Not before the pause that was asked for.
    await evaluateAt(fixture.platform, over_ms + 299_000);
    expect((await on.read(id))['state']).toBe('failing');
    await evaluateAt(fixture.platform, over_ms + 300_000);
    expect(await on.read(id)).toMatchObject({ state: 'waiting', error: null, firings: [{ value: 0 }] });
  });

  it('tells what nobody expected to the log only', async () => {
    const id = await on.create();
    await failing({ run: () => Promise.reject(new Error('password=x')) }, on.overIn(0));
    const read = await on.read(id);
    expect(read).toMatchObject({ state: 'failing', error: { code: 'SERVICE_UNAVAILABLE' } });
    expect(JSON.stringify(read)).not.toContain('password');
  });

  it('waits while events wait to be counted', async () => {
    const id = await on.create();
    const behind = new NotCaughtUp('analytics-sink is 7 records behind');
    await evaluateAt(fixture.platform, on.overIn(0), { caughtUp: () => Promise.reject(behind) });
    expect(await on.read(id)).toMatchObject({ error: { message: behind.message }, firings: [] });
  });
});

describe('a notice', () => {
  it('is a signed webhook about figures, and mail to the member', async () => {
    const { there, secret, receivers } = await webhook();
    const provider = await on.api('/v1/messaging-providers', {
      method: 'POST',
      body: { name: 'mail', kind: 'sandbox', channel: 'email', config: {} },
    });
    const id = await on.create({ name: 'None <b>', receivers: [...receivers, on.member] });
    const over_ms = on.overIn(0);
    await evaluateAt(fixture.platform, over_ms);
    await sendAt(fixture, over_ms);
    const [got] = there.received;
    const notices = await noticesOf(id);
    expect(notices.map(({ status }) => status)).toEqual(['sent', 'sent']);
    const body = JSON.parse(got?.body ?? '') as Record<string, unknown>;
    expect(body).toMatchObject({
      event: 'alert.fired',
      event_id: got?.headers['x-service-event-id'],
      project_id: on.tenant.project_id,
      alert: { id, name: 'None <b>' },
      figure: { label: 'Deposits', type: 'money', currency: 'EUR' },
      interval: { kind: 'hour', timezone: 'UTC' },
      value: 0,
    });
    const signed = {
      signature: String(got?.headers['x-service-signature']),
      timestamp: String(got?.headers['x-service-timestamp']),
      body: got?.body ?? '',
    };
    expect(isSigned([secret], signed, over_ms)).toBe(true);
    const kept = await on.api(`/v1/messaging-providers/${String(provider.data['id'])}/messages`);
    const [message] = kept.data as unknown as { recipient: string; subject: string; body: string }[];
    expect(message).toMatchObject({ recipient: on.member.address, subject: 'Alert: None <b>' });
    expect(message?.body).toContain('None &lt;b&gt;');
    expect(message?.body).toContain('€0.00');
  });

  it('is not sent to somebody who is a member no more', async () => {
    const id = await on.create();
    const over_ms = on.overIn(0);
    await evaluateAt(fixture.platform, over_ms);
    const path = `/v1/members?user_id=${encodeURIComponent(on.user_id)}`;
    expect((await on.api(path, { method: 'DELETE' })).status).toBe(200);
    await sendAt(fixture, over_ms);
    expect(await noticesOf(id)).toMatchObject([{ status: 'failed', error: 'NO_MEMBER' }]);
  });

  it('waits for a provider and a secret, and is tried again with the same bytes', async () => {
    const there = await receiver((response, n) => {
      response.writeHead(n === 1 ? 503 : 200).end();
    });
    const id = await on.create({ receivers: [{ kind: 'webhook', url: there.url }, on.member] });
    const over_ms = on.overIn(0);
    await evaluateAt(fixture.platform, over_ms);
    await sendAt(fixture, over_ms);
    expect((await noticesOf(id)).map(({ error }) => error).toSorted()).toEqual([
      'PROVIDER_NOT_CONFIGURED',
      'WEBHOOK_SECRET_MISSING',
    ]);
    await on.api('/v1/webhook-secrets', { method: 'POST', body: {} });
    await sendAt(fixture, over_ms + 10_000);
    await sendAt(fixture, over_ms + 20 * 60_000);
    await sendAt(fixture, over_ms + 120 * 60_000);
    const [first, second, third] = there.received;
    expect([second?.body, second?.headers['x-service-event-id']]).toEqual([
      first?.body,
      first?.headers['x-service-event-id'],
    ]);
    expect(third).toBeUndefined();
  });
});

describe('after a crash', () => {
  it('between claim and decision the interval is decided once', async () => {
    const id = await on.create();
    const over_ms = on.overIn(0);
    const stuck: Pick<InsightRunner, 'run'> = { run: () => new Promise(() => undefined) };
    // This process never comes back.
    void evaluateAt(fixture.platform, over_ms, { runner: stuck as InsightRunner });
    await expect
      .poll(async () => {
        const [row] = await fixture.platform.postgres.service<{ next_at: Date }[]>`
          select next_at from alerts where alert_id = ${id} and next_at > ${new Date(over_ms)}`;
        return row?.next_at.getTime();
      })
      .toBe(over_ms + 15 * 60_000);
    await evaluateAt(fixture.platform, over_ms + 15 * 60_000);
    expect(await firingsOf(id)).toHaveLength(1);
    expect(await noticesOf(id)).toHaveLength(1);
  });

  it('after which nobody knows whether mail went out, it is not sent again', async () => {
    await on.api('/v1/messaging-providers', {
      method: 'POST',
      body: { name: 'mail', kind: 'sandbox', channel: 'email', config: {} },
    });
    const id = await on.create();
    const over_ms = on.overIn(0);
    await evaluateAt(fixture.platform, over_ms);
    // This process never says what became of it.
    const lanes = [{ tenant_id: on.tenant.tenant_id, lane: MAIL_LANE, places: 1 }];
    const { service } = fixture.platform.postgres;
    expect(await claimNotices(service, lanes, new Date(over_ms), 120_000)).toHaveLength(1);
    await sendAt(fixture, over_ms + 119_000);
    expect(await noticesOf(id)).toMatchObject([{ status: 'pending' }]);
    await sendAt(fixture, over_ms + 120_000);
    expect(await noticesOf(id)).toMatchObject([{ status: 'failed', error: 'OUTCOME_UNKNOWN', attempts: 2 }]);
  });

  it('between decision and delivery the same notice is sent again', async () => {
    // The first process gets no answer, and its result is never written.
    const { there, receivers } = await webhook((response, n) => {
      if (n > 1) response.writeHead(200).end();
    });
    const id = await on.create({ receivers });
    const over_ms = on.overIn(0);
    await evaluateAt(fixture.platform, over_ms);
    const lost = sendAt(fixture, over_ms);
    await expect.poll(() => there.received.length, { timeout: 30_000 }).toBe(1);
    await sendAt(fixture, over_ms + 120_000);
    expect(there.received).toHaveLength(2);
    const [first, second] = there.received;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['x-service-event-id']).toBe(first?.headers['x-service-event-id']);
    expect(await noticesOf(id)).toMatchObject([{ status: 'sent', attempts: 2 }]);
    // The result of the first attempt comes late, and counts no more.
    await lost;
    expect(await noticesOf(id)).toMatchObject([{ status: 'sent', attempts: 2 }]);
  });
});

it('firings and notices are removed after 90 days', async () => {
  const id = await on.create();
  const over_ms = on.overIn(0);
  await evaluateAt(fixture.platform, over_ms);
  const days = (count: number) => over_ms + count * 24 * HOUR_MS;
  await cleanUpNotices({ ...fixture.platform, clock: { now_ms: () => days(89) } });
  expect(await firingsOf(id)).toHaveLength(1);
  await cleanUpNotices({ ...fixture.platform, clock: { now_ms: () => days(91) } });
  expect([await firingsOf(id), await noticesOf(id)]).toEqual([[], []]);
});
