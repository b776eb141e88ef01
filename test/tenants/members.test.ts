import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messagingClient, type MessagingClient } from '../engage/messaging/messaging-client.ts';
import { call, internally } from '../engines/http-client.ts';
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
  status: string;
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
  const as = messagingClient(service, { ...tenant, session_token: data.session_token });
  // The first call accepts.
  expect((await as.api('GET', '/v1/session')).status).toBe(200);
  return { user_id, as };
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
    expect(log.data.map(({ action }) => action)).toEqual(['delete', 'update', 'update', 'create']);
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

describe('invitations', () => {
  const invitationsOf = async (as: MessagingClient) =>
    (await as.api<{ invitations: { tenant_id: string }[] }>('GET', '/v1/invitations')).data.invitations;
  const shownTo = async (client: MessagingClient, user_id: string) =>
    (await client.api<Member[]>('GET', '/v1/members')).data.find((one) => one.user_id === user_id);

  it('a user of no operator is a member by the first call, and invited until then', async () => {
    const user_id = 'newcomer';
    const { data } = await owner.api('POST', '/v1/members', { user_id, role: 'editor' });
    expect(data).toMatchObject({ user_id, role: 'editor', status: 'invited' });
    expect(await shownTo(owner, user_id)).toMatchObject({ status: 'invited' });
    expect((await owner.api('POST', '/v1/members', { user_id, role: 'viewer' })).code).toBe('CONFLICT');
    const { session_token } = (await internally<TestTenant>(service, 'dev-sessions', { user_id })).data;
    const as = messagingClient(service, { ...tenant, session_token });
    expect((await as.api('GET', '/v1/players')).status).toBe(200);
    expect(await shownTo(owner, user_id)).toMatchObject({ status: 'active', role: 'editor' });
    expect(await invitationsOf(as)).toEqual([]);
    const log = await owner.api('GET', `/v1/audit-log?resource_id=${user_id}`);
    expect(log.data).toMatchObject([
      {
        action: 'update',
        actor: { user_id, role: 'editor' },
        before: { status: 'invited' },
        after: { status: 'active' },
        request_id: expect.stringMatching(/./) as string,
      },
      { action: 'create', after: { status: 'invited' } },
    ]);
  });

  it('a member of another operator is asked, and neither operator learns of the other', async () => {
    const { user_id, as } = await member('viewer');
    expect((await as.api('GET', '/v1/players')).status).toBe(200);
    const theirs = await service.newTenant();
    const other = messagingClient(service, theirs);
    const invited = await other.api('POST', '/v1/members', { user_id, role: 'admin' });
    const nobody = await other.api('POST', '/v1/members', { user_id: 'of-nobody', role: 'admin' });
    // The answer and the list are the same for a user of no operator.
    const blank = (answer: typeof invited) => ({ ...answer.data, user_id: '', created_at: '' });
    expect([invited.status, blank(invited)]).toEqual([nobody.status, blank(nobody)]);
    expect(await shownTo(other, user_id)).toMatchObject({ status: 'invited' });
    // Nothing has changed for the user: calls need not name the tenant.
    expect((await as.api('GET', '/v1/players')).status).toBe(200);
    const there = { headers: { 'x-tenant-id': theirs.tenant_id } };
    const url = `${service.base_url}/v1/players`;
    const { session_token } = (await internally<TestTenant>(service, 'dev-sessions', { user_id })).data;
    expect((await call(url, session_token, there)).status).toBe(403);
    expect(await invitationsOf(as)).toEqual([
      { tenant_id: theirs.tenant_id, tenant_name: expect.any(String) as string, role: 'admin' },
    ]);
    // Nobody else accepts it.
    const accept = `/v1/invitations/${theirs.tenant_id}/accept`;
    expect((await owner.api('POST', accept)).code).toBe('NOT_FOUND');
    const accepted = await as.api('POST', accept);
    expect([accepted.status, accepted.data]).toMatchObject([200, { role: 'admin', accepted: true }]);
    expect((await call(url, session_token, there)).status).toBe(200);
    expect((await call(url, session_token)).status).toBe(422);
    expect((await as.api('POST', accept)).code).toBe('NOT_FOUND');
    const log = await other.api('GET', `/v1/audit-log?resource_id=${user_id}`);
    expect(log.data).toMatchObject([
      { action: 'update', actor: { user_id, role: 'admin' }, after: { status: 'active' } },
      { action: 'create', after: { status: 'invited' } },
    ]);
    const own = await owner.api<{ action: string }[]>('GET', `/v1/audit-log?resource_id=${user_id}`);
    expect(own.data.map(({ action }) => action)).toEqual(['update', 'create']);
  });

  it('is declined by the user, or withdrawn by the operator', async () => {
    const { user_id, as } = await member('viewer');
    const theirs = await service.newTenant();
    const other = messagingClient(service, theirs);
    const invite = () => other.api('POST', '/v1/members', { user_id, role: 'owner' });
    expect((await invite()).status).toBe(201);
    // An invited owner is none: the last one stays.
    expect((await other.api('DELETE', `/v1/members?user_id=${theirs.owner}`)).code).toBe('CONFLICT');
    const declined = await as.api('DELETE', `/v1/invitations/${theirs.tenant_id}`);
    expect([declined.status, declined.data]).toMatchObject([200, { accepted: false }]);
    expect(await shownTo(other, user_id)).toBeUndefined();
    expect((await invite()).status).toBe(201);
    expect((await other.api('DELETE', `/v1/members?user_id=${user_id}`)).status).toBe(200);
    expect(await invitationsOf(as)).toEqual([]);
    for (const path of [`/v1/invitations/${theirs.tenant_id}/accept`, '/v1/invitations/nonsense/accept'])
      expect((await as.api('POST', path)).code).toBe('NOT_FOUND');
  });

  it('of several operators to a user of none: the user chooses', async () => {
    const user_id = 'courted';
    const [one, two] = [await service.newTenant(), await service.newTenant()];
    for (const each of [one, two])
      await messagingClient(service, each).api('POST', '/v1/members', { user_id, role: 'viewer' });
    const { session_token } = (await internally<TestTenant>(service, 'dev-sessions', { user_id })).data;
    const as = messagingClient(service, { ...one, session_token });
    const refused = await call(`${service.base_url}/v1/players`, session_token);
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('GET /v1/invitations')]);
    expect((await invitationsOf(as)).map(({ tenant_id }) => tenant_id)).toEqual([
      one.tenant_id,
      two.tenant_id,
    ]);
    expect((await as.api('POST', `/v1/invitations/${two.tenant_id}/accept`)).status).toBe(200);
    expect((await call(`${service.base_url}/v1/players`, session_token)).status).toBe(200);
    expect((await invitationsOf(as)).map(({ tenant_id }) => tenant_id)).toEqual([one.tenant_id]);
  });

  it('of the operator of the service needs no acceptance, and accepts one that is there', async () => {
    const { user_id, as } = await member('viewer');
    expect((await as.api('GET', '/v1/players')).status).toBe(200);
    const theirs = await service.newTenant();
    await messagingClient(service, theirs).api('POST', '/v1/members', { user_id, role: 'viewer' });
    const { tenant_id } = theirs;
    expect((await internally(service, 'memberships', { tenant_id, user_id, role: 'editor' })).status).toBe(
      201,
    );
    expect(await invitationsOf(as)).toEqual([]);
    expect(await shownTo(messagingClient(service, theirs), user_id)).toMatchObject({
      status: 'active',
      role: 'editor',
    });
  });
});

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
    const seen = async () =>
      (await byCookie('GET', '/v1/console-sessions?of=members', of_admin)).data.map((one) => one['user_id']);
    const elsewhere = await service.newTenant();
    const other = messagingClient(service, elsewhere);
    expect((await other.api('POST', '/v1/members', { user_id, role: 'viewer' })).status).toBe(201);
    // An invitation shows the inviting operator nothing, and hides nothing from the other.
    expect((await other.api<unknown[]>('GET', '/v1/console-sessions?of=members')).data).toEqual([]);
    expect(await seen()).toEqual([user_id, owner_id]);
    const { tenant_id } = elsewhere;
    const added = await internally(service, 'memberships', { tenant_id, user_id, role: 'viewer' });
    expect(added.status).toBe(201);
    const { data } = await byCookie('GET', '/v1/console-sessions?of=members', of_admin);
    expect(data.map((one) => one['user_id'])).toEqual([owner_id]);
    const path = `/v1/console-sessions/${String(theirs?.['id'])}`;
    expect((await byCookie('DELETE', path, of_admin)).status).toBe(404);
    expect((await byCookie('GET', '/v1/session', of_member)).status).toBe(200);
  });
});
