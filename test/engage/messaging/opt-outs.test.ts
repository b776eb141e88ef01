import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { liftUnsubscriptions, suppress } from '../../../src/engage/messaging/suppression-queries.ts';
import { until } from '../../engines/until.ts';
import type { Tenant } from '../../http/api-fixture.ts';
import {
  at,
  NOW_S,
  openCallbackFixture,
  signedAsSendgrid,
  signedAsTwilio,
  type CallbackFixture,
} from './callback-fixture.ts';

type Fields = Record<string, unknown>;

const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const webhook_public_key = keys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
const AUTH_TOKEN = 'twilio-auth-token';

let callbacks: CallbackFixture;
let tenant: Tenant;
let sendgrid: string;
let twilio: string;

beforeAll(async () => {
  callbacks = await openCallbackFixture();
});
beforeEach(async () => {
  tenant = await callbacks.api.makeTenant();
  const mail = { api_key: 'SG.key', from: 'casino@example.com', webhook_public_key };
  sendgrid = await callbacks.provider(tenant, 'sendgrid', 'email', mail);
  const sms = { account_sid: 'AC123', auth_token: AUTH_TOKEN, from: '+15550000000' };
  twilio = await callbacks.provider(tenant, 'twilio', 'sms', sms);
});
afterAll(() => callbacks.api.close());

const suppressed = async () =>
  (await callbacks.suppressions(tenant)).map(({ address, reason }) => `${String(address)} ${String(reason)}`);

describe('SendGrid', () => {
  const event = (name: string, email: string, second: number, more: Fields = {}) => ({
    event: name,
    email,
    timestamp: NOW_S - 1_000 + second,
    ...more,
  });
  const tell = async (...events: Fields[]) => {
    const raw = JSON.stringify(events);
    const path = `/v1/messaging-webhooks/sendgrid?provider_id=${sendgrid}`;
    const answer = await callbacks.api.call(path, {
      method: 'POST',
      raw,
      headers: signedAsSendgrid(raw, keys.privateKey),
    });
    expect(answer.status, answer.text).toBe(200);
    return answer.body.data['applied'];
  };
  const sent = (recipient: string) => callbacks.message(tenant, sendgrid, { recipient });

  it.each([
    ['Unsubscribed Address', 'unsubscribe'],
    ['Spam Reporting Address', 'complaint'],
    ['Bounced Address', 'bounce'],
    ['Spam Content (if spam checker app enabled)', undefined],
    ['Invalid SMTPAPI header', undefined],
    ['Recipient List over Package Quota', undefined],
    [undefined, undefined],
  ])('dropped a message for the reason %s: suppressed as %s', async (reason, suppression) => {
    const send_id = await sent('a@example.com');
    expect(await tell(event('dropped', 'a@example.com', 10, { send_id, reason }))).toBe(1);
    expect(await suppressed()).toEqual(suppression === undefined ? [] : [`a@example.com ${suppression}`]);
    expect(await callbacks.rowOf(send_id)).toMatchObject({ status: 'failed', error_code: 'DELIVERY_FAILED' });
  });

  it('suppresses a dropped address without a known message as the event itself would', async () => {
    await tell(
      event('dropped', 'gone@example.com', 10, { reason: 'Unsubscribed Address' }),
      event('dropped', 'spam@example.com', 10, { reason: 'Spam Reporting Address' }),
      event('dropped', 'hard@example.com', 10, { reason: 'Bounced Address' }),
    );
    expect(await suppressed()).toEqual(['gone@example.com unsubscribe', 'spam@example.com complaint']);
  });

  it.each([
    [{ status: '5.2.2', reason: '552 5.2.2 The mailbox is full' }, false],
    [{ reason: '552 5.2.2 over quota' }, false],
    [{ status: '5.0.0', reason: '552 Mailbox is full' }, false],
    [{ status: '4.4.7', reason: '400 delivery time expired' }, false],
    [{ type: 'blocked', status: '5.7.1' }, false],
    [{ status: '5.1.1', reason: '550 5.1.1 no such user' }, true],
    [{ type: 'bounce' }, true],
  ])('a bounce of %j suppresses for ever: %s', async (more, is_dead) => {
    const send_id = await sent('a@example.com');
    await tell(event('bounce', 'a@example.com', 10, { send_id, type: 'bounce', ...more }));
    expect(await suppressed()).toEqual(is_dead ? ['a@example.com bounce'] : []);
    expect((await callbacks.rowOf(send_id)).status).toBe('bounced');
  });

  it('group_resubscribe lifts an unsubscription, and nothing else', async () => {
    const all = ['spamreport', 'group_unsubscribe', 'unsubscribe'];
    await tell(...all.map((name) => event(name, `${name}@example.com`, 10)));
    const send_id = await sent('hard@example.com');
    await tell(event('bounce', 'hard@example.com', 10, { send_id, type: 'bounce' }));
    const back = [...all, 'hard', 'nobody'].map((name) =>
      event('group_resubscribe', `${name}@Example.com`, 20),
    );
    expect(await tell(...back)).toBe(2);
    expect(await tell(...back)).toBe(0);
    expect(await suppressed()).toEqual(['hard@example.com bounce', 'spamreport@example.com complaint']);
  });

  it('decides by the times of the events, in whichever order they come', async () => {
    const [off, on] = ['group_unsubscribe', 'group_resubscribe'];
    const of = (name: string, second: number) => event(name, 'a@example.com', second);
    await tell(of(on, 10), of(off, 20));
    expect(await suppressed()).toEqual(['a@example.com unsubscribe']);
    await tell(of(on, 15));
    await tell(of(off, 40));
    // Between the two unsubscriptions, and reported late.
    await tell(of(on, 30));
    expect(await suppressed()).toEqual(['a@example.com unsubscribe']);
    await tell(of(off, 45), of(on, 50));
    expect(await suppressed()).toEqual([]);
    // In one second the order of the events decides.
    await tell(of(on, 60), of(off, 60));
    expect(await suppressed()).toEqual(['a@example.com unsubscribe']);
    await tell(of(off, 60), of(on, 60));
    expect(await suppressed()).toEqual([]);
  });

  it('counts an unsubscription by a link or a form from the last time on, in whichever order the reports come', async () => {
    const { tenant_id } = tenant;
    const sql = callbacks.api.platform.postgres;
    const off = (second: number) =>
      sql.asTenant(tenant_id, (tx) =>
        suppress(
          tx,
          { tenant_id, channel: 'email', address: 'Mailto:a@Example.com' },
          'unsubscribe',
          at(second),
        ),
      );
    const on = (second: number) => tell(event('group_resubscribe', 'a@example.com', second));
    expect(await off(10)).toBe(true);
    expect(await off(40)).toBe(false);
    // Between the two, and reported late.
    expect(await on(30)).toBe(0);
    // Before the last one, and applied late: the time of the last one stays.
    expect(await off(20)).toBe(false);
    expect(await on(35)).toBe(0);
    expect(await suppressed()).toEqual(['a@example.com unsubscribe']);
    expect(await on(45)).toBe(1);
    expect(await suppressed()).toEqual([]);
    // A callback renews it likewise, however the address is written.
    await off(50);
    await tell(event('group_unsubscribe', ' A@example.com\u200b', 70));
    expect(await on(60)).toBe(0);
    expect(await on(80)).toBe(1);
  });

  it('an open by a machine is no open, but counted by itself', async () => {
    const campaign_id = await callbacks.campaign(tenant);
    const opens = async () => {
      const { body } = await callbacks.api.as(tenant.session, `/v1/campaigns/${campaign_id}/stats`);
      const { machine_opened, counters, rates } = body.data as unknown as Record<
        string,
        Record<string, number>
      >;
      return [machine_opened, counters?.['delivered'], counters?.['opened'], rates?.['open_rate']];
    };
    const send_id = await callbacks.message(tenant, sendgrid, { campaign_id });
    const opened = (second: number, more: Fields = {}) =>
      event('open', 'x@example.com', second, { send_id, ...more });
    expect(await tell(opened(10, { sg_machine_open: true }))).toBe(1);
    expect(await callbacks.rowOf(send_id)).toMatchObject({
      status: 'delivered',
      delivered_at: at(10),
      opened_at: null,
      machine_opened_at: at(10),
    });
    expect(await opens()).toEqual([1, 1, 0, 0]);
    expect(await tell(opened(10, { sg_machine_open: true }))).toBe(0);
    expect(await tell(opened(20, { sg_machine_open: false }))).toBe(1);
    expect(await callbacks.rowOf(send_id)).toMatchObject({ status: 'opened', opened_at: at(20) });
    expect(await opens()).toEqual([1, 1, 1, 1]);
    // Earlier than the first, and later than a person's open.
    expect(await tell(opened(5, { sg_machine_open: true }), opened(30, { sg_machine_open: true }))).toBe(1);
    expect(await callbacks.rowOf(send_id)).toMatchObject({ status: 'opened', machine_opened_at: at(5) });
  });
});

describe('Twilio', () => {
  const tell = async (parameters: Record<string, string>, query = '', token = AUTH_TOKEN) => {
    const path = `/v1/messaging-webhooks/twilio?provider_id=${twilio}${query}`;
    const { status, body } = await callbacks.api.call(path, {
      method: 'POST',
      raw: new URLSearchParams(parameters).toString(),
      headers: signedAsTwilio(path, parameters, token),
    });
    return status === 200 ? body.data['applied'] : status;
  };
  let replies = 0;
  const reply = (Body: string, more: Record<string, string> = {}) => ({
    MessageSid: `SM${'0'.repeat(28)}${String(++replies).padStart(4, '0')}`,
    SmsStatus: 'received',
    From: '+35699000001',
    To: '+15550000000',
    Body,
    ...more,
  });

  it.each([
    ['21610', 'unsubscribe'],
    ['21211', 'bounce'],
    ['21614', 'bounce'],
    ['30005', 'bounce'],
    ['30003', undefined],
    ['30007', undefined],
  ])('reports a failure with %s: suppressed as %s', async (ErrorCode, reason) => {
    const sms = { channel: 'sms', recipient: '+35699000001' };
    const send_id = await callbacks.message(tenant, twilio, sms);
    const told = { MessageSid: 'SM1', MessageStatus: 'undelivered', ErrorCode };
    expect(await tell(told, `&send_id=${send_id}`)).toBe(1);
    expect(await suppressed()).toEqual(reason === undefined ? [] : [`+35699000001 ${reason}`]);
  });

  it.each(['STOP', ' stop\n', 'StopAll', 'UNSUBSCRIBE', 'cancel', 'End', 'QUIT', 'REVOKE', 'OPTOUT'])(
    'a reply %j suppresses the number, and START lifts that',
    async (word) => {
      expect(await tell(reply(word))).toBe(1);
      expect(await suppressed()).toEqual(['+35699000001 unsubscribe']);
      expect(await tell(reply(word))).toBe(0);
      // However the number is spelled.
      expect(await tell(reply('start', { From: '0035699000001' }))).toBe(1);
      expect(await suppressed()).toEqual([]);
    },
  );

  it.each(['please stop', 'STOP.', 'no', '', 'START', 'YES', 'UNSTOP'])(
    '%j suppresses nothing',
    async (word) => {
      expect(await tell(reply(word))).toBe(0);
      expect(await suppressed()).toEqual([]);
    },
  );

  it('a number that stops again counts from then on', async () => {
    const { tenant_id } = tenant;
    const sql = callbacks.api.platform.postgres;
    const lift = (at_ms: number) =>
      sql.asTenant(tenant_id, (tx) =>
        liftUnsubscriptions(tx, tenant_id, 'sms', [{ address: '+35699000001', at_ms }]),
      );
    const started_ms = Date.now();
    expect(await tell(reply('STOP'))).toBe(1);
    const between_ms = Date.now() + 1;
    await until('the clock goes on', () => Promise.resolve(Date.now() > between_ms));
    expect(await tell(reply('STOP', { From: '0035699000001' }))).toBe(0);
    expect(await lift(started_ms)).toBe(0);
    expect(await lift(between_ms)).toBe(0);
    const again_ms = Date.now() + 1;
    await until('the clock goes on', () => Promise.resolve(Date.now() > again_ms));
    const send_id = await callbacks.message(tenant, twilio, {
      channel: 'sms',
      recipient: 'tel:+35699000001',
    });
    const refused = { MessageSid: 'SM9', MessageStatus: 'undelivered', ErrorCode: '21610' };
    expect(await tell(refused, `&send_id=${send_id}`)).toBe(1);
    expect(await lift(again_ms)).toBe(0);
    expect(await suppressed()).toEqual(['+35699000001 unsubscribe']);
    expect(await lift(Date.now())).toBe(1);
  });

  it('what Twilio itself made of a reply counts before its words', async () => {
    expect(await tell(reply('ARRET', { OptOutType: 'STOP' }))).toBe(1);
    expect(await tell(reply('STOP', { OptOutType: 'HELP' }))).toBe(0);
    expect(await suppressed()).toEqual(['+35699000001 unsubscribe']);
    expect(await tell(reply('RETOUR', { OptOutType: 'START' }))).toBe(1);
    expect(await suppressed()).toEqual([]);
  });

  it('START lifts no bounce and nothing that people have entered', async () => {
    const sms = { channel: 'sms', recipient: '+35699000001' };
    const send_id = await callbacks.message(tenant, twilio, sms);
    await tell(
      { MessageSid: 'SM1', MessageStatus: 'undelivered', ErrorCode: '30005' },
      `&send_id=${send_id}`,
    );
    const body = { channel: 'sms', address: '+35699000002' };
    await callbacks.api.as(tenant.session, '/v1/suppressions', { method: 'POST', body });
    for (const From of ['+35699000001', '+35699000002']) expect(await tell(reply('START', { From }))).toBe(0);
    expect(await suppressed()).toEqual(['+35699000001 bounce', '+35699000002 manual']);
  });

  it('a reply that is replayed changes nothing: an old START lifts no later STOP', async () => {
    await tell(reply('STOP'));
    const start = reply('START');
    expect(await tell(start)).toBe(1);
    await tell(reply('STOP'));
    expect(await tell(start)).toBe(0);
    expect(await suppressed()).toEqual(['+35699000001 unsubscribe']);
  });

  it('a reply needs the signature, a number and an id', async () => {
    expect(await tell(reply('STOP'), '', 'guessed')).toBe(401);
    expect(await tell(reply('STOP', { From: 'whatsapp:+35699000001' }))).toBe(0);
    expect(await tell(reply('STOP', { From: '' }))).toBe(0);
    expect(await tell(reply('STOP', { MessageSid: '' }))).toBe(0);
    expect(await suppressed()).toEqual([]);
  });
});
