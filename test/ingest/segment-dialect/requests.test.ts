import { gzipSync, deflateSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { userHashOf } from '../../../src/http/auth/client-secret.ts';
import { callApp } from '../../engines/http-client.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { basicOf, openDialectHost, type DialectHost } from './dialect-host.ts';

let fixture: Fixture;
let host: DialectHost;
let tenant: Tenant;
let page: { key: string; client_secret: string };
beforeAll(async () => {
  fixture = await sharedFixture();
  host = await openDialectHost(fixture);
  tenant = await fixture.makeTenant();
  const { data } = await fixture.as(tenant.session, `/v1/projects/${tenant.project_id}/api-keys`, {
    method: 'POST',
    body: { name: 'page', kind: 'client', allowed_origins: ['https://casino.test'] },
  });
  page = { key: String(data['key']), client_secret: String(data['client_secret']) };
});
afterAll(async () => {
  await host?.close();
  await fixture?.close();
});
beforeEach(() => {
  host.takeAppended();
  host.rejections.length = 0;
});

const track = { type: 'track', anonymousId: 'visitor', event: 'Clicked' };
const player = async (player_id: string) =>
  (await fixture.as(tenant.session, `/v1/players/${player_id}`)).data;
/** The player of an event with this userId or anonymousId. */
async function playerOf(ids: object): Promise<string> {
  await host.post(tenant.api_key, '/v1/track', { event: 'who', ...ids });
  const event = host.takeAppended().at(-1)?.event;
  if (event?.player_id !== undefined) return event.player_id;
  const body = { anonymous_id: event?.anonymous_id };
  return String((await fixture.as(tenant.api_key, '/v1/players/identify', { body })).data['player_id']);
}

describe('a key', () => {
  it('is the user of Basic, else writeKey in the body, else a bearer token', async () => {
    const statusOf = async (headers: Record<string, string>, body: object) =>
      (await host.post(undefined, '/v1/track', { ...track, ...body }, { headers })).status;
    const [good, bad] = [tenant.api_key, `${tenant.api_key.slice(0, -4)}AAAA`];
    expect(await statusOf({ authorization: basicOf(good) }, {})).toBe(200);
    expect(await statusOf({}, { writeKey: good })).toBe(200);
    expect(await statusOf({ authorization: `Bearer ${good}` }, {})).toBe(200);
    expect(await statusOf({ authorization: `Bearer ${bad}` }, { writeKey: good })).toBe(200);
    expect(await statusOf({ authorization: basicOf(bad) }, { writeKey: good })).toBe(401);
    expect(await statusOf({ authorization: basicOf('') }, { writeKey: good })).toBe(401);
    expect(await statusOf({ authorization: `Bearer ${good}` }, { writeKey: bad })).toBe(401);
    for (const writeKey of [bad, 7, {}, '']) expect(await statusOf({}, { writeKey })).toBe(401);
    expect(await statusOf({}, {})).toBe(401);
  });

  it('that is refused is named in the answer, at the top level, too', async () => {
    const { status, body, headers } = await host.post('svc_none', '/v1/batch', { batch: [track] });
    expect(status).toBe(401);
    expect(body).toMatchObject({ success: false, code: 'UNAUTHORIZED', error: { code: 'UNAUTHORIZED' } });
    expect((body as unknown as { message: string }).message).toMatch(/\S/);
    // A browser would ask its user for a password.
    expect(headers.get('www-authenticate')).not.toMatch(/basic/i);
  });
});

describe('a body', () => {
  it('is JSON under any type or none, plain or compressed', async () => {
    const text = JSON.stringify({ batch: [track, track], writeKey: tenant.api_key });
    const types = [
      'application/json',
      'text/plain;charset=UTF-8',
      'application/x-www-form-urlencoded',
      undefined,
    ];
    for (const type of types) {
      const headers = { 'content-type': type };
      expect((await host.post(undefined, '/v1/import/', text, { headers })).status, type).toBe(200);
      for (const [encoding, pack] of [
        ['gzip', gzipSync],
        ['deflate', deflateSync],
      ] as const) {
        const request = { headers: { ...headers, 'content-encoding': encoding }, raw: pack(text) };
        expect((await host.post(undefined, '/v1/import/', text, request)).status, type).toBe(200);
      }
    }
    expect(host.takeAppended()).toHaveLength(types.length * 6);
  });

  it('of another shape or size is refused', async () => {
    const refusalOf = async (path: string, body: unknown) => {
      const { status, body: answer } = await host.post(tenant.api_key, path, body);
      return [status, (answer as unknown as { code: string }).code];
    };
    for (const body of ['', '{', '[]', '"x"', 'null']) {
      expect(await refusalOf('/v1/track', body)).toEqual([400, 'BODY_MALFORMED']);
      expect(await refusalOf('/v1/batch', body)).toEqual([400, 'BODY_MALFORMED']);
    }
    expect(await refusalOf('/v1/batch', track)).toEqual([400, 'BODY_MALFORMED']);
    expect(await refusalOf('/v1/batch', { batch: [] })).toEqual([400, 'VALIDATION_ERROR']);
    const many = Array.from({ length: 2_501 }, () => track);
    expect(await refusalOf('/v1/batch', { batch: many })).toEqual([400, 'VALIDATION_ERROR']);
    expect((await host.post(tenant.api_key, '/v1/batch', { batch: many.slice(1) })).status).toBe(200);
    const long = { ...track, properties: { text: 'x'.repeat(1024 * 1024) } };
    expect(await refusalOf('/v1/track', long)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const packed = { raw: gzipSync(JSON.stringify(long)), headers: { 'content-encoding': 'gzip' } };
    expect((await host.post(tenant.api_key, '/v1/track', '', packed)).status).toBe(413);
  });

  it('with calls that are refused says which, and keeps them', async () => {
    const large = { ...track, properties: { text: 'x'.repeat(33_000) } };
    const batch = [track, { ...track, event: '!' }, large, { type: 'none' }, { ...track, anonymousId: null }];
    const { status, body } = await host.post(tenant.api_key, '/v1/batch', { batch });
    expect(status).toBe(200);
    const { success, rejected } = body as unknown as { success: boolean; rejected: { code: string }[] };
    expect(success).toBe(true);
    expect(rejected).toEqual([
      { index: 1, code: 'PROPERTIES_INVALID', reason: expect.any(String) as string },
      { index: 2, code: 'PAYLOAD_TOO_LARGE', reason: expect.any(String) as string },
      { index: 3, code: 'VALIDATION_ERROR', reason: expect.any(String) as string },
      { index: 4, code: 'IDENTITY_REQUIRED', reason: expect.any(String) as string },
    ]);
    expect(host.takeAppended()).toHaveLength(1);
    expect(host.rejections.map(({ code, index }) => [index, code])).toEqual(
      rejected.map((row, i) => [[1, 2, 3, 4][i], row.code]),
    );
  });

  it('of which nothing is accepted is refused, so that the client reports it', async () => {
    const { status, body } = await host.post(tenant.api_key, '/v1/batch', { batch: [{ type: 'none' }, 7] });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      success: false,
      code: 'VALIDATION_ERROR',
      error: {
        code: 'VALIDATION_ERROR',
        details: { rejected: [{ index: 0 }, { index: 1, code: 'BODY_MALFORMED' }] },
      },
    });
    expect(host.rejections).toHaveLength(2);
    const single = await host.post(tenant.api_key, '/v1/track', { ...track, event: '' });
    expect([single.status, single.code]).toEqual([400, 'PROPERTIES_INVALID']);
    expect(host.rejections).toHaveLength(3);
  });

  it('of a client key with a forbidden event is 403, in a batch a rejected row', async () => {
    const login = { ...track, event: 'login' };
    const single = await host.post(page.key, '/v1/track', login);
    expect([single.status, single.code]).toEqual([403, 'KEY_KIND_FORBIDDEN']);
    expect(host.rejections).toHaveLength(1);
    const mixed = await host.post(page.key, '/v1/batch', { batch: [login, track] });
    expect(mixed.body).toMatchObject({ success: true, rejected: [{ index: 0, code: 'KEY_KIND_FORBIDDEN' }] });
    const all = await host.post(page.key, '/v1/batch', { batch: [login] });
    expect([all.status, all.code]).toEqual([400, 'KEY_KIND_FORBIDDEN']);
  });
});

describe('pages', () => {
  const origin = 'https://casino.test';

  it('ask for the settings of a client key alone', async () => {
    const get = (key: string, headers = {}) =>
      callApp(host.app, `/v1/projects/${key}/settings`, undefined, {
        headers: { host: 'in.test:81', ...headers },
      });
    const { status, body, headers } = await get(page.key, { origin });
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(body).toEqual({
      integrations: { 'Segment.io': { apiKey: page.key, apiHost: 'in.test:81/v1', protocol: 'http' } },
      plan: { track: { __default: { enabled: true, integrations: {} } } },
      metrics: { sampleRate: 0 },
      middlewareSettings: {},
      enabledMiddleware: {},
      remotePlugins: [],
      legacyVideoPluginsEnabled: false,
    });
    for (const key of [tenant.api_key, 'none', `${page.key.slice(0, -4)}AAAA`])
      expect((await get(key)).status).toBe(404);
    host.dialect.publicHost = { protocol: 'https', host: 'in.casino.test' };
    const public_host = await openDialectHost(fixture, { publicHost: host.dialect.publicHost });
    const answer = await callApp(public_host.app, `/v1/projects/${page.key}/settings`, undefined);
    expect(answer.body).toMatchObject({
      integrations: { 'Segment.io': { apiHost: 'in.casino.test/v1', protocol: 'https' } },
    });
    await public_host.close();
  });

  it('send from an allowed origin, after a preflight', async () => {
    for (const path of ['/v1/t', '/v1/b', '/v1/batch/', '/v1/m']) {
      const preflight = await callApp(host.app, path, undefined, {
        method: 'OPTIONS',
        headers: { origin: 'https://any.test', 'access-control-request-method': 'POST' },
      });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get('access-control-max-age')).toBe('7200');
      expect(preflight.headers.get('access-control-allow-headers')).toBe(
        'authorization, content-type, x-retry-count',
      );
    }
    const from = async (from_origin: string | undefined) =>
      (await host.post(page.key, '/v1/t', track, { headers: { origin: from_origin } })).status;
    expect([
      await from(origin),
      await from('https://evil.test'),
      await from('null'),
      await from(undefined),
    ]).toEqual([200, 403, 403, 200]);
    const metrics = await host.post(undefined, '/v1/m', '{"series":[]}', { headers: { origin } });
    expect([metrics.status, host.takeAppended().length]).toEqual([200, 2]);
  });

  it('of one address send 400 calls at once', async () => {
    const batch = Array.from({ length: 400 }, () => track);
    const other = await fixture.makeTenant();
    const { data } = await fixture.as(other.session, `/v1/projects/${other.project_id}/api-keys`, {
      method: 'POST',
      body: { name: 'page', kind: 'client' },
    });
    const key = String(data['key']);
    expect((await host.post(key, '/v1/batch', { batch })).status).toBe(200);
    const { status, headers, body } = await host.post(key, '/v1/batch', { batch });
    expect([status, (body as unknown as { code: string }).code]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('identify', () => {
  const identify = (body: object) => host.post(tenant.api_key, '/v1/identify', body);

  it('makes the player, binds the anonymous id and writes the traits', async () => {
    const traits = { email: 'ann@example.com', firstName: 'Ann', plan: 'gold' };
    expect((await identify({ userId: 'i-1', anonymousId: 'i-1-a', traits })).text).toBe('{"success":true}');
    const player_id = await playerOf({ userId: 'i-1' });
    expect(await playerOf({ anonymousId: 'i-1-a' })).toBe(player_id);
    expect(await player(player_id)).toMatchObject({
      external_id: 'i-1',
      email: 'ann@example.com',
      custom_attributes: { first_name: 'Ann', plan: 'gold' },
    });
    expect(host.takeAppended()).toEqual([]);
  });

  it('older than the last one overwrites nothing, and fills what is not known', async () => {
    const at = (minute: number) => `2026-01-01T12:0${minute}:00.000Z`;
    await identify({
      userId: 'i-2',
      timestamp: at(5),
      traits: { email: 'new@example.com', plan: 'new', gone: 1 },
    });
    await identify({ userId: 'i-2', timestamp: at(6), traits: { plan: 'new' } });
    await identify({
      userId: 'i-2',
      timestamp: at(4),
      traits: { email: 'old@example.com', plan: 'old', gone: null, phone: '+447700900123', city: 'Rome' },
    });
    const player_id = await playerOf({ userId: 'i-2' });
    expect(await player(player_id)).toMatchObject({
      email: 'new@example.com',
      phone: '+447700900123',
      custom_attributes: { plan: 'new', gone: 1, city: 'Rome' },
    });
    // Equal traits are known anew, too: of 12:06 here.
    await identify({ userId: 'i-2', timestamp: at(5), traits: { plan: 'between' } });
    expect(await player(player_id)).toMatchObject({ custom_attributes: { plan: 'new' } });
    await identify({ userId: 'i-2', timestamp: at(7), traits: { plan: 'newest' } });
    expect(await player(player_id)).toMatchObject({ custom_attributes: { plan: 'newest' } });
    // The native endpoint says what is known now.
    const body = { external_id: 'i-2', traits: { plan: 'native' } };
    await fixture.as(tenant.api_key, '/v1/players/identify', { body });
    await identify({ userId: 'i-2', timestamp: at(8), traits: { plan: 'late' } });
    expect(await player(player_id)).toMatchObject({ custom_attributes: { plan: 'native' } });
  });

  it('that is refused is a rejected row, and the others are done', async () => {
    const batch = [
      { type: 'identify', userId: 'i-3', traits: { email: 7 } },
      { type: 'identify', userId: 'i-3', traits: { plan: 'x' } },
    ];
    const { body } = await host.post(tenant.api_key, '/v1/batch', { batch });
    expect(body).toMatchObject({ success: true, rejected: [{ index: 0, code: 'VALIDATION_ERROR' }] });
    expect(await player(await playerOf({ userId: 'i-3' }))).toMatchObject({
      custom_attributes: { plan: 'x' },
    });
  });

  it('of a client key needs the user_hash for contacts of a known player', async () => {
    await identify({ userId: 'i-4', traits: { email: 'own@example.com' } });
    const player_id = await playerOf({ userId: 'i-4' });
    const send = (context: object) =>
      host.post(page.key, '/v1/i', { userId: 'i-4', traits: { email: 'thief@example.com' }, context });
    expect((await send({ user_hash: 'wrong' })).status).toBe(200);
    expect(await player(player_id)).toMatchObject({ email: 'own@example.com' });
    expect((await send({ user_hash: userHashOf(page.client_secret, 'i-4') })).status).toBe(200);
    expect(await player(player_id)).toMatchObject({ email: 'thief@example.com' });
  });

  it('of a page without a proof does not make what the servers say older', async () => {
    await host.post(page.key, '/v1/i', { userId: 'i-5', traits: { plan: 'page' } });
    await identify({ userId: 'i-5', timestamp: '2026-01-01T12:00:00Z', traits: { plan: 'server' } });
    expect(await player(await playerOf({ userId: 'i-5' }))).toMatchObject({
      custom_attributes: { plan: 'server' },
    });
  });
});

describe('ids', () => {
  it('of a call that is no identify bind nothing', async () => {
    await host.post(tenant.api_key, '/v1/track', { userId: 'b-1', anonymousId: 'b-1-a', event: 'x' });
    expect(await playerOf({ anonymousId: 'b-1-a' })).not.toBe(await playerOf({ userId: 'b-1' }));
  });

  it('are linked by alias, but two known accounts are not merged', async () => {
    const alias = (userId: string, previousId: string) =>
      host.post(tenant.api_key, '/v1/alias', { userId, previousId });
    const conflicts = async () => {
      const { values } = await fixture.platform.metrics.identityConflicts.get();
      return values[0]?.value ?? 0;
    };
    const before = await conflicts();
    expect((await alias('c-1', 'c-1-a')).status).toBe(200);
    const first = await playerOf({ userId: 'c-1' });
    expect(await playerOf({ anonymousId: 'c-1-a' })).toBe(first);
    const second = await playerOf({ userId: 'c-2' });
    expect(await conflicts()).toBe(before);
    expect((await alias('c-2', 'c-1')).status).toBe(200);
    expect(await conflicts()).toBe(before + 1);
    expect([await playerOf({ userId: 'c-1' }), await playerOf({ userId: 'c-2' })]).toEqual([first, second]);
    expect(
      (await host.post(tenant.api_key, '/v1/identify', { userId: 'c-2', anonymousId: 'c-1-a' })).status,
    ).toBe(200);
    expect(await conflicts()).toBe(before + 2);
  });

  it('are the same in two projects, for two players', async () => {
    const other = await fixture.makeTenant();
    const first = await playerOf({ userId: 'shared' });
    await host.post(other.api_key, '/v1/track', { userId: 'shared', event: 'x' });
    expect(host.takeAppended().at(-1)?.event.player_id).not.toBe(first);
  });
});

describe('names of the project', () => {
  it('are those of its configuration', async () => {
    const patch = (segment_events: object | null) =>
      fixture.as(tenant.session, '/v1/tenant/config', {
        method: 'PATCH',
        body: { config: { segment_events } },
      });
    const sent = async () => {
      await host.post(tenant.api_key, '/v1/track', { ...track, event: 'Signed Up' });
      return host.takeAppended().at(-1)?.event.event;
    };
    expect(await sent()).toBe('custom_signed_up');
    expect((await patch({ 'Signed Up': 'signup', Other: 'custom_other' })).status).toBe(200);
    expect(await sent()).toBe('signup');
    const refused = await patch({ 'Signed Up': 'no_such_event' });
    expect([refused.status, refused.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect((await patch({ [tenant.project_id]: { 'Signed Up': 'login' } })).status).toBe(200);
    expect(await sent()).toBe('login');
    expect((await patch({ 'Signed Up': null, [tenant.project_id]: null })).status).toBe(200);
    expect(await sent()).toBe('custom_signed_up');
    expect((await fixture.as(tenant.session, '/v1/tenant/config')).data['config']).toMatchObject({
      segment_events: { Other: 'custom_other' },
    });
  });
});
