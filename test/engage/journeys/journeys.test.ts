import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHeaders, type SealedValue } from '../../../src/engage/journeys/graph/webhook-headers.ts';
import { DecryptionFailed } from '../../../src/platform/encryption.ts';
import {
  awaits,
  end,
  graphOf,
  issuesOf,
  openJourneyFixture,
  wait,
  warningsOf,
  type JourneyFixture,
} from './journey-fixture.ts';

let f: JourneyFixture;
beforeAll(async () => {
  f = await openJourneyFixture();
});
afterAll(() => f?.fixture.close());

const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const get = (id: string) => f.api('GET', `/v1/journeys/${id}`);
const patch = (id: string, body: object, query = '') => f.api('PATCH', `/v1/journeys/${id}${query}`, body);
const activate = (id: string, body?: object) => f.api('POST', `/v1/journeys/${id}/activate`, body);
const pause = (id: string, body?: object) => f.api('POST', `/v1/journeys/${id}/pause`, body);
const versionsOf = async (id: string) =>
  ((await f.api('GET', `/v1/journeys/${id}/versions`)).body.data as unknown as { version: number }[]).map(
    ({ version }) => version,
  );
const watchedOf = (id: string) =>
  f.fixture.platform.postgres.service<{ version: number; event: string; kind: string }[]>`
    select version, event, kind from journey_watched where journey_id = ${id} order by version, kind, event`;
const liveOf = async (id: string) => {
  const [row] = await f.fixture.platform.postgres.service<
    { trigger_event: string | null; activated_at: Date | null; is_held: boolean }[]
  >`select trigger_event, activated_at, is_held from journeys where journey_id = ${id}`;
  return row;
};

describe('a journey', () => {
  it('is created as a draft', async () => {
    const answer = await f.api('POST', '/v1/journeys', f.body());
    expect(answer.status, answer.text).toBe(201);
    const { id, created_at, updated_at, ...rest } = answer.body.data;
    expect(rest).toEqual({
      ...f.body(),
      tenant_id: f.tenant.tenant_id,
      project_id: f.tenant.project_id,
      settings: {},
      status: 'draft',
      version: null,
      draft_version: 1,
      activated_at: null,
      paused_at: null,
      hold: false,
      last_error: null,
      deleted_at: null,
      warnings: [],
    });
    expect(created_at).toBe(updated_at);
    expect((await get(String(id).toUpperCase())).body).toEqual(answer.body);
    expect(await liveOf(String(id))).toEqual({ trigger_event: null, activated_at: null, is_held: false });
  });

  it('is listed without its graph, page by page', async () => {
    const ids = [await f.make({ name: 'first' }), await f.make({ name: 'second' })];
    const first = await f.api('GET', '/v1/journeys?limit=1');
    expect(first.body.data[0]?.['id']).toBe(ids[1]);
    expect(Object.keys(first.body.data[0] ?? {})).not.toContain('graph');
    const next = await f.api('GET', `/v1/journeys?limit=1&cursor=${String(first.body.meta['next_cursor'])}`);
    expect(next.body.data[0]?.['id']).toBe(ids[0]);
    const active = await f.makeActive();
    const found = await f.api('GET', '/v1/journeys?status=active&limit=200');
    const listed = found.body.data as unknown as { id: string; status: string }[];
    expect(listed.map(({ id }) => id)).toContain(active);
    expect(new Set(listed.map(({ status }) => status))).toEqual(new Set(['active']));
  });

  it('is refused with every fault, and a malformed body like every other', async () => {
    const graph = { start_node_id: 'x', nodes: [wait('nowhere')] };
    const answer = await f.api('POST', '/v1/journeys', f.body({ graph, settings: { goal: {} } }));
    expect(issuesOf(answer)).toEqual([
      'START_NODE_MISSING graph.start_node_id',
      'NEXT_NODE_MISSING graph.nodes.0.next',
      'FIELD_REQUIRED settings.goal.event',
      'FIELD_REQUIRED settings.goal.window_days',
    ]);
    expect(answer.body.error.message).toContain('"x"');
    for (const wrong of [{ graph: 'a' }, { name: ' ' }, { trigger: [] }, { colour: 1 }]) {
      const { status, body } = await f.api('POST', '/v1/journeys', f.body(wrong));
      expect([status, body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    }
    const computed = await f.api('POST', '/v1/journeys', f.body({ status: 'active' }));
    expect(computed.body.error.code).toBe('FIELD_NOT_WRITABLE');
  });

  it('is refused when hostile', async () => {
    const post = async (raw: string) => {
      const answer = await f.fixture.as(f.tenant.session, '/v1/journeys', { method: 'POST', raw });
      return [answer.status, answer.body.error.code];
    };
    const many = Array.from({ length: 51 }, (_, i) => ({ ...end, id: `n${i}` }));
    const body = f.body({ graph: { start_node_id: 'n0', nodes: many } });
    expect(await post(JSON.stringify(body))).toEqual([422, 'JOURNEY_GRAPH_INVALID']);
    expect(await post(`{"name":"x","trigger":{"__proto__":{}},"graph":{}}`)).toEqual([400, 'BODY_MALFORMED']);
    const big = JSON.stringify(f.body({ name: 'x'.repeat(10 * 1024 * 1024) }));
    expect(await post(big)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const deep = JSON.stringify(f.body()).replace(
      '{"kind"',
      `{"a":${'['.repeat(99)}${']'.repeat(99)},"kind"`,
    );
    expect(await post(deep)).toEqual([400, 'BODY_MALFORMED']);
  });

  it('calls no webhook inside the network', async () => {
    const nodes = [
      'http://169.254.169.254/x',
      'http://0xa.1:8080/',
      'ftp://example.com',
      'https://example.com',
    ].map((url, i) => ({ id: `n${i}`, type: 'call_webhook', url, next: 'end' }));
    const answer = await f.api('POST', '/v1/journeys', f.body({ graph: graphOf(...nodes) }));
    expect(issuesOf(answer)).toEqual([0, 1, 2].map((i) => `URL_NOT_ALLOWED graph.nodes.${i}.url`));
  });

  it('is not found under the id of another, or none', async () => {
    for (const id of [UNKNOWN, 'no-uuid']) {
      for (const [method, rest] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/activate'],
        ['POST', '/pause'],
        ['GET', '/versions'],
        ['GET', '/versions/1'],
        ['POST', '/versions/1/publish'],
      ] as const) {
        const answer = await f.api(method, `/v1/journeys/${id}${rest}`, method === 'PATCH' ? {} : undefined);
        expect([answer.status, answer.body.error?.code], `${method} ${rest}`).toEqual([
          404,
          'JOURNEY_NOT_FOUND',
        ]);
        expect(answer.body.error.message).toContain(id);
      }
    }
  });
});

describe('versions', () => {
  it('a draft is changed in place', async () => {
    const id = await f.make();
    const changed = await patch(id, {
      name: 'Other',
      graph: graphOf(wait('end', 'w2')),
      settings: { exit_on: [] },
    });
    expect(changed.body.data).toMatchObject({
      name: 'Other',
      version: null,
      graph: graphOf(wait('end', 'w2')),
    });
    expect(await versionsOf(id)).toEqual([]);
    expect(issuesOf(await patch(id, { trigger: { kind: 'moon' } }))).toEqual(['FIELD_INVALID trigger.kind']);
  });

  it('activation makes the first one, with what it watches', async () => {
    const settings = {
      exit_on: [{ event: 'withdrawal_confirmed' }],
      goal: { event: 'login', window_days: 7 },
    };
    const id = await f.make({ graph: graphOf(awaits('bet_placed')), settings });
    const answer = await activate(id);
    expect(answer.body.data).toMatchObject({ status: 'active', version: 1, draft_version: null });
    expect(await watchedOf(id)).toEqual([
      { version: 1, event: 'withdrawal_confirmed', kind: 'exit' },
      { version: 1, event: 'login', kind: 'goal' },
      { version: 1, event: 'bet_placed', kind: 'wait' },
    ]);
    const live = await liveOf(id);
    expect(live).toMatchObject({ trigger_event: 'deposit_confirmed' });
    expect(live?.activated_at).toBeInstanceOf(Date);
    const read = await f.api('GET', `/v1/journeys/${id}/versions/1`);
    expect(read.body.data).toMatchObject({ version: 1, settings, graph: graphOf(awaits('bet_placed')) });
    expect(read.body.data['published_by']).not.toBeNull();
  });

  it('a change of an active journey is the next version, a name or a draft is none', async () => {
    const id = await f.makeActive();
    const before = await liveOf(id);
    await patch(id, { name: 'Renamed' });
    const draft = await patch(id, { graph: graphOf(wait('end', 'w2')) }, '?draft=true');
    expect(draft.body.data).toMatchObject({ name: 'Renamed', version: 1, draft_version: 2 });
    expect(await versionsOf(id)).toEqual([1]);
    const published = await f.api('POST', `/v1/journeys/${id}/versions/2/publish`);
    expect(published.body.data).toMatchObject({
      version: 2,
      draft_version: null,
      graph: graphOf(wait('end', 'w2')),
    });
    expect((await liveOf(id))?.activated_at).toEqual(before?.activated_at);
    const third = await patch(id, { trigger: { kind: 'api' } });
    expect(third.body.data).toMatchObject({ version: 3, status: 'active' });
    expect(await liveOf(id)).toMatchObject({ trigger_event: null });
    expect((await liveOf(id))?.activated_at).not.toEqual(before?.activated_at);
  });

  it('a change of an active journey does not publish parts of a draft that it does not name', async () => {
    const id = await f.makeActive();
    const drafted = { trigger: { kind: 'api' }, graph: graphOf(wait('end', 'drafted')) };
    expect((await patch(id, drafted, '?draft=true')).body.data).toMatchObject({
      ...drafted,
      draft_version: 2,
    });
    await patch(id, { name: 'The draft stays' });
    expect((await get(id)).body.data).toMatchObject({ ...drafted, version: 1 });
    const settings = { re_entry: { mode: 'always' } };
    const live = { version: 2, draft_version: null, settings, graph: graphOf(wait()) };
    expect((await patch(id, { settings })).body.data).toMatchObject(live);
    const second = await f.api('GET', `/v1/journeys/${id}/versions/2`);
    const trigger = { kind: 'event', event: 'deposit_confirmed' };
    expect(second.body.data).toMatchObject({ settings, trigger, graph: graphOf(wait()) });
    // A draft of a draft is made of it.
    await patch(id, { graph: drafted.graph }, '?draft=true');
    const more = await patch(id, { trigger: drafted.trigger }, '?draft=true');
    expect(more.body.data).toMatchObject({ ...drafted, version: 2, draft_version: 3 });
  });

  it('a version can be published again, under the next number', async () => {
    const id = await f.makeActive();
    await patch(id, { graph: graphOf(wait('end', 'w2')) });
    const back = await f.api('POST', `/v1/journeys/${id}/versions/1/publish`);
    expect(back.body.data).toMatchObject({ version: 3, graph: graphOf(wait()), status: 'active' });
    expect(await versionsOf(id)).toEqual([3, 2, 1]);
    const page = await f.api('GET', `/v1/journeys/${id}/versions?limit=2`);
    const rest = await f.api(
      'GET',
      `/v1/journeys/${id}/versions?limit=2&cursor=${String(page.body.meta['next_cursor'])}`,
    );
    expect(rest.body.data[0]).toMatchObject({ version: 1, running: 0 });
    for (const n of ['4', '0', 'x', '99999999999']) {
      const answer = await f.api('POST', `/v1/journeys/${id}/versions/${n}/publish`);
      expect([answer.status, answer.body.error.code]).toEqual([404, 'JOURNEY_VERSION_NOT_FOUND']);
    }
  });

  it('two changes at once are two versions', async () => {
    const id = await f.makeActive();
    const answers = await Promise.all(
      ['a', 'b'].map((one) => patch(id, { graph: graphOf(wait('end', one)) })),
    );
    expect(new Set(answers.map(({ body }) => body.data['version']))).toEqual(new Set([2, 3]));
    expect(await versionsOf(id)).toEqual([3, 2, 1]);
    const shown = (await get(id)).body.data;
    const third = await f.api('GET', `/v1/journeys/${id}/versions/3`);
    expect(shown['graph']).toEqual(third.body.data['graph']);
    expect(shown['draft_version']).toBeNull();
  });

  it('paused, it is saved, and activation publishes what has changed', async () => {
    const id = await f.makeActive();
    expect((await pause(id)).body.data).toMatchObject({ status: 'paused', hold: false });
    expect((await activate(id)).body.data).toMatchObject({ status: 'active', version: 1, paused_at: null });
    await pause(id, { hold: true });
    expect(await liveOf(id)).toMatchObject({ is_held: true });
    await patch(id, { graph: graphOf(wait('end', 'w2')) });
    expect(await versionsOf(id)).toEqual([1]);
    expect((await activate(id, { resume: 'skip' })).body.data).toMatchObject({ version: 2, hold: false });
  });

  it('the wrong status is a conflict', async () => {
    const draft = await f.make();
    const active = await f.makeActive();
    const paused = await f.makeActive();
    await pause(paused);
    for (const answer of [await pause(draft), await activate(active), await pause(paused)]) {
      expect([answer.status, answer.body.error.code]).toEqual([409, 'JOURNEY_INVALID_STATUS']);
    }
  });
});

describe('what a journey refers to', () => {
  const send = (template_id: string, provider_id: string, id = 'send') => ({
    id,
    type: 'send_message',
    template_id,
    provider_id,
    next: 'end',
  });
  const make = async (path: string, body: object) =>
    String((await f.api('POST', path, body)).body.data['id']);
  const template = (status: string) =>
    make('/v1/templates', { name: 'T', channel: 'email', status, subject: 'S', body: 'B' });
  const provider = (channel: string) =>
    make('/v1/messaging-providers', { name: 'P', kind: 'sandbox', channel });

  it('is warned of while it is saved, and refused when it goes live', async () => {
    const graph = graphOf({ ...send('not-even-an-id', UNKNOWN) });
    const settings = { exit_on: [{ segment_exited: UNKNOWN }] };
    const id = await f.make({ graph, settings });
    const codes = ['TEMPLATE_NOT_FOUND', 'PROVIDER_NOT_FOUND', 'SEGMENT_NOT_FOUND'];
    expect(warningsOf(await get(id))).toEqual(codes);
    expect(issuesOf(await activate(id))).toEqual([
      'TEMPLATE_NOT_FOUND graph.nodes.0.template_id',
      'PROVIDER_NOT_FOUND graph.nodes.0.provider_id',
      'SEGMENT_NOT_FOUND settings.exit_on.0.segment_exited',
    ]);
    expect((await get(id)).body.data['status']).toBe('draft');
    const active = await f.makeActive();
    expect(issuesOf(await patch(active, { graph }))).toHaveLength(2);
    expect((await get(active)).body.data).toMatchObject({ version: 1, graph: graphOf(wait()) });
    expect(warningsOf(await patch(active, { graph }, '?draft=true'))).toHaveLength(2);
  });

  it('must be active and of one channel', async () => {
    const ids = [
      await template('draft'),
      await template('active'),
      await provider('sms'),
      await provider('email'),
    ];
    const [draft = '', usable = '', sms = '', email = ''] = ids;
    const refused = await f.make({ graph: graphOf(send(draft, email, 'a'), send(usable, sms, 'b')) });
    expect(issuesOf(await activate(refused))).toEqual([
      'TEMPLATE_NOT_ACTIVE graph.nodes.0.template_id',
      'CHANNEL_MISMATCH graph.nodes.1.provider_id',
    ]);
    const id = await f.makeActive({ graph: graphOf(send(usable.toUpperCase(), email)) });
    expect(warningsOf(await get(id))).toEqual([]);
    // What is deleted later fails at its next send; the journey goes on.
    await f.api('DELETE', `/v1/templates/${usable}`);
    expect(warningsOf(await get(id))).toEqual(['TEMPLATE_NOT_FOUND']);
    expect((await get(id)).body.data['status']).toBe('active');
  });

  it('a stored definition that can no longer be read says why', async () => {
    const id = await f.makeActive();
    const { service } = f.fixture.platform.postgres;
    const graph = JSON.stringify(graphOf({ id: 'old', type: 'of_the_past' }));
    await service`update journeys set graph = ${graph}::text::jsonb where journey_id = ${id}`;
    expect(warningsOf(await get(id))).toEqual(['UNKNOWN_NODE_TYPE']);
    await pause(id);
    expect(issuesOf(await activate(id))).toEqual(['UNKNOWN_NODE_TYPE graph.nodes.0.type']);
    expect((await patch(id, { graph: graphOf(wait()) })).status).toBe(200);
    expect((await activate(id)).status).toBe(200);
  });
});

it.each([
  ['POST', '', { trigger: {}, graph: {} }, 'name: is required'],
  ['POST', '', { name: 7, trigger: {}, graph: {} }, 'name: must be a string'],
  ['POST', '', { name: 'A', trigger: {}, graph: [] }, 'graph: must be an object'],
  ['POST', `/${UNKNOWN}/activate`, { resume: 'never' }, 'resume: must be one of run, skip, not "never"'],
  ['POST', `/${UNKNOWN}/pause`, { hold: 'yes' }, 'hold: must be true or false'],
  ['POST', `/${UNKNOWN}/trigger`, { player_id: 'x' }, 'player_id: must be a UUID'],
  ['GET', `/${UNKNOWN}/runs?player_id=x`, undefined, 'player_id: must be a UUID'],
  ['POST', `/${UNKNOWN}/runs/cancel`, { version: 1.5 }, 'version: must be a whole number'],
])('%s /v1/journeys%s with %o is refused in plain words', async (method, path, body, message) => {
  const answer = await f.api(method, `/v1/journeys${path}`, body);
  expect([answer.status, answer.body.error]).toMatchObject([422, { code: 'VALIDATION_ERROR', message }]);
});

it('POST /v1/journeys/:id/runs/cancel needs no body', async () => {
  const answer = await f.api('POST', `/v1/journeys/${UNKNOWN}/runs/cancel`);
  expect([answer.status, answer.body.error]).toMatchObject([404, { code: 'JOURNEY_NOT_FOUND' }]);
});

describe('values in headers of webhooks', () => {
  const calling = (headers: object, id = 'call', url = 'https://example.com/x') => ({
    id,
    type: 'call_webhook',
    url,
    headers,
    next: 'end',
  });
  const own = { Authorization: 'Bearer s3cret', 'X-Own': 'also-s3cret' };
  const masked = { Authorization: '***', 'X-Own': '***' };
  const sql = () => f.fixture.platform.postgres.service;
  const storedOf = async (id: string) => {
    const [row] = await sql()<{ graph: { nodes: ReturnType<typeof calling>[] } }[]>`
      select graph from journeys where journey_id = ${id}`;
    return row?.graph ?? { nodes: [] };
  };
  const openedOf = async (id: string) => {
    const [node] = (await storedOf(id)).nodes;
    const { url, headers } = node as { url: string; headers: Record<string, SealedValue> };
    return openHeaders(f.fixture.deps.credentials_keys, f.tenant, { url, headers });
  };

  it('are shown nowhere, whatever their name, stored encrypted, and kept when their mask comes back', async () => {
    const id = await f.make({ graph: graphOf(calling(own)) });
    const shown = await get(id);
    expect(shown.body.data['graph']).toEqual(graphOf(calling(masked)));
    // The graph as it was shown, with another path on the same host.
    const url = 'https://example.com:443/new';
    const changed = await patch(id, { graph: graphOf(calling(masked, 'call', url)) });
    expect(changed.body.data['graph']).toEqual(graphOf(calling(masked, 'call', url)));
    expect(await openedOf(id)).toEqual(own);
    await patch(id, { graph: graphOf(calling({ ...masked, Authorization: 'Bearer 0ther' }, 'call', url)) });
    expect(await openedOf(id)).toEqual({ ...own, Authorization: 'Bearer 0ther' });
    expect((await patch(id, { name: 'Another name' })).body.data['draft_version']).toBe(1);
    // As it was published; the references of the graph are of no interest here.
    await sql()`
      insert into journey_versions (tenant_id, project_id, journey_id, version, trigger, graph, settings, published_at)
      select tenant_id, project_id, journey_id, 1, trigger, graph, settings, now() from journeys where journey_id = ${id}`;
    const version = await f.api('GET', `/v1/journeys/${id}/versions/1`);
    expect(version.body.data['graph']).toEqual(graphOf(calling(masked, 'call', url)));
    const audited = await f.api('GET', `/v1/audit-log?resource_id=${id}`);
    expect(audited.body.data).toHaveLength(4);
    expect(audited.text).toContain('"credentials_changed":true');
    const stored = JSON.stringify(await storedOf(id));
    const texts = [shown, changed, version, audited].map(({ text }) => text).join() + stored;
    for (const value of ['s3cret', '0ther']) expect(texts).not.toContain(value);
  });

  it.each([
    ['another scheme', 'http://example.com/x'],
    ['another host', 'https://attacker.example/x'],
    ['another port', 'https://example.com:8443/x'],
    ['a part of the host as name', 'https://example.com.attacker.example/x'],
  ])('must be given again when the node calls %s', async (_what, url) => {
    const id = await f.make({ graph: graphOf(calling(own)) });
    const before = await storedOf(id);
    const moved = await patch(id, { graph: graphOf(calling({ ...masked, 'X-Own': 'given' }, 'call', url)) });
    expect([moved.status, issuesOf(moved)]).toEqual([
      422,
      ['FIELD_INVALID graph.nodes.0.headers.Authorization'],
    ]);
    expect(moved.text).toMatch(/must be given again: the stored value is for https:\/\/example\.com,/);
    expect(await storedOf(id)).toEqual(before);
    if (!url.startsWith('https:')) return;
    expect((await patch(id, { graph: graphOf(calling(own, 'call', url)) })).status).toBe(200);
    expect(await openedOf(id)).toEqual(own);
  });

  it('are sealed for their address: a row with another one opens nothing', async () => {
    const id = await f.make({ graph: graphOf(calling(own)) });
    const [node] = (await storedOf(id)).nodes;
    const headers = node?.headers as Record<string, SealedValue>;
    const keys = f.fixture.deps.credentials_keys;
    for (const url of ['https://attacker.example/', 'http://example.com/x', 'https://example.com:8443/']) {
      expect(() => openHeaders(keys, f.tenant, { url, headers }), url).toThrow(DecryptionFailed);
    }
    const swapped = { Authorization: headers['X-Own'] ?? { sealed: '' } };
    expect(() => openHeaders(keys, f.tenant, { url: 'https://example.com/', headers: swapped })).toThrow(
      DecryptionFailed,
    );
  });

  it('a mask without a stored value is refused, and what only the service writes', async () => {
    const refused = ['Authorization', 'X-Own'].map((name) => `FIELD_INVALID graph.nodes.0.headers.${name}`);
    const made = await f.api('POST', '/v1/journeys', f.body({ graph: graphOf(calling(masked)) }));
    expect([made.status, issuesOf(made)]).toEqual([422, refused]);
    const id = await f.make({ graph: graphOf(calling(own)) });
    const other_node = await patch(id, { graph: graphOf(calling(masked, 'other')) });
    expect(issuesOf(other_node)).toEqual(refused);
    const other_header = await patch(id, { graph: graphOf(calling({ Cookie: '***' })) });
    expect(issuesOf(other_header)).toEqual(['FIELD_INVALID graph.nodes.0.headers.Cookie']);
    const forged = await patch(id, { graph: graphOf(calling({ 'X-Own': { sealed: 'AAAA' } })) });
    expect([forged.status, forged.text.includes('graph.nodes.0.headers')]).toEqual([422, true]);
  });

  it('go to nobody in clear: a URL without TLS is refused, except on this machine in development', async () => {
    const plain = await f.api(
      'POST',
      '/v1/journeys',
      f.body({ graph: graphOf(calling({}, 'a', 'http://example.com/')) }),
    );
    expect(issuesOf(plain)).toEqual(['URL_NOT_ALLOWED graph.nodes.0.url']);
    expect(plain.text).toContain('must begin with https://');
    await f.make({ graph: graphOf(calling({}, 'a', 'http://127.0.0.1:9/')) });
  });
});

it('every change is in the audit log', async () => {
  const id = await f.makeActive();
  await patch(id, { graph: graphOf(wait('end', 'w2')) });
  await f.api('POST', `/v1/journeys/${id}/versions/1/publish`);
  const body = { from_version: 1, to_version: 2, unmapped: 'stay', dry_run: false };
  expect((await f.api('POST', `/v1/journeys/${id}/migrate-runs`, body)).status).toBe(200);
  await pause(id);
  await f.api('DELETE', `/v1/journeys/${id}`);
  const rows = (await f.api('GET', `/v1/audit-log?resource_id=${id}`)).body.data as unknown as {
    action: string;
  }[];
  expect(rows.map(({ action }) => action).reverse()).toEqual([
    'create',
    'activate',
    'update',
    'publish',
    'migrate',
    'pause',
    'delete',
  ]);
});
