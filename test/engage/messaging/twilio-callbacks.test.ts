import { createHmac } from 'node:crypto';
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import type { Tenant } from '../../http/api-fixture.ts';
import {
  at,
  expectRefused,
  openCallbackFixture,
  PUBLIC_URL,
  signedAsTwilio,
  type CallbackFixture,
} from './callback-fixture.ts';

type Fields = Record<string, unknown>;

const AUTH_TOKEN = 'twilio-auth-token';

let callbacks: CallbackFixture;
let fixture: CallbackFixture['api'];
let rowOf: CallbackFixture['rowOf'];
let tenant: Tenant;
let twilio: string;
let other_kind: string;

beforeAll(async () => {
  callbacks = await openCallbackFixture();
  ({ api: fixture, rowOf } = callbacks);
  tenant = await fixture.makeTenant();
  const config = { account_sid: 'AC123', auth_token: AUTH_TOKEN, from: '+15550000000' };
  twilio = await callbacks.provider(tenant, 'twilio', 'sms', config);
  other_kind = await callbacks.provider(tenant, 'sandbox', 'sms', {});
});
afterAll(() => fixture.close());

const SMS = { channel: 'sms', recipient: '+15551112222' };
const sms = (more: Fields = {}) => callbacks.message(tenant, twilio, { ...SMS, ...more });
const FORM = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
const pathOf = (query: string) => `/v1/messaging-webhooks/twilio?${query}`;

interface Told {
  query?: string;
  token?: string;
  /** The origin and base path of the URL that the signature covers. */
  base?: string;
  headers?: Record<string, string>;
}

function tell(parameters: Record<string, string>, { query, token, base, headers }: Told = {}) {
  const path = pathOf(query ?? `provider_id=${twilio}`);
  return fixture.call(path, {
    method: 'POST',
    raw: new URLSearchParams(parameters).toString(),
    headers: { ...signedAsTwilio(path, parameters, token ?? AUTH_TOKEN, base), ...headers },
  });
}

const status = (MessageStatus: string, more: Record<string, string> = {}) => ({
  MessageSid: 'SM1',
  MessageStatus,
  To: '+15551112222',
  Body: 'Ümläut & 100 % = "ok"',
  ...more,
});
const naming = (send_id: string) => ({ query: `provider_id=${twilio}&send_id=${send_id}` });

it.each([
  ['delivered', 'delivered', null],
  ['read', 'opened', null],
  ['undelivered', 'bounced', null],
  ['failed', 'failed', 'DELIVERY_FAILED'],
  ['sent', 'sent', null],
  ['queued', 'sent', null],
  ['constructor', 'sent', null],
])('%s makes a message %s', async (told, becomes, error_code) => {
  const send_id = await sms();
  const before = await rowOf(send_id);
  const answer = await tell(status(told), naming(send_id));
  expect([answer.status, answer.body.data]).toEqual([
    200,
    { received: 1, applied: becomes === 'sent' ? 0 : 1 },
  ]);
  const row = await rowOf(send_id);
  expect(row).toMatchObject({ status: becomes, error_code, counted_at: at(0), sent_at: at(0) });
  expect(row.bounced_at === null).toBe(becomes !== 'bounced');
  // A repetition and a late event change nothing more.
  await tell(status(told), naming(send_id));
  await tell(status('sent'), naming(send_id));
  expect(await rowOf(send_id)).toEqual(becomes === 'sent' ? before : row);
});

it('settles a message that is being sent', async () => {
  const send_id = await sms({ status: 'sending', sent_at: null });
  const before_ms = Date.now();
  await tell(status('sent', { MessageSid: 'SM77' }), naming(send_id));
  const after_ms = Date.now();
  const row = await rowOf(send_id);
  expect(row).toMatchObject({ status: 'sent', provider_message_id: 'SM77' });
  expect(Number(row.sent_at)).toBeGreaterThanOrEqual(before_ms);
  expect(Number(row.sent_at)).toBeLessThanOrEqual(after_ms);
});

it('finds a message by Twilio’s message id', async () => {
  const send_id = await sms({ provider_message_id: 'SM42' });
  expect((await tell(status('delivered', { MessageSid: 'SM43' }))).body.data['applied']).toBe(0);
  expect((await tell(status('delivered', { MessageSid: 'SM42' }))).body.data['applied']).toBe(1);
  expect((await rowOf(send_id)).status).toBe('delivered');
});

it('may contain a parameter twice, and many parameters, but no large body', async () => {
  const path = pathOf(`provider_id=${twilio}`);
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`p${i}`, 'v']));
  const parameters = { ...many, Media: ['b', 'a', 'b'] };
  const signature = getExpectedTwilioSignature(AUTH_TOKEN, PUBLIC_URL + path, parameters);
  const raw = `${new URLSearchParams(many).toString()}&Media=b&Media=a&Media=b`;
  const headers = { ...FORM, 'x-twilio-signature': signature };
  expect((await fixture.call(path, { method: 'POST', raw, headers })).status).toBe(200);
  const large = await fixture.call(path, { method: 'POST', raw: 'a&'.repeat(40_000), headers });
  expect([large.status, large.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
});

it('may have a signature of the URL with or without its port', async () => {
  const path = '/api';
  for (const base of [`http://localhost:80${path}`, PUBLIC_URL])
    expect((await tell(status('queued'), { base })).status).toBe(200);
  for (const base of [
    `http://engage.example.com${path}`,
    'https://engage.example.com',
    'https://evil.example.com/api',
  ])
    expectRefused(await tell(status('queued'), { base }));
});

it('is refused with a signature of other parameters, another URL or another token, or without one', async () => {
  const send_id = await sms();
  expectRefused(await tell(status('delivered'), { ...naming(send_id), token: 'guessed' }));
  const path = pathOf(naming(send_id).query);
  const good = getExpectedTwilioSignature(AUTH_TOKEN, PUBLIC_URL + path, status('queued'));
  const changed = { ...naming(send_id), headers: { 'x-twilio-signature': good } };
  expectRefused(await tell(status('delivered'), changed));
  expectRefused(
    await tell(status('queued'), { query: `${naming(send_id).query}&x=1`, headers: changed.headers }),
  );
  for (const bad of ['', 'nonsense', createHmac('sha256', AUTH_TOKEN).update('x').digest('base64')])
    expectRefused(
      await tell(status('delivered'), { ...naming(send_id), headers: { 'x-twilio-signature': bad } }),
    );
  expectRefused(await fixture.call(path, { method: 'POST', raw: 'MessageStatus=delivered', headers: FORM }));
  for (const query of ['', 'provider_id=x', `provider_id=${newId()}`, `provider_id=${other_kind}`])
    expectRefused(await tell(status('delivered'), { query }));
  expect((await rowOf(send_id)).status).toBe('sent');
});

it('changes no messages of another tenant', async () => {
  const other = await fixture.makeTenant();
  const foreign = await callbacks.message(other, twilio, { ...SMS, provider_message_id: 'SM9' });
  const answer = await tell(status('failed', { MessageSid: 'SM9' }), naming(foreign));
  expect([answer.status, answer.body.data['applied']]).toEqual([200, 0]);
  expect((await rowOf(foreign)).status).toBe('sent');
});

it('gets 200 for a signed form without a usable status', async () => {
  expect((await tell({})).body).toEqual({ data: { received: 1, applied: 0 } });
  expect((await tell({ MessageStatus: 'delivered', MessageSid: "x'; drop" })).body.data['applied']).toBe(0);
  expect((await tell(status('delivered'), { query: `provider_id=${twilio}&send_id=x` })).status).toBe(200);
  const json = await fixture.call(pathOf(`provider_id=${twilio}`), { method: 'POST', body: {} });
  expect([json.status, json.body.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
});
