import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { EventWebhook } from '@sendgrid/eventwebhook';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import { runs } from '../../engines/effort.ts';
import type { Tenant } from '../../http/api-fixture.ts';
import {
  at,
  expectRefused,
  NOW_S,
  openCallbackFixture,
  SIGNATURE,
  signedAsSendgrid,
  TIMESTAMP,
  type CallbackFixture,
} from './callback-fixture.ts';

type Fields = Record<string, unknown>;

const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const PUBLIC_KEY = keys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');

let fixture: CallbackFixture['api'];
let provider: CallbackFixture['provider'];
let rowOf: CallbackFixture['rowOf'];
let message: (provider_id: string | null, more?: Fields, of?: Tenant) => Promise<string>;
let suppressions: (of?: Tenant) => Promise<Fields[]>;
let tenant: Tenant;
let sendgrid: string;
let other_kind: string;

beforeAll(async () => {
  const opened = await openCallbackFixture();
  ({ api: fixture, provider, rowOf } = opened);
  tenant = await fixture.makeTenant();
  message = (provider_id, more, of = tenant) => opened.message(of, provider_id, more);
  suppressions = (of = tenant) => opened.suppressions(of);
  sendgrid = await provider(tenant, 'sendgrid', 'email', {
    api_key: 'SG.key',
    from: 'casino@example.com',
    webhook_public_key: PUBLIC_KEY,
  });
  other_kind = await provider(tenant, 'sandbox', 'email', {});
});
afterAll(() => fixture.close());

interface Signed {
  key?: KeyObject;
  timestamp?: string;
  headers?: Record<string, string>;
  path?: string;
}

const nowS = () => Math.floor(Date.now() / 1000);

const signatureOf = (raw: string, timestamp: string) =>
  signedAsSendgrid(raw, keys.privateKey, timestamp)[SIGNATURE];

function postRaw(
  raw: string,
  { key = keys.privateKey, timestamp = String(nowS()), headers, path }: Signed = {},
) {
  return fixture.call(path ?? `/v1/messaging-webhooks/sendgrid?provider_id=${sendgrid}`, {
    method: 'POST',
    raw,
    headers: { ...signedAsSendgrid(raw, key, timestamp), ...headers },
  });
}

const post = (...events: unknown[]) => postRaw(JSON.stringify(events));
/** An event `second` seconds after the message was sent. */
const event = (name: string, send_id: string | undefined, second = 10, more: Fields = {}): Fields => ({
  event: name,
  email: 'somebody@example.com',
  timestamp: NOW_S - 1_000 + second,
  sg_event_id: 'irrelevant',
  ...(send_id === undefined ? {} : { send_id }),
  ...more,
});

describe('SendGrid callbacks', () => {
  it('are accepted with a signature that SendGrid’s own library accepts', async () => {
    const raw = JSON.stringify([event('processed', undefined)]);
    const library = new EventWebhook();
    const their_key = library.convertPublicKeyToECDSA(PUBLIC_KEY);
    const timestamp = String(nowS());
    const signature = signatureOf(raw, timestamp);
    expect(library.verifySignature(their_key, raw, signature, timestamp)).toBe(true);
    const answer = await postRaw(raw, { timestamp, headers: { [SIGNATURE]: signature } });
    expect([answer.status, answer.body]).toEqual([200, { data: { received: 1, applied: 0 } }]);
    // The signature covers the bytes, not the JSON value.
    const spaced = `[ ${raw.slice(1)}`;
    expectRefused(await postRaw(spaced, { timestamp, headers: { [SIGNATURE]: signature } }));
    expect((await postRaw(spaced)).status).toBe(200);
  });

  it('are refused with a bad, missing or foreign signature, before the body is checked', async () => {
    const send_id = await message(sendgrid);
    const raw = JSON.stringify([event('delivered', send_id)]);
    const stranger = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
    expectRefused(await postRaw(raw, { key: stranger }));
    for (const bad of ['', 'nonsense', Buffer.from('{}').toString('base64')])
      expectRefused(await postRaw(raw, { headers: { [SIGNATURE]: bad } }));
    const path = `/v1/messaging-webhooks/sendgrid?provider_id=${sendgrid}`;
    expectRefused(await fixture.call(path, { method: 'POST', raw }));
    expectRefused(
      await fixture.call(path, { method: 'POST', raw: '{', headers: { [TIMESTAMP]: String(nowS()) } }),
    );
    const other = raw.replace('delivered', 'bounce');
    const timestamp = String(nowS());
    const signature = signatureOf(raw, timestamp);
    expectRefused(await postRaw(other, { timestamp, headers: { [SIGNATURE]: signature } }));
    expect((await rowOf(send_id)).status).toBe('sent');
  });

  it('are refused when their timestamp is outside the window or not the signed one', async () => {
    const raw = JSON.stringify([event('processed', undefined)]);
    for (const off of [-302, 330, -86_400])
      expectRefused(await postRaw(raw, { timestamp: String(nowS() + off) }));
    for (const off of [-240, 295])
      expect((await postRaw(raw, { timestamp: String(nowS() + off) })).status).toBe(200);
    for (const odd of ['', 'now', '1e9', '-1', `${nowS()}.5`, ` ${nowS()}`, `${nowS()}000`])
      expectRefused(await postRaw(raw, { timestamp: odd }));
    const signature = signatureOf(raw, String(nowS() - 400));
    expectRefused(await postRaw(raw, { headers: { [SIGNATURE]: signature, [TIMESTAMP]: String(nowS()) } }));
  });

  it('are refused for a provider that is unknown, of another kind, deleted or without a key', async () => {
    const raw = JSON.stringify([event('processed', undefined)]);
    const bare = await provider(tenant, 'sendgrid', 'email', { api_key: 'SG.key', from: 'a@example.com' });
    const odd_key = await provider(tenant, 'sendgrid', 'email', {
      api_key: 'SG.key',
      from: 'a@example.com',
      webhook_public_key: 'bm9uc2Vuc2U=',
    });
    const path = '/v1/messaging-webhooks/sendgrid';
    for (const query of [
      '',
      '?provider_id=',
      '?provider_id=x',
      ...[newId(), other_kind, bare, odd_key].map(named),
    ])
      expectRefused(await postRaw(raw, { path: path + query }));
    const gone = await provider(tenant, 'sendgrid', 'email', {
      api_key: 'SG.key',
      from: 'a@example.com',
      webhook_public_key: keys.publicKey.export({ format: 'pem', type: 'spki' }),
    });
    expect((await postRaw(raw, { path: path + named(gone) })).status).toBe(200);
    await fixture.as(tenant.session, `/v1/messaging-providers/${gone}`, { method: 'DELETE' });
    expectRefused(await postRaw(raw, { path: path + named(gone) }));
  });

  const named = (provider_id: string) => `?provider_id=${provider_id}`;

  it('get an error for a signed body that is no list', async () => {
    for (const raw of ['{', '[1,', 'nonsense', '\u0000']) expect((await postRaw(raw)).status, raw).toBe(400);
    for (const raw of ['{}', 'null', '"delivered"', '7']) expect((await postRaw(raw)).status, raw).toBe(422);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await postRaw('a=b', { headers: form })).status).toBe(415);
  });

  it('get 200 for events that cannot be read, and the readable ones between them apply', async () => {
    const send_id = await message(sendgrid);
    const odd = [
      null,
      7,
      [],
      {},
      { event: 7 },
      { event: '__proto__', send_id },
      { event: 'constructor', send_id },
      event('deferred', send_id),
      event('delivered', 'not an id'),
      event('delivered', undefined, 1, { sg_message_id: 'a\u0000b.c' }),
      event('delivered', undefined, 1, { sg_message_id: { $ne: 1 }, email: ['x'] }),
      event('delivered', newId()),
    ];
    const before_ms = Date.now();
    const answer = await post(
      ...odd,
      event('delivered', send_id, 5),
      event('open', send_id, 1, { timestamp: 'x' }),
    );
    expect(answer.body.data).toEqual({ received: odd.length + 2, applied: 1 });
    const after_ms = Date.now();
    const row = await rowOf(send_id);
    expect(row).toMatchObject({ status: 'opened', delivered_at: at(5) });
    expect(Number(row.opened_at)).toBeGreaterThanOrEqual(before_ms);
    expect(Number(row.opened_at)).toBeLessThanOrEqual(after_ms);
  });

  it.each([
    ['delivered', 'delivered', { delivered_at: 10 }],
    ['open', 'opened', { delivered_at: 10, opened_at: 10 }],
    ['click', 'clicked', { delivered_at: 10, opened_at: 10, clicked_at: 10 }],
    ['bounce', 'bounced', { bounced_at: 10 }],
    ['dropped', 'failed', {}],
    ['processed', 'sent', {}],
  ] as const)('%s makes a message %s', async (name, status, times: Record<string, number>) => {
    const send_id = await message(sendgrid);
    await post(event(name, send_id));
    const none = { delivered_at: null, opened_at: null, clicked_at: null, bounced_at: null };
    const given = Object.fromEntries(Object.entries(times).map(([column, second]) => [column, at(second)]));
    expect(await rowOf(send_id)).toMatchObject({
      status,
      error_code: status === 'failed' ? 'DELIVERY_FAILED' : null,
      sent_at: at(0),
      counted_at: at(0),
      ...none,
      ...given,
    });
  });

  it('have the same result in any order and however often they arrive', async () => {
    const names = ['delivered', 'open', 'click', 'bounce', 'dropped', 'processed'];
    const told = fc.array(fc.tuple(fc.constantFrom(...names), fc.integer({ min: 1, max: 50 })), {
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(told, fc.infiniteStream(fc.nat()), async (events, dice) => {
        const [once, mixed] = [await message(sendgrid), await message(sendgrid)];
        await post(...events.map(([name, second]) => event(name, once, second)));
        const shuffled = [...events, ...events].map((one) => ({ one, key: dice.next().value }));
        for (const { one } of shuffled.toSorted((a, b) => a.key - b.key))
          await post(event(one[0], mixed, one[1]));
        const seen = async (send_id: string) => {
          const { changed_xid: _, recipient: __, ...row } = await rowOf(send_id);
          return { ...row, send_id: '', player_id: '' };
        };
        expect(await seen(mixed)).toEqual(await seen(once));
      }),
      { numRuns: runs(30) },
    );
  });

  it('never move a status back, and a replay changes nothing', async () => {
    const send_id = await message(sendgrid);
    const raw = JSON.stringify([event('click', send_id, 30), event('delivered', send_id, 20)]);
    expect((await postRaw(raw)).body.data).toEqual({ received: 2, applied: 1 });
    const row = await rowOf(send_id);
    expect(row).toMatchObject({
      status: 'clicked',
      delivered_at: at(20),
      opened_at: at(30),
      clicked_at: at(30),
    });
    expect((await postRaw(raw)).body.data).toEqual({ received: 2, applied: 0 });
    expect(
      (await post(event('delivered', send_id, 40), event('open', send_id, 40))).body.data['applied'],
    ).toBe(0);
    expect(await rowOf(send_id)).toEqual(row);
    expect((await post(event('open', send_id, 25))).body.data['applied']).toBe(1);
    const later = await rowOf(send_id);
    expect(later).toMatchObject({ status: 'clicked', opened_at: at(25) });
    expect(BigInt(later.changed_xid)).toBeGreaterThan(BigInt(row.changed_xid));
    await post(event('bounce', send_id, 50), event('open', send_id, 60));
    expect(await rowOf(send_id)).toMatchObject({ status: 'bounced', error_code: null, opened_at: at(25) });
  });

  it('record no time before the message was handed over, whatever the event’s timestamp is', async () => {
    const handed_over = { enqueued_at: at(0), counted_at: at(5), sent_at: at(6) };
    const send_id = await message(sendgrid, handed_over);
    const raw = JSON.stringify([
      event('delivered', send_id, 0, { timestamp: 1 }),
      event('open', send_id, 3),
      event('click', send_id, 8),
      event('bounce', send_id, 0, { timestamp: NOW_S + 3_600 }),
    ]);
    await postRaw(raw);
    const after_ms = Date.now();
    const row = await rowOf(send_id);
    const told = { delivered_at: at(5), opened_at: at(5), clicked_at: at(8) };
    expect(row).toMatchObject({ counted_at: at(5), sent_at: at(6), ...told });
    expect(Number(row.bounced_at)).toBeLessThanOrEqual(after_ms);
    expect((await postRaw(raw)).body.data['applied']).toBe(0);
    expect(await rowOf(send_id)).toEqual(row);
    // The outcome of this message is unknown, so the callback is the only information about it.
    const unknown = { status: 'failed', error_code: 'OUTCOME_UNKNOWN', sent_at: null };
    const lost = await message(sendgrid, { ...handed_over, ...unknown });
    await post(event('click', lost, 0, { timestamp: 1 }));
    expect(await rowOf(lost)).toMatchObject({ sent_at: at(5), delivered_at: at(5), clicked_at: at(5) });
    const uncounted = await message(sendgrid, { ...handed_over, ...unknown, counted_at: null });
    await post(event('click', uncounted, 0, { timestamp: 1 }));
    expect(await rowOf(uncounted)).toMatchObject({ sent_at: at(0), counted_at: at(0), opened_at: at(0) });
  });

  it('find a message by our send_id, otherwise by the provider’s message id and the address', async () => {
    const [first, second] = [
      await message(sendgrid, { provider_message_id: 'shared', recipient: 'First@example.com' }),
      await message(sendgrid, { provider_message_id: 'shared', recipient: 'second@example.com' }),
    ];
    const by_theirs = (email: string) =>
      event('delivered', undefined, 10, { sg_message_id: 'shared.recvd-1-2.0', email });
    expect((await post(by_theirs('third@example.com'))).body.data['applied']).toBe(0);
    expect((await post(by_theirs('first@EXAMPLE.com'))).body.data['applied']).toBe(1);
    expect([(await rowOf(first)).status, (await rowOf(second)).status]).toEqual(['delivered', 'sent']);
    // Our send_id takes precedence where it is known.
    await post(event('open', second, 20, { sg_message_id: 'shared.x', email: 'first@example.com' }));
    expect([(await rowOf(first)).status, (await rowOf(second)).status]).toEqual(['delivered', 'opened']);
    await post(event('click', newId(), 20, { sg_message_id: 'shared.x', email: 'first@example.com' }));
    expect((await rowOf(first)).status).toBe('clicked');
  });

  it.each([
    ['queued', null, 'delivered'],
    ['sending', null, 'delivered'],
    ['failed', 'OUTCOME_UNKNOWN', 'delivered'],
    ['failed', 'PROVIDER_UNAVAILABLE', 'delivered'],
  ])('settle a message that is %s %s', async (status, error_code, becomes) => {
    const open = { status, error_code, sent_at: null, counted_at: null };
    const send_id = await message(null, open);
    await post(event('delivered', send_id, 10, { sg_message_id: 'theirs.1' }));
    expect(await rowOf(send_id)).toMatchObject({
      status: becomes,
      error_code: null,
      provider_id: sendgrid,
      provider_message_id: 'theirs',
      counted_at: at(10),
      sent_at: at(10),
      delivered_at: at(10),
    });
    const failing = await message(sendgrid, open);
    await post(event('dropped', failing, 10));
    expect(await rowOf(failing)).toMatchObject({
      status: 'failed',
      error_code: 'DELIVERY_FAILED',
      sent_at: null,
    });
  });

  it.each([
    ['capped', 'SKIPPED_FREQUENCY_CAP'],
    ['failed', 'SKIPPED_SELF_EXCLUDED'],
    ['failed', 'PROVIDER_REJECTED'],
    ['failed', 'TEMPLATE_FAILED'],
  ])('do not change a message that was never sent: %s %s', async (status, error_code) => {
    const send_id = await message(sendgrid, { status, error_code, sent_at: null, counted_at: null });
    const before = await rowOf(send_id);
    const unnamed = { email: undefined };
    const answer = await post(event('click', send_id), event('spamreport', send_id, 10, unnamed));
    expect(answer.body.data).toEqual({ received: 2, applied: 0 });
    expect(await rowOf(send_id)).toEqual(before);
    expect((await suppressions()).map(({ address }) => address)).not.toContain(before.recipient);
  });

  it('change no messages of another tenant or another provider', async () => {
    const other = await fixture.makeTenant();
    const theirs = await provider(other, 'sendgrid', 'email', { api_key: 'SG.key', from: 'a@example.com' });
    const foreign = [
      await message(theirs, { provider_message_id: 'theirs', recipient: 'x@example.com' }, other),
      await message(
        null,
        { status: 'queued', provider_message_id: 'theirs', recipient: 'x@example.com' },
        other,
      ),
      await message(sendgrid, { provider_message_id: 'theirs', recipient: 'x@example.com' }, other),
      await message(other_kind, { provider_message_id: 'theirs', recipient: 'x@example.com' }),
    ];
    const before = await Promise.all(foreign.map(rowOf));
    const events = foreign.flatMap((send_id) =>
      ['delivered', 'bounce', 'spamreport'].map((name) =>
        event(name, send_id, 10, { sg_message_id: 'theirs.1', email: 'x@example.com' }),
      ),
    );
    // The complaint was reported to this tenant, so the address is suppressed here, even though no message matches.
    expect((await post(...events)).body.data).toEqual({ received: 12, applied: 1 });
    expect(await Promise.all(foreign.map(rowOf))).toEqual(before);
    expect(await suppressions(other)).toEqual([]);
    expect(await suppressions()).toContainEqual({
      channel: 'email',
      address: 'x@example.com',
      reason: 'complaint',
    });
  });

  it('suppress addresses that bounce permanently, complain or unsubscribe', async () => {
    const own = await fixture.makeTenant();
    const mine = await provider(own, 'sendgrid', 'email', {
      api_key: 'SG.key',
      from: 'a@example.com',
      webhook_public_key: PUBLIC_KEY,
    });
    const sent = (recipient: string) => message(mine, { recipient }, own);
    const hard = await sent('Hard@Example.com');
    const blocked = await sent('blocked@example.com');
    const spam = await sent('spam@example.com');
    const group = await sent('group@example.com');
    const gone = await sent('gone@example.com');
    const raw = JSON.stringify([
      event('bounce', hard, 10, { type: 'bounce' }),
      event('bounce', blocked, 10, { type: 'blocked' }),
      event('spamreport', spam),
      event('group_unsubscribe', group),
      event('unsubscribe', gone),
    ]);
    const path = `/v1/messaging-webhooks/sendgrid?provider_id=${mine}`;
    expect((await postRaw(raw, { path })).body.data).toEqual({ received: 5, applied: 5 });
    expect((await postRaw(raw, { path })).body.data).toEqual({ received: 5, applied: 0 });
    expect(await suppressions(own)).toEqual([
      { channel: 'email', address: 'gone@example.com', reason: 'unsubscribe' },
      { channel: 'email', address: 'group@example.com', reason: 'unsubscribe' },
      { channel: 'email', address: 'hard@example.com', reason: 'bounce' },
      { channel: 'email', address: 'spam@example.com', reason: 'complaint' },
    ]);
    const statuses = await Promise.all([hard, blocked, spam, group, gone].map(rowOf));
    expect(statuses.map(({ status }) => status)).toEqual(['bounced', 'bounced', 'sent', 'sent', 'sent']);
    expect(await suppressions()).not.toContainEqual(expect.objectContaining({ address: 'hard@example.com' }));
  });

  it('suppress the address of a complaint or unsubscribe without a known message, but not of a bounce', async () => {
    const own = await fixture.makeTenant();
    const mine = await provider(own, 'sendgrid', 'email', {
      api_key: 'SG.key',
      from: 'a@example.com',
      webhook_public_key: PUBLIC_KEY,
    });
    const known = await message(mine, { recipient: 'known@example.com' }, own);
    const of = (email: unknown) => ({ email });
    const raw = JSON.stringify([
      event('spamreport', undefined, 10, of('Spam@Example.com')),
      event('spamreport', undefined, 11, of('spam@example.com')),
      event('unsubscribe', newId(), 10, of('gone@example.com')),
      event('group_unsubscribe', undefined, 10, { ...of('group@example.com'), sg_message_id: 'unknown.1' }),
      event('bounce', undefined, 10, { ...of('hard@example.com'), type: 'bounce' }),
      event('dropped', undefined, 10, of('dropped@example.com')),
      event('click', undefined, 10, of('clicks@example.com')),
      // For a known message the message's own address is suppressed, not the one in the event.
      event('unsubscribe', known, 10, of('another@example.com')),
      ...['', '@', 'nobody', 7, null, 'a\u0000@example.com'].map((email) =>
        event('spamreport', undefined, 10, of(email)),
      ),
    ]);
    const path = `/v1/messaging-webhooks/sendgrid?provider_id=${mine}`;
    expect((await postRaw(raw, { path })).body.data).toEqual({ received: 14, applied: 4 });
    expect((await postRaw(raw, { path })).body.data).toEqual({ received: 14, applied: 0 });
    expect(await suppressions(own)).toEqual([
      { channel: 'email', address: 'gone@example.com', reason: 'unsubscribe' },
      { channel: 'email', address: 'group@example.com', reason: 'unsubscribe' },
      { channel: 'email', address: 'known@example.com', reason: 'unsubscribe' },
      { channel: 'email', address: 'spam@example.com', reason: 'complaint' },
    ]);
    const stranger = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
    const forged = JSON.stringify([event('spamreport', undefined, 10, of('victim@example.com'))]);
    expectRefused(await postRaw(forged, { path, key: stranger }));
    expect(await suppressions(own)).toHaveLength(4);
    expect(await suppressions()).not.toContainEqual(expect.objectContaining({ address: 'gone@example.com' }));
  });

  it('accept more than a thousand events at once, up to the size limit of the body', async () => {
    const send_ids = await Promise.all(Array.from({ length: 20 }, () => message(sendgrid)));
    const events = Array.from({ length: 2_500 }, (_, i) => ({
      event: 'delivered',
      send_id: send_ids[i % 20],
      timestamp: NOW_S - 1_000 + 1 + (i % 50),
    }));
    const answer = await post(...events);
    expect([answer.status, answer.body.data['received']]).toEqual([200, 2_500]);
    for (const send_id of send_ids) expect((await rowOf(send_id)).status).toBe('delivered');
    expect((await postRaw(`[${' '.repeat(1024 * 1024)}]`)).status).toBe(413);
  });

  it('may report many events of the same messages concurrently', async () => {
    const send_ids = await Promise.all(Array.from({ length: 20 }, () => message(sendgrid)));
    const answers = await Promise.all(
      ['delivered', 'open', 'click', 'delivered', 'open'].map((name, i) =>
        post(...(i % 2 === 0 ? send_ids : send_ids.toReversed()).map((id) => event(name, id, 10 + i))),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    for (const send_id of send_ids)
      expect(await rowOf(send_id)).toMatchObject({
        status: 'clicked',
        delivered_at: at(10),
        opened_at: at(11),
      });
  });
});
