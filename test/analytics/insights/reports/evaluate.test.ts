import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NotCaughtUp } from '../../../../src/analytics/caught-up.ts';
import { SETTLE_MS } from '../../../../src/analytics/insights/due/evaluator.ts';
import { MAX_ATTEMPTS } from '../../../../src/analytics/insights/reports/evaluate.ts';
import { InsightRunner } from '../../../../src/analytics/insights/runner.ts';
import { ApiError } from '../../../../src/errors.ts';
import { isSigned } from '../../../../src/http/auth/webhook-signature.ts';
import { answering, startReceiver, type Receiver } from '../../../engage/webhooks/receiver.ts';
import type { Fixture } from '../../../http/api-fixture.ts';
import { sharedFixture } from '../../../http/shared-fixture.ts';
import { HOUR_MS, sendAt } from '../alerts/alert-fixture.ts';
import { DAILY, DAY_MS, dueIn, makeAt, reportFixture, TWO_DAYS } from './report-fixture.ts';

let fixture: Fixture;
let on: Awaited<ReturnType<typeof reportFixture>>;
beforeAll(async () => {
  fixture = await sharedFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  on = await reportFixture(fixture);
});
const open: Receiver[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((receiver) => receiver.close()));
  // Reports of other tests would be due at the times of the next.
  await fixture.platform.postgres.service`update reports set deleted_at = now() where deleted_at is null`;
  await fixture.platform.postgres.service`delete from insight_notices`;
});

const HOOK = { kind: 'webhook', url: 'https://operator.example/reports' };

/** A runner that rejects for statements about these events. */
function failingFor(event: string, error: () => Error): InsightRunner {
  const real = new InsightRunner(fixture.platform);
  const run: InsightRunner['run'] = (clickhouse, project, statements) =>
    JSON.stringify(statements).includes(event)
      ? Promise.reject(error())
      : real.run(clickhouse, project, statements);
  return { run } as InsightRunner;
}
const events = (event: string) => ({ ...TWO_DAYS, series: [{ event }] });

describe('a time of the schedule', () => {
  it('is decided when it has come and settled, and then never again', async () => {
    const id = await on.create({ receivers: [on.member, HOOK] });
    const due_ms = dueIn(0);
    // Of this day the time may still come.
    await makeAt(fixture, Date.now());
    expect(await on.noticesOf(id)).toEqual([]);
    await makeAt(fixture, due_ms);
    expect(await on.noticesOf(id)).toHaveLength(2);
    const time = new Date(due_ms - SETTLE_MS).toISOString();
    expect(await on.read(id)).toMatchObject({ state: 'waiting', decided_until: time, error: null });
    expect(await on.payloadOf(id)).toMatchObject({
      event: 'report.sent',
      time,
      timezone: 'UTC',
      report: { id, name: 'Daily figures' },
      dashboard: { name: 'Board' },
      tiles: [{ insight: { name: 'Deposits' }, error: null }],
    });
    await on.change(id, { name: 'Other' });
    await makeAt(fixture, due_ms + 1);
    expect(await on.noticesOf(id)).toHaveLength(2);
    await makeAt(fixture, due_ms + DAY_MS);
    expect(await on.noticesOf(id)).toHaveLength(4);
  });

  it('that passed while nothing ran is passed over, except for the newest one', async () => {
    const id = await on.create({ receivers: [HOOK] });
    await makeAt(fixture, dueIn(9) + 2 * HOUR_MS);
    expect(await on.noticesOf(id)).toHaveLength(1);
    expect((await on.payloadOf(id)).time).toBe(new Date(dueIn(9) - SETTLE_MS).toISOString());
  });

  it('is by the clocks of the reporting time zone', async () => {
    const config = { reporting: { timezone: 'Asia/Kathmandu' } };
    await on.api('/v1/tenant/config', { method: 'PATCH', body: { config } });
    const id = await on.create({ receivers: [HOOK] });
    await makeAt(fixture, dueIn(3));
    expect((await on.payloadOf(id)).time).toMatch(/T00:15:00.000Z$/);
  });

  it('is passed over while the report is not enabled, and when its schedule becomes another', async () => {
    const id = await on.create({ receivers: [HOOK] });
    await on.change(id, { is_enabled: false });
    await makeAt(fixture, dueIn(3));
    expect(await on.noticesOf(id)).toEqual([]);
    await on.change(id, { is_enabled: true });
    const hour = new Date().getUTCHours();
    await on.change(id, { schedule: { every: 'day', hour } });
    // This hour has begun before the change.
    await makeAt(fixture, Date.now() + SETTLE_MS);
    expect(await on.noticesOf(id)).toEqual([]);
    await makeAt(fixture, Date.now() + DAY_MS + SETTLE_MS);
    expect(await on.noticesOf(id)).toHaveLength(1);
  });
});

describe('a report that is changed', () => {
  it('keeps its time when its schedule is the same', async () => {
    const id = await on.create();
    await on.change(id, { schedule: DAILY, name: 'Same' });
    expect((await on.read(id))['decided_until']).toBeNull();
    await on.change(id, { schedule: { ...DAILY, hour: 7 } });
    expect((await on.read(id))['decided_until']).not.toBeNull();
  });

  it('may be switched off though a receiver has left', async () => {
    const id = await on.create();
    const path = `/v1/members?user_id=${encodeURIComponent(on.user_id)}`;
    expect((await on.api(path, { method: 'DELETE' })).status).toBe(200);
    expect(await on.read(id)).toMatchObject({ state: 'waiting' });
    expect((await on.change(id, { is_enabled: false })).status).toBe(200);
    expect(await on.read(id)).toMatchObject({ state: 'disabled' });
    expect((await on.change(id, { receivers: [on.member, HOOK] })).status).toBe(422);
  });
});

describe('the figures', () => {
  it('of weeks are of weeks that are over', async () => {
    const weekly = { ...TWO_DAYS, range: { last: { days: 28 } }, interval: 'week' };
    const id = await on.create({
      receivers: [HOOK],
      dashboard_id: await on.board([await on.insight('Weeks', weekly)]),
    });
    // Of seven days, six do not begin a week.
    await makeAt(fixture, dueIn(new Date().getUTCDay() === 0 ? 1 : 0));
    const [tile] = (await on.payloadOf(id)).tiles;
    expect(tile?.answer?.rows).toHaveLength(4);
    expect(tile?.answer?.rows.map(([, is_complete]) => is_complete)).toEqual([true, true, true, true]);
  });

  it('are of the days before that of the report', async () => {
    const due_ms = dueIn(0);
    const today_ms = Math.floor(due_ms / DAY_MS) * DAY_MS;
    await on.deposits([
      { at_ms: today_ms - 2 * DAY_MS, amount: 100 },
      { at_ms: today_ms - 1, amount: 250 },
      { at_ms: today_ms, amount: 999 },
    ]);
    const id = await on.create({ receivers: [HOOK] });
    await makeAt(fixture, due_ms);
    const [tile] = (await on.payloadOf(id)).tiles;
    const day = (n: number) => new Date(today_ms - n * DAY_MS).toISOString();
    expect(tile?.answer?.rows).toEqual([
      [day(2), true, 100],
      [day(1), true, 250],
    ]);
  });

  it('have the range and the segment of the dashboard', async () => {
    const definition = { operator: 'AND', conditions: [{ type: 'random', percent: 0, salt: 'a' }] };
    const segment = { name: 'nobody', definition, refresh_strategy: 'manual' };
    const { data } = await on.api('/v1/segments', { method: 'POST', body: segment });
    const range = { last: { days: 3 } };
    const dashboard_id = await on.board(undefined, { range, segment_id: data['id'] });
    const id = await on.create({ receivers: [HOOK], dashboard_id });
    const due_ms = dueIn(0);
    await on.deposits([{ at_ms: due_ms - DAY_MS, amount: 100 }]);
    await makeAt(fixture, due_ms);
    const [tile] = (await on.payloadOf(id)).tiles;
    expect(tile?.answer?.rows.map((row) => row[2])).toEqual([0, 0, 0]);
  });

  it('wait until what was accepted before is in ClickHouse', async () => {
    const id = await on.create({ receivers: [HOOK] });
    const due_ms = dueIn(0);
    const caughtUp = () => Promise.reject(new NotCaughtUp('the sink is behind'));
    await makeAt(fixture, due_ms, { caughtUp });
    expect(await on.read(id)).toMatchObject({
      state: 'failing',
      notices: [],
      error: { code: 'SERVICE_UNAVAILABLE', message: 'the sink is behind', failures: 1 },
    });
    await makeAt(fixture, due_ms + HOUR_MS);
    expect(await on.noticesOf(id)).toHaveLength(1);
    expect(await on.read(id)).toMatchObject({ state: 'waiting', error: null });
  });
});

describe('a tile that has no figures', () => {
  const withTwo = async () => {
    const insights = [await on.insight('Fine'), await on.insight('Bad <i>', events('login'))];
    return on.create({ receivers: [HOOK, on.member], dashboard_id: await on.board(insights) });
  };

  it('for good is named in its place, and stops no other', async () => {
    const id = await withTwo();
    const error = new ApiError('INSIGHT_TOO_EXPENSIVE', 'too many rows');
    await makeAt(fixture, dueIn(0), { runner: failingFor('login', () => error) });
    const { tiles } = await on.payloadOf(id);
    expect(tiles.map(({ error: fault }) => fault)).toEqual([
      null,
      { code: 'INSIGHT_TOO_EXPENSIVE', message: 'too many rows' },
    ]);
    expect(tiles[1]?.answer).toBeNull();
    const mail = (await on.contentsOf(id)).find((content) => 'html' in content);
    expect(mail?.['html']).toContain('Bad &lt;i&gt;');
    expect(mail?.['html']).toContain('No figures: too many rows (INSIGHT_TOO_EXPENSIVE)');
  });

  it('for now is tried again, and then named', async () => {
    const id = await withTwo();
    const limited = () => new ApiError('RATE_LIMITED', 'the seconds are used', { retry_after_s: 300 });
    const runner = failingFor('login', limited);
    for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt++) {
      await makeAt(fixture, dueIn(0) + attempt * HOUR_MS, { runner });
      expect(await on.read(id)).toMatchObject({
        state: 'failing',
        notices: [],
        error: { code: 'RATE_LIMITED', failures: attempt },
      });
    }
    await makeAt(fixture, dueIn(0) + MAX_ATTEMPTS * HOUR_MS, { runner });
    const { tiles } = await on.payloadOf(id);
    expect(tiles.map(({ error }) => error?.code)).toEqual([undefined, 'RATE_LIMITED']);
  });

  it('counts attempts of each time anew', async () => {
    const insights = [await on.insight('Fine'), await on.insight('Bad', events('login'))];
    const id = await on.create({ receivers: [HOOK], dashboard_id: await on.board(insights) });
    const all = failingFor('', () => new ApiError('RATE_LIMITED', 'the seconds are used'));
    for (let attempt = 0; attempt <= MAX_ATTEMPTS; attempt++)
      await makeAt(fixture, dueIn(0) + attempt * HOUR_MS, { runner: all });
    const runner = failingFor('login', () => new ApiError('RATE_LIMITED', 'the seconds are used'));
    for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt++) {
      await makeAt(fixture, dueIn(1) + attempt * HOUR_MS, { runner });
      expect(await on.read(id)).toMatchObject({ notices: [], error: { failures: attempt } });
    }
    await makeAt(fixture, dueIn(1) + MAX_ATTEMPTS * HOUR_MS, { runner });
    expect(await on.noticesOf(id)).toHaveLength(1);
  });

  it('makes no report of faults alone, until the next time', async () => {
    const id = await on.create({
      receivers: [HOOK],
      dashboard_id: await on.board([await on.insight('Bad', events('login'))]),
    });
    const runner = failingFor('login', () => new Error('no connection to 10.0.0.9'));
    for (let attempt = 0; attempt <= MAX_ATTEMPTS; attempt++)
      await makeAt(fixture, dueIn(0) + attempt * HOUR_MS, { runner });
    expect(await on.read(id)).toMatchObject({
      notices: [],
      error: { code: 'SERVICE_UNAVAILABLE', message: 'the log of the service says why' },
    });
    await makeAt(fixture, dueIn(1));
    expect((await on.payloadOf(id)).time).toBe(new Date(dueIn(1) - SETTLE_MS).toISOString());
  });

  it('by the end of the process does not send what was switched off meanwhile', async () => {
    const id = await on.create({ receivers: [HOOK] });
    const stopping = new AbortController();
    const caughtUp = async () => {
      await on.change(id, { is_enabled: false });
      stopping.abort();
      throw stopping.signal.reason;
    };
    await makeAt(fixture, dueIn(0), { caughtUp, stop: stopping.signal });
    await makeAt(fixture, dueIn(0));
    await makeAt(fixture, dueIn(1));
    expect(await on.noticesOf(id)).toEqual([]);
  });

  it('stops no other report, and no other tenant', async () => {
    const insights = [await on.insight('Bad', events('login'))];
    await on.create({ receivers: [HOOK], dashboard_id: await on.board(insights) });
    const fine = await on.create({ receivers: [HOOK] });
    const other = await reportFixture(fixture);
    const of_other = await other.create({ receivers: [HOOK] });
    await makeAt(fixture, dueIn(0), { runner: failingFor('login', () => new Error('no')) });
    expect(await on.noticesOf(fine)).toHaveLength(1);
    expect(await other.noticesOf(of_other)).toHaveLength(1);
  });
});

describe('what is sent', () => {
  it('is a signed webhook with the answers, and mail with tables and pictures to the member', async () => {
    const there = await startReceiver(answering(200));
    open.push(there);
    const { data } = await on.api('/v1/webhook-secrets', { method: 'POST', body: {} });
    const provider = await on.api('/v1/messaging-providers', {
      method: 'POST',
      body: { name: 'mail', kind: 'sandbox', channel: 'email', config: {} },
    });
    const due_ms = dueIn(0);
    await on.deposits([{ at_ms: due_ms - DAY_MS, amount: 123_456 }]);
    const receivers = [{ kind: 'webhook', url: there.url }, on.member];
    const dashboard_id = await on.board([await on.insight('Money <b>')]);
    const id = await on.create({ name: 'Figures <b>', receivers, dashboard_id });
    await makeAt(fixture, due_ms);
    const mail = (await on.contentsOf(id)).find((content) => 'html' in content);
    const [picture] = (mail?.['pictures'] ?? []) as { cid: string; png: string }[];
    expect(mail?.['html']).toContain(`src="cid:${picture?.cid}"`);
    expect(
      Buffer.from(picture?.png ?? '', 'base64')
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
    expect(mail?.['text']).toContain('€1,234.56');

    await sendAt(fixture, due_ms);
    expect((await on.noticesOf(id)).map(({ status }) => status)).toEqual(['sent', 'sent']);
    const [got] = there.received;
    const signed = {
      signature: String(got?.headers['x-service-signature']),
      timestamp: String(got?.headers['x-service-timestamp']),
      body: got?.body ?? '',
    };
    expect(isSigned([String(data['secret'])], signed, due_ms)).toBe(true);
    expect(JSON.parse(got?.body ?? '')).toMatchObject({
      event: 'report.sent',
      event_id: got?.headers['x-service-event-id'],
      tiles: [{ answer: { currency: 'EUR', totals: [[null, true, 123_456]] } }],
    });
    const path = `/v1/messaging-providers/${String(provider.data['id'])}/messages`;
    const [message] = (await on.api(path)).data as unknown as { subject: string; body: string }[];
    expect(message?.subject).toBe('Report: Figures <b>');
    expect(message?.body).toContain('Money &lt;b&gt;');
    expect(message?.body).toContain('€1,234.56');
    expect(message?.body).toContain(
      `/console/insights?project=${on.tenant.project_id}&amp;board=${dashboard_id}`,
    );
    // What was sent is not kept.
    expect(await on.contentsOf(id)).toEqual([{}, {}]);
  });
});

describe('after a crash', () => {
  it('between claim and decision the report is sent once', async () => {
    const id = await on.create({ receivers: [HOOK] });
    const due_ms = dueIn(0);
    const stuck: Pick<InsightRunner, 'run'> = { run: () => new Promise(() => undefined) };
    // This process never comes back.
    void makeAt(fixture, due_ms, { runner: stuck as InsightRunner });
    await expect
      .poll(async () => {
        const [row] = await fixture.platform.postgres.service<{ next_at: Date }[]>`
          select next_at from reports where report_id = ${id} and next_at > ${new Date(due_ms)}`;
        return row?.next_at.getTime();
      })
      .toBe(due_ms + 15 * 60_000);
    await makeAt(fixture, due_ms + 1);
    expect(await on.noticesOf(id)).toEqual([]);
    await makeAt(fixture, due_ms + 15 * 60_000);
    expect(await on.noticesOf(id)).toHaveLength(1);
  });

  it('a process that comes back late decides nothing', async () => {
    const id = await on.create({ receivers: [HOOK] });
    const due_ms = dueIn(0);
    let release: () => void = () => undefined;
    const until = new Promise<void>((resolve) => (release = resolve));
    const real = new InsightRunner(fixture.platform);
    const slow: Pick<InsightRunner, 'run'> = {
      run: async (...asked) => {
        await until;
        return real.run(...asked);
      },
    };
    const late = makeAt(fixture, due_ms, { runner: slow as InsightRunner });
    await expect
      .poll(async () => {
        const [row] = await fixture.platform.postgres.service<{ next_at: Date }[]>`
          select next_at from reports where report_id = ${id} and next_at > ${new Date(due_ms)}`;
        return row?.next_at.getTime();
      })
      .toBe(due_ms + 15 * 60_000);
    await makeAt(fixture, due_ms + 15 * 60_000);
    release();
    await late;
    expect(await on.noticesOf(id)).toHaveLength(1);
  });
});
