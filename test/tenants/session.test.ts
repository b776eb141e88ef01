import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Fixture, Tenant } from '../http/api-fixture.ts';
import { sharedFixture } from '../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  other = await fixture.makeTenant();
});
afterAll(() => fixture.close());

const session = async (user_id: string) => {
  const { body } = await fixture.internal('/v1/internal/dev-sessions', { user_id });
  return String(body.data['session_token']);
};
const join = (tenant_id: string, user_id: string, role: string) =>
  fixture.internal('/v1/internal/memberships', { tenant_id, user_id, role });

describe('GET /v1/session', () => {
  test('answers the tenant of a member of one, with its projects, the oldest first', async () => {
    const viewer = await fixture.member(tenant.tenant_id, 'viewer');
    const { body } = await fixture.internal('/v1/internal/projects', {
      tenant_id: tenant.tenant_id,
      name: 'Second',
    });
    const { status, body: answer } = await fixture.as(viewer, '/v1/session');
    expect(status).toBe(200);
    expect(answer.data).toEqual({
      user_id: expect.any(String) as string,
      environment: fixture.config.service_env,
      tenants: [
        {
          id: tenant.tenant_id,
          name: 'Casino',
          role: 'viewer',
          base_currency: 'EUR',
          time_zone: null,
          projects: [
            { id: tenant.project_id, name: 'Main' },
            { id: body.data['project_id'], name: 'Second' },
          ],
        },
      ],
    });
  });

  test('answers every tenant of a member of several, with the role in each, whatever the headers name', async () => {
    await join(tenant.tenant_id, 'both', 'editor');
    await join(other.tenant_id, 'both', 'admin');
    const token = await session('both');
    // Another endpoint needs to be told which of the two it is about.
    expect((await fixture.as(token, '/v1/projects')).status).toBe(422);
    for (const headers of [{}, { 'x-tenant-id': other.tenant_id }, { 'x-tenant-id': 'nonsense' }]) {
      const { body } = await fixture.as(token, '/v1/session', { headers });
      const tenants = body.data['tenants'] as { id: string; role: string; projects: { id: string }[] }[];
      expect(tenants.map(({ id, role }) => [id, role])).toEqual([
        [tenant.tenant_id, 'editor'],
        [other.tenant_id, 'admin'],
      ]);
      expect(tenants[1]?.projects.map(({ id }) => id)).toEqual([other.project_id]);
    }
  });

  test('answers a user without a tenant, and shows a new membership and its end at once', async () => {
    const token = await session('nobody');
    const tenantsOf = async () => (await fixture.as(token, '/v1/session')).body.data['tenants'] as unknown[];
    expect(await tenantsOf()).toEqual([]);
    await join(other.tenant_id, 'nobody', 'viewer');
    expect(await tenantsOf()).toHaveLength(1);
    await fixture.call(`/v1/internal/memberships?tenant_id=${other.tenant_id}&user_id=nobody`, {
      method: 'DELETE',
      headers: { 'x-internal-secret': fixture.config.internal_secret ?? '' },
    });
    expect(await tenantsOf()).toEqual([]);
  });

  test('has the time zone of the tenant’s quiet hours', async () => {
    const quiet_hours = { start: '22:00', end: '08:00', default_timezone: 'Europe/Malta' };
    const body = { config: { messaging: { quiet_hours } } };
    const changed = await fixture.as(other.session, '/v1/tenant/config', { method: 'PATCH', body });
    expect(changed.status, changed.text).toBe(200);
    const { body: answer } = await fixture.as(other.session, '/v1/session');
    expect(answer.data['tenants']).toMatchObject([{ time_zone: 'Europe/Malta', role: 'owner' }]);
  });

  test('is limited in its rate like other calls of the user', async () => {
    const limited = await fixture.auth.sessions.authenticateUser({
      id: 'request',
      method: 'GET',
      headers: { authorization: `Bearer ${tenant.session}` },
    });
    expect(limited.memberships.map(({ tenant_id }) => tenant_id)).toEqual([tenant.tenant_id]);
    expect((await fixture.as(tenant.api_key, '/v1/session')).body.error.code).toBe('UNAUTHORIZED');
  });
});

describe('GET /v1/projects', () => {
  test('lists the projects of the tenant in pages, the newest first, and those of no other', async () => {
    const made = await fixture.makeTenant();
    const ids = [made.project_id];
    for (const name of ['b', 'c', 'd', 'e']) {
      const { body } = await fixture.internal('/v1/internal/projects', { tenant_id: made.tenant_id, name });
      ids.unshift(String(body.data['project_id']));
    }
    const viewer = await fixture.member(made.tenant_id, 'viewer');
    const found: unknown[] = [];
    let cursor = '';
    do {
      const page = await fixture.as(viewer, `/v1/projects?limit=2${cursor}`);
      expect(page.status, page.text).toBe(200);
      found.push(...(page.body.data as unknown as { id: string }[]).map(({ id }) => id));
      const next = page.body.meta['next_cursor'];
      cursor = typeof next === 'string' ? `&cursor=${next}` : '';
    } while (cursor !== '');
    expect(found).toEqual(ids);
    const first = (await fixture.as(viewer, '/v1/projects?limit=1')).body;
    expect(first.data[0]).toEqual({
      id: ids[0],
      tenant_id: made.tenant_id,
      name: 'e',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    });
    const foreign = await fixture.as(
      tenant.session,
      `/v1/projects?cursor=${String(first.meta['next_cursor'])}`,
    );
    expect(foreign.body.error.code).toBe('VALIDATION_ERROR');
  });

  test.each(['limit=0', 'limit=201', 'limit=x', 'cursor=x', 'name=x'])('refuses ?%s', async (query) => {
    expect((await fixture.as(tenant.session, `/v1/projects?${query}`)).body.error.code).toBe(
      'VALIDATION_ERROR',
    );
  });
});
