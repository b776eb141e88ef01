import { hash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/tenants/config/channels.ts';
import { unsubscribeHeaders } from '../../../src/engage/messaging/unsubscribe-link.ts';
import type { Answer } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  tenant = await fixture.makeTenant();
});

const ADDRESS = 'Ann@Example.com';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

async function identify(body: object): Promise<string> {
  const answer = await fixture.as(tenant.api_key, '/v1/players/identify', { method: 'POST', body });
  expect(answer.status, answer.text).toBe(200);
  return String(answer.body.data['player_id']);
}

/** The link in a message, from its path on. */
function linkFor(player_id: string, address = ADDRESS, channel: Channel = 'email'): string {
  const { tenant_id, project_id } = tenant;
  const who = { tenant_id, project_id, player_id, channel, address };
  return unsubscribeHeaders(fixture.deps.link_key, '', who).url;
}

const follow = (link: string) => fixture.call(link);
const oneClick = (link: string, more: object = {}) =>
  fixture.call(link, { method: 'POST', raw: 'List-Unsubscribe=One-Click', headers: FORM, ...more });

async function attributes(player_id: string): Promise<unknown> {
  const { body } = await fixture.as(tenant.session, `/v1/players/${player_id}`);
  return body.data['custom_attributes'];
}

async function suppressions(): Promise<object[]> {
  return fixture.platform.postgres.service<object[]>`
    select channel, address, reason from suppressions where tenant_id = ${tenant.tenant_id} order by address`;
}

async function changedXid(player_id: string): Promise<bigint> {
  const [row] = await fixture.platform.postgres.service<{ xid: bigint }[]>`
    select changed_xid::text::bigint as xid from player_totals where player_id = ${player_id}`;
  return row!.xid;
}

const NOBODY = '00000000-0000-4000-8000-000000000000';
const suppressed = [{ channel: 'email', address: 'ann@example.com', reason: 'unsubscribe' }];

function expectPage(answer: Answer): void {
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(answer.text).toMatch(/^<!doctype html>/);
  const style = /<style>([^<]+)<\/style>/.exec(answer.text)?.[1] ?? '';
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
}

it('a GET asks for confirmation first, because scanners follow links', async () => {
  const player_id = await identify({ external_id: 'ann', traits: { vip: true } });
  const link = linkFor(player_id);
  for (let i = 0; i < 2; i++) {
    const answer = await follow(link);
    expectPage(answer);
    expect(answer.text).toContain('<form method="post"><button>');
    // The page repeats nothing of the link, and so no data of the player.
    expect(answer.text).not.toContain(link.slice(-20));
  }
  expect(await suppressions()).toEqual([]);
  expect(await attributes(player_id)).toEqual({ vip: true });
});

it.each([
  ['a mail program', 'application/x-www-form-urlencoded', 'List-Unsubscribe=One-Click'],
  [
    'a mail program that sends parts',
    'multipart/form-data; boundary=b',
    '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
  ],
  ['the page, whose form is empty', 'application/x-www-form-urlencoded', ''],
])('a POST unsubscribes at once for %s', async (_who, type, raw) => {
  const player_id = await identify({ external_id: 'ann', traits: { vip: true } });
  const before = await changedXid(player_id);
  expectPage(await oneClick(linkFor(player_id), { raw, headers: { 'content-type': type } }));
  expect(await suppressions()).toEqual(suppressed);
  expect(await attributes(player_id)).toEqual({ vip: true, 'consent.email': false });
  expect(await changedXid(player_id)).toBeGreaterThan(before);
});

it('a POST without a body unsubscribes too', async () => {
  const player_id = await identify({ external_id: 'ann' });
  expectPage(await fixture.call(linkFor(player_id), { method: 'POST' }));
  expect(await suppressions()).toEqual(suppressed);
});

it('a repeated unsubscribe changes nothing', async () => {
  const player_id = await identify({ external_id: 'ann' });
  const link = linkFor(player_id);
  await oneClick(link);
  const before = await changedXid(player_id);
  const answers = await Promise.all([1, 2, 3, 4].map(() => oneClick(link)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await suppressions()).toEqual(suppressed);
  expect(await changedXid(player_id)).toBe(before);
});

it('an unsubscribe applies to one channel', async () => {
  const player_id = await identify({ external_id: 'ann', traits: { 'consent.email': true } });
  await oneClick(linkFor(player_id, '+15551112222', 'sms'));
  expect(await attributes(player_id)).toEqual({ 'consent.email': true, 'consent.sms': false });
  expect(await suppressions()).toEqual([{ channel: 'sms', address: '+15551112222', reason: 'unsubscribe' }]);
});

it('an unsubscribe keeps the earlier reason for which the address was suppressed', async () => {
  const player_id = await identify({ external_id: 'ann' });
  await fixture.platform.postgres.service`
    insert into suppressions (tenant_id, channel, address, reason, created_at)
    values (${tenant.tenant_id}, 'email', 'ann@example.com', 'bounce', ${new Date()})`;
  await oneClick(linkFor(player_id));
  expect(await suppressions()).toEqual([{ channel: 'email', address: 'ann@example.com', reason: 'bounce' }]);
  expect(await attributes(player_id)).toEqual({ 'consent.email': false });
});

it('an unsubscribe applies to the survivor of a merged player', async () => {
  const visitor = await identify({ anonymous_id: 'visitor' });
  const ann = await identify({ external_id: 'ann' });
  expect(await identify({ anonymous_id: 'visitor', external_id: 'ann' })).toBe(ann);
  expectPage(await oneClick(linkFor(visitor)));
  expect(await attributes(ann)).toEqual({ 'consent.email': false });
});

it('an unsubscribe applies to a player with full attributes, and to a deleted one', async () => {
  const full = { blob: 'x'.repeat(65_520) };
  const player_id = await identify({ external_id: 'full', traits: full });
  expectPage(await oneClick(linkFor(player_id)));
  expect(await attributes(player_id)).toEqual({ ...full, 'consent.email': false });
  const gone = await identify({ external_id: 'gone' });
  await fixture.as(tenant.session, `/v1/players/${gone}`, { method: 'DELETE' });
  expectPage(await oneClick(linkFor(gone, 'gone@example.com')));
  expect(await suppressions()).toContainEqual({ ...suppressed[0], address: 'gone@example.com' });
});

describe('an invalid link', () => {
  const followed = async (query: string) => [
    await follow(`/v1/unsubscribe${query}`),
    await oneClick(`/v1/unsubscribe${query}`),
  ];

  it.each(['', '?token=', '?token=nonsense', `?token=${'A'.repeat(200)}`, '?other=1'])(
    '%s is 404, by GET and by POST, whether its token is missing or wrong',
    async (query) => {
      for (const answer of await followed(query)) {
        expect([answer.status, answer.body.error?.code]).toEqual([404, 'NOT_FOUND']);
      }
    },
  );

  it('with a NUL is 422, as every request with one', async () => {
    for (const { status, body } of await followed('?token=%00')) {
      expect([status, body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    }
  });

  it('with a changed character is 404 and changes nothing', async () => {
    const link = linkFor(await identify({ external_id: 'ann' }));
    const changed = link.slice(0, -2) + (link.at(-2) === 'A' ? 'B' : 'A') + link.slice(-1);
    expect((await oneClick(changed)).status).toBe(404);
    expect(await suppressions()).toEqual([]);
  });

  it('of a player that does not exist is 404, and the address is suppressed all the same', async () => {
    expect((await oneClick(linkFor(NOBODY))).status).toBe(404);
    expect(await suppressions()).toEqual(suppressed);
  });

  it('is refused with a JSON body', async () => {
    const link = linkFor(await identify({ external_id: 'ann' }));
    const answer = await fixture.call(link, { method: 'POST', body: {} });
    expect([answer.status, answer.body.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  });
});

it('an unsubscribe changes nothing of another tenant', async () => {
  const mine = tenant;
  const player_id = await identify({ external_id: 'ann' });
  tenant = await fixture.makeTenant();
  const theirs = await identify({ external_id: 'ann' });
  // A link with their tenant and our player: the service never issues one, and it matches no player.
  await oneClick(linkFor(player_id));
  await oneClick(linkFor(theirs));
  tenant = mine;
  expect(await suppressions()).toEqual([]);
  expect(await attributes(player_id)).toEqual({});
});
