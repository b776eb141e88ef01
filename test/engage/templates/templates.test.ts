import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  openSegmentFixture,
  UNKNOWN,
  type Body,
  type SegmentFixture,
} from '../../segments/segment-fixture.ts';
import { call, type Answer } from '../../engines/http-client.ts';

let fixture: SegmentFixture;
let api: SegmentFixture['api'];
beforeAll(async () => {
  fixture = await openSegmentFixture();
  ({ api } = fixture);
});
afterAll(() => fixture?.service.close());

const EMAIL = {
  name: 'Welcome',
  channel: 'email',
  subject: 'Hi {{first_name}}',
  body: '<p>Hello {{first_name}}</p>',
};

async function make(body: Body): Promise<string> {
  const { status, text, data } = await api('POST', '/v1/templates', body);
  expect(status, text).toBe(201);
  return String(data['id']);
}

async function makeProvider(channel: string, rest: Body = {}): Promise<string> {
  const body = { name: `${channel} sandbox`, kind: 'sandbox', channel, config: {}, ...rest };
  const { status, text, data } = await api('POST', '/v1/messaging-providers', body);
  expect(status, text).toBe(201);
  return String(data['id']);
}

const preview = (id: string, body: Body = {}) => api('POST', `/v1/templates/${id}/preview`, body);
const sendTest = (id: string, body: Body) => api('POST', `/v1/templates/${id}/send-test`, body);
async function kept(provider_id: string): Promise<Body[]> {
  const { data } = await api('GET', `/v1/messaging-providers/${provider_id}/messages`);
  return data as unknown as Body[];
}

function expectCode({ status, code, text }: Answer, expected: string, expectedStatus = 422): void {
  expect([status, code], text).toEqual([expectedStatus, expected]);
}

describe('a template', () => {
  it('is created, read, listed, changed and deleted', async () => {
    const made = await api('POST', '/v1/templates', EMAIL);
    expect(made.status, made.text).toBe(201);
    const { id, created_at, ...rest } = made.data;
    const { tenant_id, project_id } = fixture.service;
    expect(rest).toEqual({
      tenant_id,
      project_id,
      name: 'Welcome',
      channel: 'email',
      status: 'draft',
      subject: EMAIL.subject,
      preheader: null,
      body: EMAIL.body,
      data: {},
      bonus_product: null,
      purpose: 'marketing',
      updated_at: created_at,
      deleted_at: null,
    });
    const path = `/v1/templates/${String(id)}`;
    expect((await api('GET', path)).data).toEqual(made.data);
    const patched = await api('PATCH', path, { status: 'active', preheader: 'Look, {{first_name}}' });
    expect(patched.data).toMatchObject({
      status: 'active',
      preheader: 'Look, {{first_name}}',
      body: EMAIL.body,
    });
    expect((await api('GET', path)).data).toEqual(patched.data);
    const deleted = await api('DELETE', path);
    expect(deleted.status).toBe(200);
    expect(deleted.data['deleted_at']).not.toBeNull();
    expect((await api('DELETE', path)).data).toEqual(deleted.data);
    expect((await api('GET', path)).data).toEqual(deleted.data);
    const listed = (await api('GET', '/v1/templates?limit=200')).data as unknown as Body[];
    expect(listed.map((row) => row['id'])).not.toContain(id);
    for (const gone of [
      api('PATCH', path, { name: 'x' }),
      preview(String(id)),
      sendTest(String(id), { recipient: 'a@b.c' }),
    ]) {
      expectCode(await gone, 'TEMPLATE_NOT_FOUND', 404);
    }
  });

  it('is listed page by page, newest first, by channel and status', async () => {
    const other = await fixture.service.newTenant();
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) {
      const body = name < 'c' ? { ...EMAIL, name, status: 'active' } : { name, channel: 'sms', body: 'x' };
      expect((await api('POST', '/v1/templates', body, other)).status).toBe(201);
    }
    const seen: unknown[] = [];
    for (let cursor = ''; ;) {
      const page = await api('GET', `/v1/templates?limit=2${cursor}`, undefined, other);
      seen.push(...(page.data as unknown as Body[]).map((row) => row['name']));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual([...names].reverse());
    const filtered = async (query: string) =>
      ((await api('GET', `/v1/templates?${query}`, undefined, other)).data as unknown as Body[]).map(
        (row) => row['name'],
      );
    expect(await filtered('channel=sms')).toEqual(['e', 'd', 'c']);
    expect(await filtered('channel=email&status=active')).toEqual(['b', 'a']);
    expect(await filtered('status=archived')).toEqual([]);
    const page = await api('GET', '/v1/templates?limit=1&channel=sms', undefined, other);
    expectCode(
      await api('GET', `/v1/templates?limit=1&cursor=${page.next_cursor}`, undefined, other),
      'VALIDATION_ERROR',
    );
    for (const query of ['limit=0', 'limit=201', 'channel=fax', 'status=gone', 'nonsense=1']) {
      expectCode(await api('GET', `/v1/templates?${query}`), 'VALIDATION_ERROR');
    }
  });

  it.each([
    [{ ...EMAIL, subject: null }, 'subject'],
    [{ ...EMAIL, subject: '  ' }, 'subject'],
    [{ ...EMAIL, body: ' \n' }, 'body'],
    [{ name: 'x', channel: 'email', subject: 's' }, 'body'],
    [{ ...EMAIL, data: { a: 'b' } }, 'data'],
    [{ ...EMAIL, channel: 'fax' }, 'channel'],
    [{ ...EMAIL, status: 'live' }, 'status'],
    [{ ...EMAIL, body: 'x'.repeat(256 * 1024 + 1) }, 'body'],
    [{ ...EMAIL, extra: 1 }, 'extra'],
    [{ name: 'x', channel: 'sms', subject: 's', body: 'b' }, 'subject'],
    [{ name: 'x', channel: 'sms', preheader: 's', body: 'b' }, 'preheader'],
    [{ name: 'x', channel: 'push', preheader: 's', body: 'b' }, 'preheader'],
    [{ name: 'x', channel: 'push', subject: 's', body: 'b', data: { a: 1 } }, 'data.a'],
    [{ name: 'x', channel: 'push', subject: 's', body: 'b', data: { from: 'x' } }, 'data.from'],
  ])('is refused: %j', async (body, path) => {
    const answer = await api('POST', '/v1/templates', body);
    expectCode(answer, 'VALIDATION_ERROR');
    expect(answer.error.details.issues.map((issue) => issue.path)).toContain(path);
  });

  it('reports the position of a Liquid error', async () => {
    const answer = await api('POST', '/v1/templates', {
      ...EMAIL,
      subject: '{{ first_name | nonsense }}',
      body: '<p>\n  {% if x %}\n</p>',
    });
    expectCode(answer, 'TEMPLATE_INVALID');
    expect(answer.error.details.issues).toEqual([
      {
        path: 'subject',
        message: 'undefined filter: nonsense',
        line: 1,
        column: 17,
        tag: '{{ first_name | nonsense }}',
      },
      { path: 'body', message: 'tag {% if x %} not closed', line: 2, column: 3, tag: 'if' },
    ]);
    for (const body of [
      '{% include "x" %}',
      '{% render "/etc/passwd" %}',
      '{% layout "x" %}',
      '{{ email | raw }}',
    ]) {
      expectCode(await api('POST', '/v1/templates', { ...EMAIL, body }), 'TEMPLATE_INVALID');
    }
    const id = await make(EMAIL);
    const patched = await api('PATCH', `/v1/templates/${id}`, { preheader: '{{ x' });
    expectCode(patched, 'TEMPLATE_INVALID');
    expect(patched.error.details.issues[0]).toMatchObject({ path: 'preheader', line: 1, column: 1 });
    expect((await api('GET', `/v1/templates/${id}`)).data).toMatchObject({ preheader: null });
    const data = await api('POST', '/v1/templates', {
      name: 'x',
      channel: 'push',
      body: 'b',
      data: { link: '{% x %}' },
    });
    expect(data.error.details.issues[0]).toMatchObject({ path: 'data.link' });
  });

  it('does not change its channel or the fields that the service sets', async () => {
    const id = await make(EMAIL);
    for (const body of [{ channel: 'sms' }, { id: UNKNOWN }, { created_at: 'x' }]) {
      expectCode(await api('PATCH', `/v1/templates/${id}`, body), 'FIELD_NOT_WRITABLE');
    }
    expectCode(await api('POST', '/v1/templates', { ...EMAIL, tenant_id: UNKNOWN }), 'FIELD_NOT_WRITABLE');
    expectCode(await api('PATCH', `/v1/templates/${id}`, { subject: null }), 'VALIDATION_ERROR');
    for (const missing of [UNKNOWN, 'nonsense']) {
      expectCode(await api('GET', `/v1/templates/${missing}`), 'TEMPLATE_NOT_FOUND', 404);
      expectCode(await api('DELETE', `/v1/templates/${missing}`), 'TEMPLATE_NOT_FOUND', 404);
    }
  });
});

describe('the fields of the player resource', () => {
  it('are in previews and tests, at the top level and under `player`', async () => {
    const player_id = await fixture.person({ email: 'totals@example.com' });
    const resource = (await api('GET', `/v1/players/${player_id}`)).data;
    const names = Object.keys(resource).filter(
      (name) =>
        !['tenant_id', 'project_id', 'segment_ids', 'anonymous_ids', 'custom_attributes'].includes(name),
    );
    expect(names).toContain('total_deposited');
    const body = names.map((name) => `${name}={{ ${name} }}|{{ player.${name} }}`).join('\n');
    const id = await make({ name: 'All', channel: 'sms', body, status: 'active' });
    const shown = resource as Record<string, string | number | null>;
    const expected = names.map((name) => `${name}=${shown[name] ?? ''}|${shown[name] ?? ''}`).join('\n');
    expect((await preview(id, { player_id })).data['body']).toBe(expected);
    const synthetic = (await preview(id)).data;
    expect(synthetic['body']).toContain('total_deposited=250000|250000');
    expect(synthetic['missing_variables']).toEqual(['deleted_at', 'player.deleted_at']);
  });
});

describe('a preview', () => {
  it('shows what a player would get, and names missing variables', async () => {
    const id = await make({
      ...EMAIL,
      preheader: '{{ bonus.code }}',
      body: '<p>{{ first_name }} {{ player.first_name }} {{ email }} {{ favourite_game | default: "slots" }}</p>',
    });
    const synthetic = await preview(id);
    expect(synthetic.status, synthetic.text).toBe(200);
    expect(synthetic.data).toMatchObject({ subject: 'Hi Alex', preheader: 'WELCOME100', data: {} });
    expect(synthetic.data['missing_variables']).toEqual(['favourite_game']);
    const player_id = await fixture.person({ first_name: '<b>Zoe</b> & co', email: 'zoe@example.com' });
    const shown = await preview(id, { player_id });
    expect(shown.data).toEqual({
      subject: 'Hi <b>Zoe</b> & co',
      preheader: '',
      body: '<p>&lt;b&gt;Zoe&lt;/b&gt; &amp; co &lt;b&gt;Zoe&lt;/b&gt; &amp; co zoe@example.com slots</p>',
      data: {},
      missing_variables: ['bonus.code', 'favourite_game'],
    });
    expectCode(await preview(id, { player_id: UNKNOWN }), 'PLAYER_NOT_FOUND', 404);
    expectCode(await preview(id, { player_id: 'x' }), 'VALIDATION_ERROR');
    const push = await make({
      name: 'p',
      channel: 'push',
      body: '{{first_name}}',
      data: { link: '/{{first_name}}' },
    });
    expect((await preview(push)).data).toMatchObject({
      subject: null,
      body: 'Alex',
      data: { link: '/Alex' },
    });
  });

  it('writes amounts of the tenant’s currencies in the player’s language, and names a currency that is none', async () => {
    const body = "{{ bonus.amount | money }} {{ 5 | money: 'JPY' }} {{ 1 | money: code | default: 'none' }}";
    const id = await make({ name: 'm', channel: 'sms', body, status: 'active' });
    expect((await preview(id)).data['body']).toBe('€100.00 ¥5 €0.01');
    const player_id = await fixture.person({ language: 'de', code: 'USDT' });
    expect((await preview(id, { player_id })).data['body']).toBe(' 5\u00a0¥ 0,000001\u00a0USDT');
    const lost = await preview(id, { player_id: await fixture.person({ code: 'LOST' }) });
    expectCode(lost, 'TEMPLATE_INVALID');
    expect(lost.text).toContain('money: the currency LOST is not in the catalogue');
  });

  it('of a merged player shows the survivor, and one that cannot be rendered names the position', async () => {
    const traits = { first_name: 'Known' };
    const known = await fixture.person(traits, { external_id: 'survivor' });
    const guest = await fixture.person({ first_name: 'Guest' }, { anonymous_id: 'the-guest' });
    await fixture.person(traits, { external_id: 'survivor', anonymous_id: 'the-guest' });
    expect(guest).not.toBe(known);
    const id = await make(EMAIL);
    expect((await preview(id, { player_id: guest })).data['subject']).toBe('Hi Known');
    const endless = await make({ ...EMAIL, body: 'a\n{% for i in (1..99999999) %}x{% endfor %}' });
    const failed = await preview(endless);
    expectCode(failed, 'TEMPLATE_INVALID');
    expect(failed.error.details.issues[0]).toMatchObject({ path: 'body', line: 2, tag: 'for' });
  });
});

describe('a test message', () => {
  it('reaches the recipient as the player would get it', async () => {
    const provider_id = await makeProvider('email');
    const newer = await makeProvider('email');
    const id = await make({ ...EMAIL, status: 'active', preheader: '{{ 1250 | money }}' });
    const player_id = await fixture.person({ first_name: 'Ann\r\nBcc: x@y.z', email: 'ann@example.com' });
    const before_ms = Date.now();
    const sent = await sendTest(id, { recipient: 'me@example.com', player_id });
    expect(sent.status, sent.text).toBe(200);
    const [message] = await kept(provider_id);
    expect(message).toMatchObject({
      recipient: 'me@example.com',
      channel: 'email',
      subject: 'Hi Ann Bcc: x@y.z',
      preheader: '€12.50',
      body: '<p>Hello Ann\nBcc: x@y.z</p>',
      send_id: null,
      provider_id,
      data: {},
      headers: {},
    });
    const { sent_at, ...rest } = sent.data;
    expect(rest).toEqual({
      recipient: 'me@example.com',
      channel: 'email',
      template_id: id,
      provider_id,
      player_id,
      status: 'sent',
      error_code: null,
      provider_message_id: message?.['id'],
    });
    expect(Date.parse(String(sent_at))).toBeGreaterThanOrEqual(before_ms);
    const named = await sendTest(id, { recipient: 'me@example.com', provider_id: newer });
    expect(named.data).toMatchObject({ provider_id: newer, player_id: null, status: 'sent' });
    expect((await kept(newer)).map((row) => row['subject'])).toEqual(['Hi Alex']);
  });

  it('needs an active template, a recipient and a provider of its channel', async () => {
    const sms = await make({ name: 's', channel: 'sms', body: 'Hi {{first_name}}', status: 'active' });
    expectCode(await sendTest(sms, { recipient: '+35621000000' }), 'PROVIDER_NOT_CONFIGURED');
    const email = await makeProvider('email');
    for (const provider_id of [email, UNKNOWN]) {
      const answer = await sendTest(sms, { recipient: '+35621000000', provider_id });
      expectCode(answer, 'VALIDATION_ERROR');
      expect(answer.error.details.issues[0]?.path).toBe('provider_id');
    }
    const paused = await makeProvider('sms', { status: 'paused' });
    expectCode(await sendTest(sms, { recipient: '+35621000000' }), 'PROVIDER_NOT_CONFIGURED');
    expectCode(
      await sendTest(sms, { recipient: '+35621000000', provider_id: paused }),
      'PROVIDER_NOT_CONFIGURED',
    );
    await api('PATCH', `/v1/messaging-providers/${paused}`, { status: 'active' });
    expect((await sendTest(sms, { recipient: '+35621000000' })).data).toMatchObject({ status: 'sent' });
    for (const recipient of ['', 'nonsense', '+356\r\n21']) {
      expectCode(await sendTest(sms, { recipient }), 'VALIDATION_ERROR');
    }
    expectCode(await sendTest(sms, {}), 'VALIDATION_ERROR');
    expectCode(
      await sendTest(sms, { recipient: '+35621000000', player_id: UNKNOWN }),
      'PLAYER_NOT_FOUND',
      404,
    );
    for (const status of ['draft', 'archived']) {
      await api('PATCH', `/v1/templates/${sms}`, { status });
      expectCode(await sendTest(sms, { recipient: '+35621000000' }), 'TEMPLATE_NOT_ACTIVE');
    }
    const email_template = await make({ ...EMAIL, status: 'active' });
    for (const recipient of ['a@b.c\r\nBcc: d@e.f', 'a@b.c, d@e.f', 'X <a@b.c>', '+356']) {
      expectCode(await sendTest(email_template, { recipient }), 'VALIDATION_ERROR');
    }
  });

  it('is not sent to an address or player that must not get messages', async () => {
    const { postgres } = fixture.service.platform;
    const { tenant_id } = fixture.service;
    const provider_id = await makeProvider('email');
    const id = await make({ ...EMAIL, status: 'active' });
    const before = (await kept(provider_id)).length;
    const test = async (recipient: string, player_id?: string) =>
      (await sendTest(id, { recipient, provider_id, ...(player_id === undefined ? {} : { player_id }) }))
        .data;
    const refused = { status: 'failed', provider_message_id: null, sent_at: null };
    await postgres.service`insert into suppressions (tenant_id, channel, address, reason, created_at)
      values (${tenant_id}, 'email', 'gone@example.com', 'bounce', now())`;
    expect(await test('Gone@Example.com')).toMatchObject({ ...refused, error_code: 'SKIPPED_SUPPRESSED' });
    const excluded = await fixture.person();
    await api('PATCH', `/v1/players/${excluded}`, { status: 'self_excluded' });
    expect(await test('me@example.com', excluded)).toMatchObject({
      ...refused,
      error_code: 'SKIPPED_SELF_EXCLUDED',
    });
    const banned = await fixture.person();
    await api('PATCH', `/v1/players/${banned}`, { status: 'banned' });
    expect(await test('me@example.com', banned)).toMatchObject({ ...refused, error_code: 'SKIPPED_BANNED' });
    const cooling = await fixture.person();
    await postgres.service`update players set cooldown_until = now() + interval '1 hour' where player_id = ${cooling}`;
    expect(await test('me@example.com', cooling)).toMatchObject({
      ...refused,
      error_code: 'SKIPPED_COOLDOWN',
    });
    const unwilling = await fixture.person({ 'consent.email': false });
    expect(await test('me@example.com', unwilling)).toMatchObject({
      ...refused,
      error_code: 'SKIPPED_NO_CONSENT',
    });
    const deleted = await fixture.person();
    await api('DELETE', `/v1/players/${deleted}`);
    expect(await test('me@example.com', deleted)).toMatchObject({
      ...refused,
      error_code: 'SKIPPED_NO_RECIPIENT',
    });
    expect(await kept(provider_id)).toHaveLength(before);
  });

  it('ignores quiet hours and frequency caps', async () => {
    const messaging = {
      quiet_hours: { start: '00:00', end: '23:59', default_timezone: 'UTC' },
      frequency_caps: { email: { per_day: 0, per_week: 0 } },
    };
    const configured = await api('PATCH', '/v1/tenant/config', { config: { messaging } });
    expect(configured.status, configured.text).toBe(200);
    const id = await make({ ...EMAIL, status: 'active' });
    const player_id = await fixture.person();
    expect((await sendTest(id, { recipient: 'me@example.com', player_id })).data).toMatchObject({
      status: 'sent',
    });
  });

  it('fails when the rendered text is blank, cannot be rendered, or cannot be delivered', async () => {
    const provider_id = await makeProvider('email');
    const blank = await make({ ...EMAIL, body: '{% if nobody %}x{% endif %}', status: 'active' });
    const tested = await sendTest(blank, { recipient: 'me@example.com', provider_id });
    expect(tested.data).toMatchObject({ status: 'failed', error_code: 'TEMPLATE_FAILED', sent_at: null });
    expect((await preview(blank)).data).toMatchObject({ body: '' });
    const endless = await make({
      ...EMAIL,
      body: '{% for i in (1..99999999) %}x{% endfor %}',
      status: 'active',
    });
    const failed = await sendTest(endless, { recipient: 'me@example.com', provider_id });
    expect(failed.data).toMatchObject({ status: 'failed', error_code: 'TEMPLATE_FAILED' });
    const config = { host: '127.0.0.1', port: 1, from: 'Casino <a@b.example>' };
    const closed = await makeProvider('email', { kind: 'smtp', config });
    const fine = await make({ ...EMAIL, status: 'active' });
    const lost = await sendTest(fine, { recipient: 'me@example.com', provider_id: closed });
    expect(lost.data).toMatchObject({
      status: 'failed',
      error_code: 'PROVIDER_UNAVAILABLE',
      provider_id: closed,
    });
  });
});

it('a test message refuses players and providers of other tenants', async () => {
  const other = await fixture.service.newTenant();
  const theirs = await fixture.person({}, { external_id: 'theirs' }, other);
  const provider = await api('POST', '/v1/messaging-providers', { name: 'x', channel: 'email' }, other);
  const provider_id = String(provider.data['id']);
  await makeProvider('email');
  const id = await make({ ...EMAIL, status: 'active' });
  const recipient = 'me@example.com';
  expectCode(await sendTest(id, { recipient, player_id: theirs }), 'PLAYER_NOT_FOUND', 404);
  expectCode(await preview(id, { player_id: theirs }), 'PLAYER_NOT_FOUND', 404);
  expectCode(await sendTest(id, { recipient, provider_id }), 'VALIDATION_ERROR');
  const messages = await api('GET', `/v1/messaging-providers/${provider_id}/messages`, undefined, other);
  expect(messages.data).toEqual([]);
});

it('a viewer may preview templates but not change or test them', async () => {
  const { base_url, internal_secret, tenant_id } = fixture.service;
  const internal = async (path: string, body: Body) => {
    const headers = { 'x-internal-secret': internal_secret };
    const answer = await call(`${base_url}/v1/internal/${path}`, undefined, {
      method: 'POST',
      body,
      headers,
    });
    return answer.body.data as Record<string, string>;
  };
  await internal('memberships', { tenant_id, user_id: 'viewer', role: 'viewer' });
  const { session_token } = await internal('dev-sessions', { user_id: 'viewer' });
  const as = { ...fixture.service, session_token: session_token ?? '' };
  const id = await make({ ...EMAIL, status: 'active' });
  expect((await api('POST', `/v1/templates/${id}/preview`, {}, as)).status).toBe(200);
  const recipient = 'me@example.com';
  expect((await api('POST', `/v1/templates/${id}/send-test`, { recipient }, as)).status).toBe(403);
  expect((await api('PATCH', `/v1/templates/${id}`, { name: 'x' }, as)).status).toBe(403);
});
