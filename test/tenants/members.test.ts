import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messagingClient, type MessagingClient } from '../engage/messaging/messaging-client.ts';
import { internally } from '../engines/http-client.ts';
import { startTestService, type TestService, type TestTenant } from '../engines/service.ts';
import { OWN_PAGE } from '../console/cookie-jar.ts';

let service: TestService;
let tenant: TestTenant;
let owner: MessagingClient;
let owner_id: string;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());
beforeEach(async () => {
  tenant = await service.newTenant();
  owner = messagingClient(service, tenant);
  owner_id = (await owner.api<{ user_id: string }>('GET', '/v1/session')).data.user_id;
});

interface Member {
  user_id: string;
  role: string;
}
const roles = async () =>
  Object.fromEntries(
    (await owner.api<Member[]>('GET', '/v1/members')).data.map(({ user_id, role }) => [user_id, role]),
  );

let users = 0;
/** A member with a session of its own. */
async function member(role: string): Promise<{ user_id: string; as: MessagingClient }> {
  const user_id = `member-${++users}`;
  expect((await owner.api('POST', '/v1/members', { user_id, role })).status).toBe(201);
  const response = await internally<{ session_token: string }>(service, 'dev-sessions', { user_id });
  const { data } = response;
  return { user_id, as: messagingClient(service, { ...tenant, session_token: data.session_token }) };
}

describe('members', () => {
  it('are added, get another role and leave, at once and with a row in the audit log', async () => {
    const { user_id, as } = await member('viewer');
    expect((await as.api('POST', '/v1/templates', {})).code).toBe('FORBIDDEN');
    const changed = await owner.api('PATCH', '/v1/members', { user_id, role: 'editor' });
    expect([changed.status, changed.data]).toMatchObject([200, { user_id, role: 'editor' }]);
    expect((await as.api('POST', '/v1/templates', {})).code).toBe('VALIDATION_ERROR');
    expect(await roles()).toEqual({ [owner_id]: 'owner', [user_id]: 'editor' });
    expect((await owner.api('DELETE', `/v1/members?user_id=${user_id}`)).status).toBe(200);
    expect((await as.api('GET', '/v1/players')).code).toBe('FORBIDDEN');
    const log = await owner.api<{ action: string }[]>('GET', `/v1/audit-log?resource_id=${user_id}`);
    expect(log.data.map(({ action }) => action)).toEqual(['delete', 'update', 'create']);
  });

  it('a user is a member once, and only a member is changed', async () => {
    const { user_id } = await member('viewer');
    expect((await owner.api('POST', '/v1/members', { user_id, role: 'admin' })).code).toBe('CONFLICT');
    expect(await roles()).toMatchObject({ [user_id]: 'viewer' });
    const stranger = { user_id: 'stranger', role: 'admin' };
    expect((await owner.api('PATCH', '/v1/members', stranger)).code).toBe('NOT_FOUND');
    expect((await owner.api('DELETE', '/v1/members?user_id=stranger')).code).toBe('NOT_FOUND');
  });

  it('the last owner stays one', async () => {
    for (const role of ['admin', 'viewer']) {
      const { status, code } = await owner.api('PATCH', '/v1/members', { user_id: owner_id, role });
      expect([status, code]).toEqual([409, 'CONFLICT']);
    }
    expect((await owner.api('DELETE', `/v1/members?user_id=${owner_id}`)).code).toBe('CONFLICT');
    const second = await member('owner');
    // Each owner removes the other at the same time: one of them stays.
    const answers = await Promise.all([
      owner.api('DELETE', `/v1/members?user_id=${second.user_id}`),
      second.as.api('DELETE', `/v1/members?user_id=${owner_id}`),
    ]);
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
    const [left] = await service.platform.postgres.service<{ n: number }[]>`
      select count(*)::integer as n from memberships where tenant_id = ${tenant.tenant_id} and role = 'owner'`;
    expect(left?.n).toBe(1);
  });

  it('an admin makes no owner, and changes and removes none', async () => {
    const { as, user_id } = await member('admin');
    const other = await member('owner');
    const refused = [
      await as.api('POST', '/v1/members', { user_id: 'friend', role: 'owner' }),
      await as.api('PATCH', '/v1/members', { user_id, role: 'owner' }),
      await as.api('PATCH', '/v1/members', { user_id: other.user_id, role: 'viewer' }),
      await as.api('DELETE', `/v1/members?user_id=${other.user_id}`),
    ];
    expect(refused.map(({ code }) => code)).toEqual(Array.from(refused, () => 'FORBIDDEN'));
    expect((await as.api('POST', '/v1/members', { user_id: 'friend', role: 'admin' })).status).toBe(201);
  });

  it('are listed by page, also those with long ids of any characters', async () => {
    const ids = ['a/b?c', 'ü'.repeat(255), 'x y', '<script>'];
    for (const user_id of ids)
      expect((await owner.api('POST', '/v1/members', { user_id, role: 'viewer' })).status).toBe(201);
    const found: string[] = [];
    for (let cursor = ''; ;) {
      const page = await owner.api<Member[]>('GET', `/v1/members?limit=2${cursor}`);
      found.push(...page.data.map(({ user_id }) => user_id));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
    expect(found).toEqual([...ids.toReversed(), owner_id]);
    expect((await owner.api('POST', '/v1/members', { user_id: 'a\0b', role: 'viewer' })).status).toBe(422);
  });
});

/** Signs a user in to the console as a browser does; returns the cookie. */
async function signIn(user_id: string): Promise<string> {
  const token = service.service.auth?.dev_issuer?.issueSignIn(user_id);
  const { headers } = await byCookie('POST', '/console/auth/dev', '', { token });
  return String(headers['set-cookie']).split(';')[0] ?? '';
}

interface Raw {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  data: Record<string, unknown>[];
}
function byCookie(method: string, path: string, cookie: string, body?: object): Promise<Raw> {
  const headers = {
    ...OWN_PAGE,
    'x-tenant-id': tenant.tenant_id,
    ...(cookie === '' ? {} : { cookie }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    const request = httpRequest(service.base_url + path, { method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => {
        const { data = [] } = JSON.parse(text) as Partial<Raw>;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, data });
      });
    });
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe('console sessions', () => {
  it('a user lists and ends the own ones alone, and knows which one asks', async () => {
    const { user_id } = await member('viewer');
    const of_owner = await signIn(owner_id);
    const [first, second] = [await signIn(user_id), await signIn(user_id)];
    const { data } = await byCookie('GET', '/v1/console-sessions', second);
    expect(data).toMatchObject([
      { user_id, is_current: true },
      { user_id, is_current: false },
    ]);
    expect(JSON.stringify(data)).not.toContain(first.split('=')[1]);
    expect((await byCookie('GET', '/v1/console-sessions?of=members', second)).status).toBe(403);
    const [owners] = (await byCookie('GET', '/v1/console-sessions', of_owner)).data;
    const foreign = `/v1/console-sessions/${String(owners?.['id'])}`;
    expect((await byCookie('DELETE', foreign, second)).status).toBe(404);
    const own = `/v1/console-sessions/${String(data[1]?.['id'])}`;
    expect((await byCookie('DELETE', own, second)).status).toBe(200);
    expect((await byCookie('GET', '/v1/players', first)).status).toBe(401);
    expect((await byCookie('GET', '/v1/players', second)).status).toBe(200);
    expect((await byCookie('DELETE', '/v1/console-sessions/nonsense', second)).status).toBe(404);
  });

  it('an admin lists and ends those of the members of the tenant, and of nobody else', async () => {
    const { user_id } = await member('viewer');
    const [of_admin, of_member] = [await signIn(owner_id), await signIn(user_id)];
    const outside = await signIn('nobody-here');
    const { data } = await byCookie('GET', '/v1/console-sessions?of=members', of_admin);
    expect(data.map((one) => one['user_id'])).toEqual([user_id, owner_id]);
    const path = `/v1/console-sessions/${String(data[0]?.['id'])}`;
    expect((await byCookie('DELETE', path, of_admin)).status).toBe(200);
    expect((await byCookie('GET', '/v1/players', of_member)).status).toBe(401);
    const log = await owner.api('GET', '/v1/audit-log?resource_type=console_session');
    expect(log.data).toMatchObject([{ action: 'delete', actor: { user_id: owner_id }, before: { user_id } }]);
    expect((await byCookie('GET', '/v1/session', outside)).status).toBe(200);
  });

  it('an admin neither sees nor ends those of members who are in another tenant, too', async () => {
    const { user_id } = await member('viewer');
    const of_admin = await signIn(owner_id);
    const of_member = await signIn(user_id);
    const [theirs] = (await byCookie('GET', '/v1/console-sessions', of_member)).data;
    const elsewhere = await service.newTenant();
    const other = messagingClient(service, elsewhere);
    const refused = await other.api('POST', '/v1/members', { user_id, role: 'viewer' });
    expect([refused.status, refused.code]).toEqual([403, 'FORBIDDEN']);
    const added = await internally(service, 'memberships', {
      tenant_id: elsewhere.tenant_id,
      user_id,
      role: 'viewer',
    });
    expect(added.status).toBe(201);
    const { data } = await byCookie('GET', '/v1/console-sessions?of=members', of_admin);
    expect(data.map((one) => one['user_id'])).toEqual([owner_id]);
    const path = `/v1/console-sessions/${String(theirs?.['id'])}`;
    expect((await byCookie('DELETE', path, of_admin)).status).toBe(404);
    expect((await byCookie('GET', '/v1/session', of_member)).status).toBe(200);
  });
});
