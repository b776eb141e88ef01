import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiEndpoints } from '../../src/app/api-app.ts';
import { bonusCases, complianceCases, kycCases, webhookCases, type Expected } from './audit-cases.ts';
import { countRows, failedWebhook } from './filled-project.ts';
import { storeUnavailable } from '../engage/campaigns/campaign-fixture.ts';
import { insightAuditCases } from './insight-audit-cases.ts';
import { figureAuditCases } from './figure-audit-cases.ts';
import { letterCases } from './letter-audit-cases.ts';
import { journeyAuditCases, runAuditCases } from './run-audit-cases.ts';
import { keyAuditCases, settingsAuditCases } from './settings-audit-cases.ts';
import { tierAuditCases } from './tier-audit-cases.ts';
import type { Answer } from '../engines/http-client.ts';
import { INTERNAL_SECRET, type Fixture, type Tenant } from '../http/api-fixture.ts';
import { sharedFixture } from '../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
/** Declared once: it takes long enough to be refused for an overload if it is done for every case. */
let declared: ReturnType<typeof apiEndpoints>;

beforeAll(async () => {
  fixture = await sharedFixture();
  declared = apiEndpoints(fixture.platform, fixture.config, fixture.deps);
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

type Fields = Record<string, unknown>;
interface Entry extends Fields {
  actor: Fields;
  before: Fields | null;
  after: Fields | null;
}

const SMTP = { host: 'mail.example', port: 25, username: 'u', password: 'hunter2', from: 'a@b.example' };
const EVERYBODY = { operator: 'AND', conditions: [{ type: 'random', percent: 100, salt: 'a' }] };

async function send(method: string, path: string, body?: unknown, token = tenant.session): Promise<Answer> {
  const answer = await fixture.as(token, path, { method, ...(body === undefined ? {} : { body }) });
  expect([200, 201, 202], `${method} ${path}: ${answer.text}`).toContain(answer.status);
  return answer;
}

async function internal(method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { 'x-internal-secret': INTERNAL_SECRET };
  const answer = await fixture.call(path, { method, headers, ...(body === undefined ? {} : { body }) });
  expect([200, 201], `${method} ${path}: ${answer.text}`).toContain(answer.status);
  return answer;
}

const idOf = ({ body }: Answer) => body.data['id'] as string;
const make = async (path: string, body: object) => idOf(await send('POST', path, body));

const keysPath = () => `/v1/projects/${tenant.project_id}/api-keys`;
const newKey = () => send('POST', keysPath(), { name: 'audited' });
const newSegment = (name = 's') =>
  make('/v1/segments', { name, definition: EVERYBODY, refresh_strategy: 'manual' });
const newTemplate = () =>
  make('/v1/templates', { name: 't', channel: 'email', subject: 's', body: 'b', status: 'active' });
const newProvider = () => make('/v1/messaging-providers', { name: 'p', channel: 'email' });
const newVariant = async (campaign_id: string) =>
  make(`/v1/campaigns/${campaign_id}/variants`, { name: 'A', template_id: await newTemplate(), weight: 1 });

async function newCampaign(): Promise<string> {
  await newProvider();
  const [segment_id, template_id] = [await newSegment(), await newTemplate()];
  return make('/v1/campaigns', { name: 'c', channel: 'email', segment_id, template_id });
}

async function newPlayer(): Promise<string> {
  const body = { external_id: `player-${Math.random()}`, traits: { email: 'ann@example.com' } };
  const answer = await fixture.as(tenant.api_key, '/v1/players/identify', { method: 'POST', body });
  return answer.body.data['player_id'] as string;
}

/** The newest rows of the tenant first. */
async function log(query = '', of = tenant): Promise<Entry[]> {
  const answer = await fixture.as(of.session, `/v1/audit-log?limit=200${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data as unknown as Entry[];
}

const object = () => expect.any(Object) as object;
/** A call of every endpoint that leaves a row, written by hand: one that is not here fails the first test. */
const CASES: Record<string, () => Promise<Expected>> = {
  'POST /v1/internal/tenants': async () => {
    const body = { name: 'T', base_currency: 'EUR', project_name: 'P', admin_user_id: 'audit-owner' };
    const answer = await internal('POST', '/v1/internal/tenants', body);
    const tenant_id = answer.body.data['tenant_id'] as string;
    const after = { name: 'T', base_currency: 'EUR', owner_user_id: 'audit-owner' };
    return { answer, resource_id: tenant_id, tenant_id, project_id: null, after };
  },
  'POST /v1/internal/projects': async () => {
    const body = { tenant_id: tenant.tenant_id, name: 'Second' };
    const answer = await internal('POST', '/v1/internal/projects', body);
    return { answer, resource_id: answer.body.data['project_id'] as string, after: { name: 'Second' } };
  },
  'POST /v1/internal/memberships': async () => {
    const member = { tenant_id: tenant.tenant_id, user_id: 'audited', role: 'viewer' };
    await internal('POST', '/v1/internal/memberships', member);
    const answer = await internal('POST', '/v1/internal/memberships', { ...member, role: 'admin' });
    const sides = { before: { role: 'viewer' }, after: { role: 'admin' } };
    return { answer, resource_id: 'audited', project_id: null, ...sides };
  },
  'DELETE /v1/internal/memberships': async () => {
    const member = { tenant_id: tenant.tenant_id, user_id: 'leaver', role: 'editor' };
    await internal('POST', '/v1/internal/memberships', member);
    const query = `?tenant_id=${tenant.tenant_id}&user_id=leaver`;
    const answer = await internal('DELETE', `/v1/internal/memberships${query}`);
    return { answer, resource_id: 'leaver', project_id: null, before: { user_id: 'leaver', role: 'editor' } };
  },
  ...insightAuditCases(send),
  ...keyAuditCases(send, keysPath),
  'PATCH /v1/tenant/config': async () => {
    await send('PATCH', '/v1/tenant/config', { kyc_model: 'dual' });
    const answer = await send('PATCH', '/v1/tenant/config', { kyc_model: 'none' });
    const sides = { before: { kyc_model: 'dual' }, after: { kyc_model: 'none' } };
    return { answer, resource_id: tenant.tenant_id, project_id: null, ...sides };
  },
  'PUT /v1/experiments/global': async () => {
    await send('PUT', '/v1/experiments/global', { holdout_percent: 5 });
    const answer = await send('PUT', '/v1/experiments/global', { holdout_percent: 0 });
    const sides = { before: { holdout_percent: 5, changes: 1 }, after: { holdout_percent: 0, changes: 2 } };
    return { answer, resource_id: tenant.project_id, ...sides };
  },
  'PATCH /v1/players/:id': async () => {
    const id = await newPlayer();
    const answer = await send('PATCH', `/v1/players/${id}`, { status: 'banned' });
    const before = { status: 'active', updated_at: expect.any(String) as string };
    return { answer, resource_id: id, before, after: { ...before, status: 'banned' } };
  },
  'DELETE /v1/players/:id': async () => {
    const id = await newPlayer();
    const answer = await send('DELETE', `/v1/players/${id}`);
    const after = { deleted_at: answer.body.data['deleted_at'] };
    return { answer, resource_id: id, before: { deleted_at: null }, after };
  },
  'POST /v1/segments': async () => {
    const body = { name: 'made', definition: EVERYBODY, refresh_strategy: 'manual' };
    const answer = await send('POST', '/v1/segments', body);
    return { answer, resource_id: idOf(answer), after: body };
  },
  'PATCH /v1/segments/:id': async () => {
    const id = await newSegment('old');
    const answer = await send('PATCH', `/v1/segments/${id}`, { name: 'new' });
    return { answer, resource_id: id, before: { name: 'old' }, after: { name: 'new' } };
  },
  'DELETE /v1/segments/:id': async () => {
    const id = await newSegment();
    const answer = await send('DELETE', `/v1/segments/${id}`);
    const after = { deleted_at: answer.body.data['deleted_at'] };
    return { answer, resource_id: id, before: { deleted_at: null }, after };
  },
  'POST /v1/templates': async () => {
    const answer = await send('POST', '/v1/templates', { name: 'made', channel: 'sms', body: 'x' });
    return { answer, resource_id: idOf(answer), after: answer.body.data };
  },
  'PATCH /v1/templates/:id': async () => {
    const id = await newTemplate();
    const answer = await send('PATCH', `/v1/templates/${id}`, { status: 'archived' });
    return { answer, resource_id: id, before: { status: 'active' }, after: { status: 'archived' } };
  },
  'DELETE /v1/templates/:id': async () => {
    const id = await newTemplate();
    const answer = await send('DELETE', `/v1/templates/${id}`);
    const after = { deleted_at: answer.body.data['deleted_at'] };
    return { answer, resource_id: id, before: { deleted_at: null }, after };
  },
  'POST /v1/templates/:id/send-test': async () => {
    const [id, provider_id] = [await newTemplate(), await newProvider()];
    const body = { recipient: 'secretly@example.com', provider_id };
    const answer = await send('POST', `/v1/templates/${id}/send-test`, body);
    return { answer, resource_id: id, after: { channel: 'email', provider_id, player_id: null } };
  },
  'POST /v1/messaging-providers': async () => {
    const body = { name: 'Mail', kind: 'smtp', channel: 'email', config: SMTP };
    const answer = await send('POST', '/v1/messaging-providers', body);
    return { answer, resource_id: idOf(answer), project_id: null, after: answer.body.data };
  },
  'PATCH /v1/messaging-providers/:id': async () => {
    const id = await newProvider();
    const answer = await send('PATCH', `/v1/messaging-providers/${id}`, { status: 'paused' });
    const sides = { before: { status: 'active' }, after: { status: 'paused' } };
    return { answer, resource_id: id, project_id: null, ...sides };
  },
  'DELETE /v1/messaging-providers/:id': async () => {
    const id = await newProvider();
    const answer = await send('DELETE', `/v1/messaging-providers/${id}`);
    const after = { deleted_at: answer.body.data['deleted_at'] };
    return { answer, resource_id: id, project_id: null, before: { deleted_at: null }, after };
  },
  'POST /v1/campaigns': async () => {
    const answer = await send('POST', '/v1/campaigns', { name: 'made', channel: 'email' });
    const also: Expected['also'] = [['campaign_variant', 'create']];
    return { answer, resource_id: idOf(answer), after: answer.body.data, also };
  },
  'POST /v1/campaigns/:id/duplicate': async () => {
    const answer = await send('POST', `/v1/campaigns/${await newCampaign()}/duplicate`);
    const also: Expected['also'] = [['campaign_variant', 'create']];
    return { answer, resource_id: idOf(answer), after: answer.body.data, also };
  },
  'PATCH /v1/campaigns/:id': async () => {
    const id = await newCampaign();
    const answer = await send('PATCH', `/v1/campaigns/${id}`, { name: 'renamed' });
    return { answer, resource_id: id, before: { name: 'c' }, after: { name: 'renamed' } };
  },
  'DELETE /v1/campaigns/:id': async () => {
    const id = await newCampaign();
    const answer = await send('DELETE', `/v1/campaigns/${id}`);
    const after = { deleted_at: answer.body.data['deleted_at'] };
    return { answer, resource_id: id, before: { deleted_at: null }, after };
  },
  'POST /v1/campaigns/:id/send': async () => {
    const id = await newCampaign();
    const answer = await send('POST', `/v1/campaigns/${id}/send`);
    return { answer, resource_id: id, before: { status: 'draft' }, after: { status: 'sending' } };
  },
  'POST /v1/campaigns/:id/retry-failed': async () => {
    const id = await newCampaign();
    await send('POST', `/v1/campaigns/${id}/send`);
    await storeUnavailable(fixture.platform, tenant, id);
    const answer = await send('POST', `/v1/campaigns/${id}/retry-failed`);
    return { answer, resource_id: id, before: {}, after: { queued: 1 } };
  },
  'POST /v1/campaigns/:id/cancel': async () => {
    const id = await newCampaign();
    const answer = await send('POST', `/v1/campaigns/${id}/cancel`);
    return { answer, resource_id: id, before: { status: 'draft' }, after: { status: 'cancelled' } };
  },
  ...journeyAuditCases(send),
  ...runAuditCases({ at: () => ({ ...fixture.platform, ...tenant }), newPlayer, send }),
  ...tierAuditCases({ send, internal, newPlayer, tenant_id: () => tenant.tenant_id }),
  'POST /v1/campaigns/:id/variants': async () => {
    const body = { name: 'A', template_id: await newTemplate(), weight: 1 };
    const answer = await send('POST', `/v1/campaigns/${await newCampaign()}/variants`, body);
    const also: Expected['also'] = [['campaign_variant', 'delete']];
    return { answer, resource_id: idOf(answer), after: answer.body.data, also };
  },
  'PATCH /v1/campaigns/:id/variants/:variantId': async () => {
    const campaign_id = await newCampaign();
    const id = await newVariant(campaign_id);
    const answer = await send('PATCH', `/v1/campaigns/${campaign_id}/variants/${id}`, { weight: 7 });
    return { answer, resource_id: id, before: { weight: 1 }, after: { weight: 7 } };
  },
  'DELETE /v1/campaigns/:id/variants/:variantId': async () => {
    const campaign_id = await newCampaign();
    const id = await newVariant(campaign_id);
    const answer = await send('DELETE', `/v1/campaigns/${campaign_id}/variants/${id}`);
    const also: Expected['also'] = [['campaign_variant', 'create']];
    return { answer, resource_id: id, before: answer.body.data, also };
  },
  ...bonusCases(send, newPlayer),
  ...settingsAuditCases(
    send,
    () => fixture.auth.console_sessions,
    (user_id) =>
      internal('POST', '/v1/internal/memberships', { tenant_id: tenant.tenant_id, user_id, role: 'viewer' }),
  ),
  ...webhookCases(send, async () =>
    failedWebhook(fixture.platform.postgres.service, tenant, await newPlayer()),
  ),
  ...kycCases(send, newPlayer),
  ...complianceCases(send, newPlayer),
  ...figureAuditCases(send),
  'POST /v1/segments/:id/refresh': async () => {
    const id = await newSegment();
    const answer = await send('POST', `/v1/segments/${id}/refresh`);
    return { answer, resource_id: id, after: { matched: 0, added: 0, removed: 0 } };
  },
  'POST /v1/players/:id/refresh-segments': async () => {
    const [id] = [await newPlayer(), await newSegment()];
    const answer = await send('POST', `/v1/players/${id}/refresh-segments`);
    const evaluated = answer.body.data['total_segments_evaluated'];
    return { answer, resource_id: id, after: { evaluated, added: 0, removed: 0 } };
  },
  ...letterCases({ send, internal, platform: () => fixture.platform, tenant: () => tenant }),
  'POST /v1/internal/fx-fetch': async () => {
    const { tenant_id } = tenant;
    const answer = await internal('POST', '/v1/internal/fx-fetch', { tenant_id });
    return { answer, resource_id: tenant.tenant_id, project_id: null, after: { upserted: 0 } };
  },
  'POST /v1/internal/fx-rates': async () => {
    const { tenant_id } = tenant;
    const rates = [{ base: 'EUR', quote: 'NOK', ts: '2024-01-31T00:00:00Z', rate: '11.35' }];
    const answer = await internal('POST', '/v1/internal/fx-rates', { tenant_id, rates });
    return { answer, resource_id: tenant_id, project_id: null, after: { upserted: 1 } };
  },
};

test('every endpoint that a session or the internal secret changes something with has a case, or says why not', () => {
  const changing = declared.filter(
    ({ method, access }) => method !== 'GET' && /^(session|internal)/.test(access.mode),
  );
  const recorded = changing.filter(({ audit }) => audit !== undefined && 'resource' in audit);
  expect(recorded.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(CASES).sort());
  const others = changing.filter(
    ({ audit }) => audit !== undefined && 'none' in audit && audit.none.length > 10,
  );
  expect(recorded.length + others.length).toBe(changing.length);
});

describe.each(Object.entries(CASES))('%s', (name, run) => {
  test('leaves one row that says who, what, before and after', async () => {
    const { answer, resource_id, project_id, before, after, also = [], ...of } = await run();
    const { tenant_id = tenant.tenant_id } = of;
    const request_id = String(answer.headers.get('x-request-id'));
    const rows = await fixture.platform.postgres.service<Fields[]>`
      select tenant_id, user_id, role, project_id, action, resource_type, resource_id, before::text as before,
        after::text as after
      from audit_log where request_id = ${request_id}`;
    const own = rows.filter((row) => row['resource_id'] === resource_id);
    expect(own).toHaveLength(1);
    const others = rows.filter((row) => row['resource_id'] !== resource_id);
    expect(others.map((other) => [other['resource_type'], other['action']])).toEqual(also);
    const { before: old, after: anew, ...row } = own[0] ?? {};
    const endpoint = declared.find(({ method, path }) => `${method} ${path}` === name);
    if (endpoint?.audit === undefined || !('resource' in endpoint.audit)) throw new Error('not declared');
    const { resource, action } = endpoint.audit;
    const [owner] = await fixture.platform.postgres.service<{ user_id: string }[]>`
      select user_id from memberships where tenant_id = ${tenant.tenant_id} and role = 'owner'`;
    const of_session = endpoint.access.mode.startsWith('session');
    const in_project = name === 'POST /v1/internal/projects' ? resource_id : tenant.project_id;
    expect(row).toEqual({
      tenant_id,
      user_id: of_session ? owner?.user_id : null,
      role: of_session ? 'owner' : null,
      project_id: project_id === null ? null : in_project,
      action,
      resource_type: resource,
      resource_id,
    });
    for (const [side, expected] of [
      [old, before],
      [anew, after],
    ] as const) {
      if (expected === undefined) expect(side).toBeNull();
      else expect(JSON.parse(String(side))).toMatchObject(expected);
    }
    // Of what was there before and after, nothing is kept that did not change.
    if (before !== undefined && after !== undefined) {
      const [left, right] = [JSON.parse(String(old)) as Fields, JSON.parse(String(anew)) as Fields];
      for (const field of Object.keys(left)) expect(left[field], field).not.toEqual(right[field]);
      expect(JSON.stringify([left, right])).not.toContain('ann@example.com');
    }
  });
});

describe('no row', () => {
  const count = () => countRows(fixture.platform.postgres.service, tenant.tenant_id);

  test('is left by what is repeated, refused or rolled back', async () => {
    const id = await newTemplate();
    const gone = [`/v1/templates/${id}`, `${keysPath()}/${idOf(await newKey())}`];
    for (const path of gone) await send('DELETE', path);
    const campaign_id = await newCampaign();
    const viewer = await fixture.member(tenant.tenant_id, 'viewer');
    const before = await count();
    for (const path of gone) await send('DELETE', path);
    const refused = [
      await fixture.as(viewer, `/v1/campaigns/${campaign_id}`, { method: 'DELETE' }),
      await fixture.as(tenant.session, '/v1/templates', { method: 'POST', body: { name: 'x' } }),
      await fixture.as(tenant.session, `/v1/templates/${id}`, { method: 'PATCH', body: { name: 'x' } }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 422, 404]);
    expect(await count()).toBe(before);
  });

  test('is left by a change of nothing but updated_at, and by a fetch of rates for every tenant', async () => {
    const body = { name: 'Mail', kind: 'smtp', channel: 'email', config: SMTP };
    const [template, provider] = [await newTemplate(), await make('/v1/messaging-providers', body)];
    const before = await count();
    await send('PATCH', `/v1/templates/${template}`, { name: 't' });
    await send('PATCH', `/v1/messaging-providers/${provider}`, { config: { password: SMTP.password } });
    await internal('POST', '/v1/internal/fx-fetch', {});
    expect(await count()).toBe(before);
  });

  test('is left by the replay of an Idempotency-Key', async () => {
    const path = `/v1/campaigns/${await newCampaign()}/send`;
    const headers = { 'idempotency-key': '018f0000-0000-7000-8000-00000000000a' };
    const before = await count();
    const sent = [1, 2].map(() => fixture.as(tenant.session, path, { method: 'POST', headers }));
    expect((await Promise.all(sent)).some(({ status }) => status === 200)).toBe(true);
    const again = await fixture.as(tenant.session, path, { method: 'POST', headers });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(await count()).toBe(before + 1);
  });
});

test('no secret is in the log', async () => {
  const { key } = (await newKey()).body.data as { key: string };
  const body = { name: 'Mail', kind: 'smtp', channel: 'email', config: SMTP };
  const id = await make('/v1/messaging-providers', body);
  await send('PATCH', `/v1/messaging-providers/${id}`, { config: { password: 'hunter3' } });
  const text = JSON.stringify(await log());
  for (const secret of [key.slice(20), 'hunter2', 'hunter3', 'secretly@']) expect(text).not.toContain(secret);
  const [changed] = await log(`&resource_id=${id}`);
  expect(changed).toMatchObject({ action: 'update', before: object(), after: object() });
  expect(changed?.after).toHaveProperty('credentials_changed', true);
  await send('PATCH', `/v1/messaging-providers/${id}`, {
    config: { host: 'other.example', password: 'hunter3' },
  });
  expect((await log(`&resource_id=${id}`))[0]?.after).not.toHaveProperty('credentials_changed');
});

test('a side of more than 16 KiB is replaced by the names of its fields', async () => {
  const id = await newTemplate();
  await send('PATCH', `/v1/templates/${id}`, { body: 'x'.repeat(20_000), name: 'large' });
  const [row] = await log(`&resource_id=${id}`);
  expect(row?.before).toMatchObject({ name: 't', body: 'b' });
  expect(row?.after).toEqual({ too_large: ['name', 'body', 'updated_at'] });
});

describe('GET /v1/audit-log', () => {
  test('is read newest first, page by page, by each filter', async () => {
    const own = await fixture.makeTenant();
    const admin = await fixture.member(own.tenant_id, 'admin');
    const body = { name: 'first', channel: 'sms', body: 'x' };
    const first = idOf(await send('POST', '/v1/templates', body, own.session));
    const second = idOf(await send('POST', '/v1/templates', { ...body, name: 'second' }, admin));
    await send('PATCH', `/v1/templates/${first}`, { name: 'changed' }, admin);
    const all = await log('', own);
    expect(all.slice(0, 3).map(({ action, resource_id }) => [action, resource_id])).toEqual([
      ['update', first],
      ['create', second],
      ['create', first],
    ]);
    expect(all.at(-1)).toMatchObject({
      action: 'create',
      resource_type: 'tenant',
      actor: { kind: 'internal' },
    });
    expect(all[0]?.actor).toMatchObject({ kind: 'session', role: 'admin' });
    const pages: Entry[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = `?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const page = await send('GET', `/v1/audit-log${query}`, undefined, own.session);
      pages.push(...(page.body.data as unknown as Entry[]));
      cursor = page.body.meta['next_cursor'] as string | null;
    }
    expect(pages).toEqual(all);
    const user_id = String(all[0]?.actor['user_id']);
    const at = encodeURIComponent(String(all[1]?.['occurred_at']));
    const since = Date.parse(String(all[1]?.['occurred_at']));
    const time = ({ occurred_at }: Fields) => Date.parse(String(occurred_at));
    for (const [query, matches] of [
      [`&user_id=${user_id}`, (row: Entry) => row.actor['user_id'] === user_id],
      ['&action=update', (row: Entry) => row['action'] === 'update'],
      ['&resource_type=template', (row: Entry) => row['resource_type'] === 'template'],
      [`&resource_id=${first}`, (row: Entry) => row['resource_id'] === first],
      [`&resource_id=${first.toUpperCase()}`, (row: Entry) => row['resource_id'] === first],
      [`&project_id=${own.project_id}`, (row: Entry) => row['project_id'] === own.project_id],
      [`&from=${at}`, (row: Entry) => time(row) >= since],
      [`&to=${at}`, (row: Entry) => time(row) < since],
      [`&action=create&resource_id=${second}&from=${at}`, (row: Entry) => row['resource_id'] === second],
    ] as const) {
      const found = await log(query, own);
      expect(found, query).toEqual(all.filter(matches));
      expect(found.length, query).toBeGreaterThan(0);
    }
  });

  test('finds a member whose user id looks like a UUID in upper case', async () => {
    const user_id = '018F0000-0000-7000-8000-00000000ABCD';
    const member = { tenant_id: tenant.tenant_id, user_id, role: 'viewer' };
    await internal('POST', '/v1/internal/memberships', member);
    expect(await log(`&resource_id=${user_id}`)).toMatchObject([{ resource_id: user_id }]);
  });

  test('refuses bad filters, and everybody below admin', async () => {
    for (const query of [
      'action=steal',
      'resource_type=castle',
      'resource_id=',
      'user_id=%00',
      'project_id=1',
      'from=yesterday',
      'from=0000-06-01T00:00:00Z',
      'from=0001-01-01T00:00:00%2B01:00',
      'to=9999-12-31T23:59:59-01:00',
      'from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z',
      'limit=201',
      'cursor=x',
      'more=1',
    ]) {
      const { status, body } = await fixture.as(tenant.session, `/v1/audit-log?${query}`);
      expect([status, body.error?.code], query).toEqual([422, 'VALIDATION_ERROR']);
    }
    const editor = await fixture.member(tenant.tenant_id, 'editor');
    expect((await fixture.as(editor, '/v1/audit-log')).status).toBe(403);
  });

  test('shows nothing of other tenants', async () => {
    const stranger = await fixture.makeTenant();
    await newTemplate();
    const text = JSON.stringify(await log('', stranger));
    expect(text).not.toContain(tenant.tenant_id);
    expect(text).not.toContain(tenant.project_id);
  });
});
