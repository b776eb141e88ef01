import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Call } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
let viewer: string;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  viewer = await fixture.member(tenant.tenant_id, 'viewer');
});
afterAll(() => fixture.close());

const QUERY = { kind: 'trend', range: { last: { days: 30 } }, series: [{ metric: 'ggr' }] };
const as = (path: string, request?: Call, session = tenant.session) => fixture.as(session, path, request);
const post = (path: string, body: object, session?: string) => as(path, { method: 'POST', body }, session);
const patch = (path: string, body: object, etag?: string) =>
  as(path, { method: 'PATCH', body, ...(etag === undefined ? {} : { headers: { 'if-match': etag } }) });
const newInsight = async (name = 'GGR') => {
  const { status, text, data } = await post('/v1/insights', { name, query: QUERY });
  expect(status, text).toBe(201);
  return String(data['id']);
};

describe('saved insights', () => {
  it('are in the audit log without values, also when only a value was changed', async () => {
    const queryOf = (value: string) => ({
      ...QUERY,
      filter: {
        definition: { operator: 'AND', conditions: [{ type: 'trait', field: 'email', op: 'eq', value }] },
        where: [{ property: 'note', op: 'eq', value }],
      },
    });
    const [first, second] = ['ann@example.com', 'ben@example.com'];
    const { data } = await post('/v1/insights', { name: 'Ann', query: queryOf(first ?? '') });
    const changed = await patch(`/v1/insights/${String(data['id'])}`, { query: queryOf(second ?? '') });
    expect(changed.status, changed.text).toBe(200);
    const log = await as(`/v1/audit-log?resource_id=${String(data['id'])}`);
    const rows = log.data as unknown as { after: Record<string, unknown> }[];
    expect(rows.map(({ after }) => after['has_other_values'])).toEqual([true, undefined]);
    expect(log.text).toContain('"field":"email"');
    for (const value of [first, second]) expect(log.text).not.toContain(value);
  });

  it('that name a segment are references of it, with dashboards, alerts and reports', async () => {
    const random = { operator: 'AND', conditions: [{ type: 'random', percent: 50, salt: 'x' }] };
    const segment = await post('/v1/segments', { name: 'Half', definition: random });
    const segment_id = String(segment.data['id']);
    const idOf = async (path: string, body: object) => {
      const { status, text, data } = await post(path, { name: 'Half', ...body });
      expect(status, text).toBe(201);
      return String(data['id']);
    };
    const receivers = [{ kind: 'webhook', url: 'https://operator.example/x' }];
    const member = { operator: 'AND', conditions: [{ type: 'segment', segment_id, op: 'in' }] };
    const insight = await idOf('/v1/insights', { query: { ...QUERY, filter: { definition: member } } });
    const dashboard = await idOf('/v1/dashboards', { segment_id });
    const { kind, series } = QUERY;
    const alert = await idOf('/v1/alerts', {
      query: { kind, series, filter: { segment_id } },
      interval: 'day',
      condition: { kind: 'threshold', op: 'lt', value: 1 },
      receivers,
    });
    const report = await idOf('/v1/reports', {
      dashboard_id: dashboard,
      schedule: { every: 'day', hour: 7 },
      receivers,
    });
    await newInsight();
    const found = await as(`/v1/segments/${segment_id}/references`, undefined, viewer);
    const of = (type: string, id: string) => ({ type, id, name: 'Half', status: null });
    expect(found.data).toEqual([
      of('insight', insight),
      of('dashboard', dashboard),
      of('alert', alert),
      of('report', report),
    ]);
  });

  it('are created, listed, read, changed by version, and deleted', async () => {
    const id = await newInsight();
    const read = await as(`/v1/insights/${id}`, undefined, viewer);
    expect(read.data).toMatchObject({
      id,
      name: 'GGR',
      description: '',
      query: { ...QUERY, interval: 'day' },
      deleted_at: null,
    });
    const etag = read.headers.get('etag') ?? '';
    const changed = await patch(`/v1/insights/${id}`, { description: 'By day' }, etag);
    expect([changed.status, changed.data['name'], changed.data['description']]).toEqual([
      200,
      'GGR',
      'By day',
    ]);
    const late = await patch(`/v1/insights/${id}`, { name: 'Late' }, etag);
    expect([late.status, late.code]).toEqual([412, 'PRECONDITION_FAILED']);
    const listed = await as('/v1/insights', undefined, viewer);
    expect((listed.data as unknown as { id: string }[]).map((one) => one.id)).toContain(id);
    expect((await as(`/v1/insights/${id}`, { method: 'DELETE' })).data['deleted_at']).not.toBeNull();
    expect((await patch(`/v1/insights/${id}`, { name: 'x' })).code).toBe('INSIGHT_NOT_FOUND');
  });

  it('are written by editors, with a query that can be asked', async () => {
    const refused = await post('/v1/insights', { name: 'x', query: QUERY }, viewer);
    expect([refused.status, refused.code]).toEqual([403, 'FORBIDDEN']);
    const wrong = await post('/v1/insights', {
      name: 'x',
      query: { ...QUERY, series: [{ metric: 'gold' }] },
    });
    expect([wrong.status, wrong.code]).toEqual([422, 'VALIDATION_ERROR']);
    const computed = await post('/v1/insights', { name: 'x', query: QUERY, id: tenant.tenant_id });
    expect(computed.code).toBe('FIELD_NOT_WRITABLE');
    const other = await fixture.makeTenant();
    const id = await newInsight();
    const foreign = await as(`/v1/insights/${id}`, undefined, other.session);
    expect([foreign.status, foreign.code]).toEqual([404, 'INSIGHT_NOT_FOUND']);
  });
});

describe('dashboards', () => {
  it('show insights of the project, which cannot be deleted meanwhile', async () => {
    const insight_id = await newInsight('NGR');
    const made = await post('/v1/dashboards', { name: 'Morning', tiles: [{ insight_id }] });
    expect(made.status, made.text).toBe(201);
    const id = String(made.data['id']);
    expect(made.data).toMatchObject({
      name: 'Morning',
      range: null,
      segment_id: null,
      tiles: [{ insight_id, size: 'half' }],
    });
    const kept = await as(`/v1/insights/${insight_id}`, { method: 'DELETE' });
    expect([kept.status, kept.code]).toEqual([409, 'CONFLICT']);
    const ranged = await patch(`/v1/dashboards/${id}`, { range: { last: { days: 7 } }, tiles: [] });
    expect(ranged.data).toMatchObject({ range: { last: { days: 7 } }, tiles: [] });
    expect((await as(`/v1/insights/${insight_id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await as(`/v1/dashboards/${id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await as('/v1/dashboards/x')).code).toBe('DASHBOARD_NOT_FOUND');
  });

  it('refuse tiles and segments that do not exist, and more than 24 tiles', async () => {
    const other = await fixture.makeTenant();
    const foreign = await fixture.as(other.session, '/v1/insights', {
      method: 'POST',
      body: { name: 'x', query: QUERY },
    });
    const insight_id = String(foreign.data['id']);
    const refused = await post('/v1/dashboards', {
      name: 'x',
      tiles: [{ insight_id }],
      segment_id: tenant.tenant_id,
    });
    expect(refused.status).toBe(422);
    const issues = refused.error?.details?.['issues'] as { path: string }[];
    expect(issues.map(({ path }) => path)).toEqual(['tiles.0.insight_id', 'segment_id']);
    const own = await newInsight();
    const tiles = Array.from({ length: 25 }, () => ({ insight_id: own }));
    expect((await post('/v1/dashboards', { name: 'x', tiles })).status).toBe(422);
  });
});
