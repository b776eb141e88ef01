import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_ALERTS } from '../../../../src/analytics/insights/alerts/schema.ts';
import type { Fixture } from '../../../http/api-fixture.ts';
import { sharedFixture } from '../../../http/shared-fixture.ts';
import { alertFixture, DEPOSITS, HOUR_MS, NOTHING, type ShownFiring } from './alert-fixture.ts';

let fixture: Fixture;
let on: Awaited<ReturnType<typeof alertFixture>>;
let viewer: string;
beforeAll(async () => {
  fixture = await sharedFixture();
  on = await alertFixture(fixture);
  viewer = await fixture.member(on.tenant.tenant_id, 'viewer');
});
afterAll(() => fixture.close());

const body = () => ({
  name: 'No deposits',
  query: DEPOSITS,
  interval: 'hour',
  condition: NOTHING,
  receivers: [on.member],
});
const post = (path: string, sent: object, session?: string) =>
  on.api(path, { method: 'POST', body: sent }, session);
const issuesOf = async (rest: object) => {
  const answer = await post('/v1/alerts', { ...body(), ...rest });
  expect([answer.status, answer.code], answer.text).toEqual([422, 'VALIDATION_ERROR']);
  return answer.text;
};

describe('alerts', () => {
  it('are created, listed, read, changed by version, and deleted', async () => {
    const id = await on.create();
    const read = await on.api(`/v1/alerts/${id}`, undefined, viewer);
    expect(read.data).toMatchObject({
      id,
      ...body(),
      is_enabled: true,
      state: 'waiting',
      decided_until: null,
      error: null,
      firings: [],
      notices: [],
      deleted_at: null,
    });
    const patch = (change: object, etag: string) =>
      on.api(`/v1/alerts/${id}`, { method: 'PATCH', body: change, headers: { 'if-match': etag } });
    const etag = read.headers.get('etag') ?? '';
    const changed = await patch({ condition: { kind: 'unusual', minimum: 10 } }, etag);
    expect([changed.status, changed.data['condition']]).toEqual([200, { kind: 'unusual', minimum: 10 }]);
    expect((await patch({ name: 'late' }, etag)).code).toBe('PRECONDITION_FAILED');
    const listed = await on.api('/v1/alerts', undefined, viewer);
    expect((listed.data as unknown as { id: string }[]).map((one) => one.id)).toContain(id);
    expect((await on.api(`/v1/alerts/${id}`, { method: 'DELETE' })).data['deleted_at']).not.toBeNull();
    expect((await patch({ name: 'x' }, '*')).code).toBe('ALERT_NOT_FOUND');
  });

  it('are written by editors, and seen by nobody else', async () => {
    expect((await post('/v1/alerts', body(), viewer)).code).toBe('FORBIDDEN');
    expect((await post('/v1/alerts', { ...body(), state: 'failing' })).code).toBe('FIELD_NOT_WRITABLE');
    const other = await fixture.makeTenant();
    const id = await on.create();
    expect((await on.api(`/v1/alerts/${id}`, undefined, other.session)).code).toBe('ALERT_NOT_FOUND');
  });

  it('ask one figure', async () => {
    const two = [{ metric: 'deposits' }, { metric: 'withdrawals' }];
    expect(await issuesOf({ query: { kind: 'trend', series: two } })).toContain('ratio');
    expect(await issuesOf({ query: { ...DEPOSITS, ratio: [0, 1] } })).toContain('query');
    expect(await issuesOf({ query: { ...DEPOSITS, series: [{ metric: 'deductions' }] } })).toContain(
      'series',
    );
    expect(await issuesOf({ query: { ...DEPOSITS, breakdown: { by: 'product' } } })).toContain('breakdown');
    expect(await issuesOf({ interval: 'week' })).toContain('interval');
    expect(await issuesOf({ condition: { ...NOTHING, value: 0.1234567 } })).toContain('decimal');
    const rates = { kind: 'trend', series: [{ metric: 'hold' }, { metric: 'ggr' }], ratio: [0, 1] };
    expect(await issuesOf({ query: rates })).toContain('ratio');
    const foreign = { ...DEPOSITS, filter: { segment_id: on.tenant.tenant_id, where: [] } };
    expect((await post('/v1/alerts', { ...body(), query: foreign })).code).toBe('SEGMENT_NOT_FOUND');
    await on.create({ query: { kind: 'trend', series: two, ratio: [1, 0] } });
    await on.create({ query: { kind: 'trend', series: [{ metric: 'hold' }] } });
  });

  it('are sent to members and to systems outside only', async () => {
    expect(await issuesOf({ receivers: [] })).toContain('receivers');
    const stranger = { ...on.member, user_id: 'stranger' };
    expect(await issuesOf({ receivers: [stranger] })).toContain('receivers.0.user_id');
    const list = { ...on.member, address: 'a@example.com, b@example.com' };
    expect(await issuesOf({ receivers: [list] })).toContain('receivers.0.address');
    expect(await issuesOf({ receivers: [on.member, on.member] })).toContain('receivers.1.user_id');
    const inside = { kind: 'webhook', url: 'http://10.0.0.1/' };
    expect(await issuesOf({ receivers: [inside] })).toContain('receivers.0.url');
    const many = Array.from({ length: 11 }, (_, i) => ({ kind: 'webhook', url: `https://example.com/${i}` }));
    expect(await issuesOf({ receivers: many })).toContain('receivers');
  });

  it(`are at most ${MAX_ALERTS} of a project`, async () => {
    const full = await alertFixture(fixture);
    const { tenant_id, project_id } = full.tenant;
    const id = await full.create();
    await fixture.platform.postgres.service`
      insert into alerts (tenant_id, project_id, alert_id, name, content, created_at, updated_at, next_at)
      select tenant_id, project_id, gen_random_uuid(), name, content, created_at, updated_at, 'infinity'
      from alerts, generate_series(2, ${MAX_ALERTS}) where tenant_id = ${tenant_id} and project_id = ${project_id}`;
    const refused = await full.api('/v1/alerts', {
      method: 'POST',
      body: { ...body(), receivers: [full.member] },
    });
    expect([refused.status, refused.code]).toEqual([409, 'CONFLICT']);
    await full.api(`/v1/alerts/${id}`, { method: 'DELETE' });
    await full.create();
  });
});

describe('the preview', () => {
  const preview = async (rest: object, session = viewer) => {
    const answer = await post('/v1/alerts/preview', { ...body(), ...rest }, session);
    expect(answer.status, answer.text).toBe(200);
    return answer.data as unknown as {
      intervals: number;
      fired: number;
      undecided: number;
      firings: (ShownFiring & { before: unknown; low: number; high: number })[];
    };
  };

  it('has every interval of 90 days that is over, and those that would have fired', async () => {
    const hour_ms = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 50 * HOUR_MS;
    await on.deposits([
      { at_ms: hour_ms, amount: 700 },
      { at_ms: hour_ms + HOUR_MS - 1, amount: 300 },
      { at_ms: hour_ms + HOUR_MS, amount: 250 },
    ]);
    const large = await preview({ condition: { kind: 'threshold', op: 'gte', value: 1_000 } });
    expect(large.intervals).toBeGreaterThanOrEqual(90 * 24);
    expect(large).toMatchObject({
      fired: 1,
      undecided: 0,
      firings: [
        {
          from: new Date(hour_ms).toISOString(),
          to: new Date(hour_ms + HOUR_MS).toISOString(),
          value: 1_000,
          before: null,
          low: null,
        },
      ],
    });
    const less = await preview({ condition: { kind: 'change', against: 'previous', op: 'lte', bp: -7_500 } });
    expect(less.firings).toMatchObject([
      { value: 0, before: 250 },
      { value: 250, before: 1_000 },
    ]);
    expect(less.undecided).toBe(less.intervals - 2);
  });

  it('needs of an alert what it asks, and takes all that creates one, unfinished or not', async () => {
    const { query, interval, condition } = body();
    const asked = { query, interval, condition };
    for (const sent of [asked, { ...asked, name: '', receivers: [] }]) {
      const answer = await post('/v1/alerts/preview', sent, viewer);
      expect(answer.status, answer.text).toBe(200);
    }
    const refused = await post('/v1/alerts/preview', { ...body(), nmae: 'x' }, viewer);
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('"path":"nmae"')]);
  });

  it('finds what is unusual at its time of the week', async () => {
    const here = await alertFixture(fixture);
    const hour_ms = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 30 * HOUR_MS;
    const usual = [100, 110, 90, 101, 105, 95, 99, 102];
    await here.deposits([
      { at_ms: hour_ms, amount: 500 },
      ...usual.map((amount, i) => ({ at_ms: hour_ms - (i + 1) * 7 * 24 * HOUR_MS, amount })),
    ]);
    const answer = await preview({ condition: { kind: 'unusual', minimum: 50 } }, here.tenant.session);
    expect(answer.firings).toMatchObject([{ from: new Date(hour_ms).toISOString(), value: 500 }]);
    // The median is 100.5, the median deviation 3: 100.5 ± 5.9304 × 3.
    expect(answer.firings[0]).toMatchObject({ low: 82.7088, high: 118.2912 });
    const quiet = await preview({ condition: { kind: 'unusual', minimum: 501 } }, here.tenant.session);
    expect(quiet.fired).toBe(0);
  });
});
