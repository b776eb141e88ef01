import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_REPORTS } from '../../../../src/analytics/insights/reports/schema.ts';
import type { Fixture } from '../../../http/api-fixture.ts';
import { sharedFixture } from '../../../http/shared-fixture.ts';
import { DAILY, DAY_MS, reportFixture, TWO_DAYS } from './report-fixture.ts';

let fixture: Fixture;
let on: Awaited<ReturnType<typeof reportFixture>>;
let viewer: string;
let body: Record<string, unknown>;
beforeAll(async () => {
  fixture = await sharedFixture();
  on = await reportFixture(fixture);
  viewer = await fixture.member(on.tenant.tenant_id, 'viewer');
  body = await on.bodyOf({});
});
afterAll(() => fixture.close());

const post = (path: string, sent: object, session?: string) =>
  on.api(path, { method: 'POST', body: sent }, session);
const issuesOf = async (rest: object) => {
  const answer = await post('/v1/reports', { ...body, ...rest });
  expect([answer.status, answer.code], answer.text).toEqual([422, 'VALIDATION_ERROR']);
  return answer.text;
};

describe('reports', () => {
  it('are created, listed, read, changed by version, and deleted', async () => {
    const id = await on.create(body);
    const read = await on.api(`/v1/reports/${id}`, undefined, viewer);
    expect(read.data).toMatchObject({
      id,
      ...body,
      is_enabled: true,
      state: 'waiting',
      decided_until: null,
      error: null,
      notices: [],
      deleted_at: null,
    });
    const patch = (change: object, etag: string) =>
      on.api(`/v1/reports/${id}`, { method: 'PATCH', body: change, headers: { 'if-match': etag } });
    const etag = read.headers.get('etag') ?? '';
    const monthly = { every: 'month', day: 31, hour: 0 };
    const changed = await patch({ schedule: monthly }, etag);
    expect([changed.status, changed.data['schedule']]).toEqual([200, monthly]);
    expect((await patch({ name: 'late' }, etag)).code).toBe('PRECONDITION_FAILED');
    const listed = await on.api('/v1/reports', undefined, viewer);
    expect((listed.data as unknown as { id: string }[]).map((one) => one.id)).toContain(id);
    expect((await on.api(`/v1/reports/${id}`, { method: 'DELETE' })).data['deleted_at']).not.toBeNull();
    expect((await patch({ name: 'x' }, '*')).code).toBe('REPORT_NOT_FOUND');
  });

  it('are written by editors, and seen by nobody else', async () => {
    expect((await post('/v1/reports', body, viewer)).code).toBe('FORBIDDEN');
    expect((await post('/v1/reports', { ...body, state: 'failing' })).code).toBe('FIELD_NOT_WRITABLE');
    const other = await fixture.makeTenant();
    const id = await on.create(body);
    expect((await on.api(`/v1/reports/${id}`, undefined, other.session)).code).toBe('REPORT_NOT_FOUND');
  });

  it('are about a dashboard of the project, at a time, for members and systems outside', async () => {
    const other = await reportFixture(fixture);
    expect(await issuesOf({ dashboard_id: await other.board() })).toContain('dashboard_id');
    expect(await issuesOf({ schedule: { ...DAILY, hour: 24 } })).toContain('schedule');
    expect(await issuesOf({ schedule: { every: 'week', weekday: 0, hour: 1 } })).toContain('weekday');
    expect(await issuesOf({ schedule: { ...DAILY, weekday: 1 } })).toContain('schedule');
    expect(await issuesOf({ receivers: [{ ...on.member, user_id: 'stranger' }] })).toContain('user_id');
    expect(await issuesOf({ receivers: [{ kind: 'webhook', url: 'http://10.0.0.1/' }] })).toContain('url');
  });

  it('keep their dashboard', async () => {
    const dashboard_id = await on.board();
    const id = await on.create({ name: 'Keeps', dashboard_id });
    const remove = () => on.api(`/v1/dashboards/${dashboard_id}`, { method: 'DELETE' });
    const refused = await remove();
    expect([refused.status, refused.code]).toEqual([409, 'CONFLICT']);
    expect(refused.text).toContain('Keeps');
    await on.api(`/v1/reports/${id}`, { method: 'DELETE' });
    expect((await remove()).status).toBe(200);
    expect(await issuesOf({ dashboard_id })).toContain('dashboard_id');
  });

  it(`are at most ${MAX_REPORTS} of a project`, async () => {
    const full = await reportFixture(fixture);
    const { tenant_id, project_id } = full.tenant;
    const sent = await full.bodyOf({});
    const id = await full.create(sent);
    await fixture.platform.postgres.service`
      insert into reports (tenant_id, project_id, report_id, name, content, created_at, updated_at, next_at)
      select tenant_id, project_id, gen_random_uuid(), name, content, created_at, updated_at, 'infinity'
      from reports, generate_series(2, ${MAX_REPORTS}) where tenant_id = ${tenant_id} and project_id = ${project_id}`;
    const refused = await full.api('/v1/reports', { method: 'POST', body: sent });
    expect([refused.status, refused.code]).toEqual([409, 'CONFLICT']);
    await full.api(`/v1/reports/${id}`, { method: 'DELETE' });
    await full.create(sent);
  });
});

describe('the preview', () => {
  it('has the next times, and the message with the figures of now', async () => {
    const here = await reportFixture(fixture);
    const yesterday_ms = (Math.floor(Date.now() / DAY_MS) - 1) * DAY_MS;
    await here.deposits([{ at_ms: yesterday_ms, amount: 4_200 }]);
    const dashboard_id = await here.board([await here.insight('Money <b>')]);
    const sent = { name: 'Preview', dashboard_id, schedule: { every: 'week', weekday: 1, hour: 9 } };
    const seen = await fixture.member(here.tenant.tenant_id, 'viewer');
    const answer = await here.api('/v1/reports/preview', { method: 'POST', body: sent }, seen);
    expect(answer.status, answer.text).toBe(200);
    const { times, ...rest } = answer.data as { times: string[]; html: string; text: string };
    expect(rest).toMatchObject({ timezone: 'UTC', subject: 'Report: Preview' });
    expect(times).toHaveLength(5);
    for (const time of times) expect([new Date(time).getUTCDay(), time.slice(11, 16)]).toEqual([1, '09:00']);
    expect(rest.text).toContain('€42.00');
    expect(rest.html).toContain('Money &lt;b&gt;');
    expect(rest.html).toContain('src="data:image/png;base64,');
    expect(rest.html).not.toContain('cid:');
  });

  it('names what has no figures, and knows dashboards of the project only', async () => {
    const where = [{ property: 'amount', op: 'gt', value: 1 }];
    const query = { ...TWO_DAYS, series: [{ metric: 'new_players' }], filter: { where } };
    const saved = await post('/v1/insights', { name: 'Never', query });
    expect(saved.status, saved.text).toBe(201);
    const dashboard_id = await on.board([String(saved.data['id'])]);
    const preview = (id: string) =>
      post('/v1/reports/preview', { name: 'Preview', dashboard_id: id, schedule: DAILY }, viewer);
    const { data } = await preview(dashboard_id);
    expect(data['text']).toContain('VALIDATION_ERROR');
    // What creates a report may be sent, too, and nothing else.
    const all = { ...body, dashboard_id, receivers: [] };
    expect((await post('/v1/reports/preview', all, viewer)).data['times']).toEqual(data['times']);
    expect((await post('/v1/reports/preview', { ...all, nmae: 'x' }, viewer)).text).toContain(
      '"path":"nmae"',
    );
    const other = await reportFixture(fixture);
    const refused = await preview(await other.board());
    expect([refused.status, refused.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(refused.text).toContain('dashboard_id');
  });
});
