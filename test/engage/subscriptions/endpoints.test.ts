import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

const PATH = '/v1/event-subscriptions';
const BODY = {
  name: 'warehouse',
  url: 'https://example.com/events',
  events: ['tier.changed', 'segment.left'],
};
let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
});
afterAll(async () => fixture?.close());
beforeEach(async () => {
  tenant = await fixture.makeTenant();
});

const as = (path: string, method = 'GET', body?: unknown, headers = {}) =>
  fixture.as(tenant.session, PATH + path, { method, body, headers });
async function make(rest: object = {}): Promise<{ id: string; secret: string }> {
  const answer = await as('', 'POST', { ...BODY, ...rest });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.data as { id: string; secret: string };
}

describe('event subscriptions', () => {
  it('are created, listed, read, changed and deleted; the secret is shown once and rotated', async () => {
    const { id, secret } = await make();
    expect(secret).toMatch(/^[\w-]{43}$/);
    const shown = await as(`/${id}`);
    expect(shown.body.data).toMatchObject({
      ...BODY,
      id,
      tenant_id: tenant.tenant_id,
      project_id: tenant.project_id,
      segment_ids: null,
      status: 'active',
      delivery: {
        state: 'idle',
        pending: 0,
        failed: 0,
        dropped: 0,
        last_error: null,
        last_delivered_at: null,
      },
      replay: null,
      deleted_at: null,
    });
    const rotated = await as(`/${id}/rotate-secret`, 'POST');
    expect(rotated.status, rotated.text).toBe(200);
    expect(rotated.body.data['secret']).not.toBe(secret);
    const listed = await as('');
    expect((listed.body.data as unknown as { id: string }[]).map((one) => one.id)).toEqual([id]);
    expect(listed.text + shown.text).not.toContain('"secret"');
    // The secrets of the project sign webhooks of journeys.
    expect((await fixture.as(tenant.session, '/v1/webhook-secrets')).body.data).toEqual([]);

    const etag = String((await as(`/${id}`)).headers.get('etag'));
    const changed = await as(
      `/${id}`,
      'PATCH',
      { name: 'lake', events: ['tier.changed'] },
      { 'if-match': etag },
    );
    expect(changed.body.data, changed.text).toMatchObject({
      name: 'lake',
      events: ['tier.changed'],
      url: BODY.url,
    });
    const late = await as(`/${id}`, 'PATCH', { name: 'other' }, { 'if-match': etag });
    expect(late.body.error?.code).toBe('PRECONDITION_FAILED');

    const gone = await as(`/${id}`, 'DELETE');
    expect(gone.body.data['deleted_at']).toEqual(expect.any(String));
    expect((await as(`/${id}`, 'DELETE')).body).toEqual(gone.body);
    expect((await as('')).body.data).toEqual([]);
    for (const command of ['pause', 'enable', 'rotate-secret', 'test']) {
      expect((await as(`/${id}/${command}`, 'POST')).status, command).toBe(404);
    }
    const [row] = await fixture.platform.postgres.service<{ secrets: number }[]>`
      select count(secret)::integer as secrets from webhook_secrets where subscription_id = ${id}`;
    expect(row).toEqual({ secrets: 0 });
  });

  it('are ten at most in a project', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => as('', 'POST', BODY)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 409).map(({ body }) => body.error?.code)).toEqual([
      'CONFLICT',
      'CONFLICT',
    ]);
  });

  it.each([
    ['a plain URL', { url: 'http://example.com/' }, 'url'],
    ['a private address', { url: 'https://10.0.0.1/' }, 'url'],
    ['no URL', { url: 'example' }, 'url'],
    ['an unknown event', { events: ['player.created'] }, 'events.0'],
    ['an event twice', { events: ['tier.changed', 'tier.changed'] }, 'events'],
    ['no event', { events: [] }, 'events'],
    ['an unknown segment', { segment_ids: ['0199c0de-0000-7000-8000-000000000001'] }, 'segment_ids.0'],
  ])('are refused with %s', async (_what, wrong, path) => {
    const answer = await as('', 'POST', { ...BODY, ...wrong });
    expect(answer.status, answer.text).toBe(422);
    expect(answer.body.error?.code).toBe('VALIDATION_ERROR');
    expect(JSON.stringify(answer.body.error)).toContain(`"path":"${path}"`);
    const { id } = await make();
    expect((await as(`/${id}`, 'PATCH', wrong)).status).toBe(422);
  });

  it('are paused and enabled, tested while active, and replayed within 7 days', async () => {
    const { id } = await make();
    for (const status of ['paused', 'paused', 'active', 'active']) {
      const answer = await as(`/${id}/${status === 'active' ? 'enable' : 'pause'}`, 'POST');
      expect(answer.body.data, answer.text).toMatchObject({ status });
    }
    const tested = await as(`/${id}/test`, 'POST');
    expect(tested.status, tested.text).toBe(202);
    const listed = (await as(`/${id}/deliveries?status=pending`)).body.data as unknown as object[];
    expect(listed).toMatchObject([
      { event_id: tested.body.data['event_id'], event: 'subscription.test', player_id: null, sequence: 1 },
    ]);
    await as(`/${id}/pause`, 'POST');
    expect((await as(`/${id}/test`, 'POST')).body.error?.code).toBe('CONFLICT');
    const replay = (ms: number) =>
      as(`/${id}/replay`, 'POST', { from: new Date(Date.now() + ms).toISOString() });
    expect((await replay(60_000)).status).toBe(422);
    expect((await replay(-8 * 86_400_000)).status).toBe(422);
    const begun = await replay(-1_000);
    expect(begun.status, begun.text).toBe(202);
    expect(begun.body.data).toMatchObject({ replay: { replayed: 0, ended_at: null } });
    expect((await replay(-1_000)).body.error?.code).toBe('CONFLICT');
    expect((await as('/0199c0de-0000-7000-8000-000000000001/deliveries')).status).toBe(404);
  });

  it('list their deliveries page by page, the newest first', async () => {
    const { id } = await make();
    for (let n = 0; n < 5; n++) await as(`/${id}/test`, 'POST');
    const seen: number[] = [];
    for (let cursor = ''; ;) {
      const { body } = await as(`/${id}/deliveries?limit=2${cursor}`);
      seen.push(...(body.data as unknown as { sequence: number }[]).map(({ sequence }) => sequence));
      const next = body.meta?.['next_cursor'];
      if (typeof next !== 'string') break;
      cursor = `&cursor=${encodeURIComponent(next)}`;
    }
    expect(seen).toEqual([5, 4, 3, 2, 1]);
  });
});
