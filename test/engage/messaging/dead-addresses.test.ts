import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { plainArray } from '../../../src/platform/postgres/arrays.ts';
import { messengerOf, openMessengerFixture, urlOf, type MessengerFixture } from './messenger-fixture.ts';

let fixture: MessengerFixture;
let push_account: Record<string, string>;
/** The provider's answer to a message; of FCM to those to a bad token, where there are others. */
let answer: readonly [status: number, body: object];
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const is_good = request.url === '/token' || Buffer.concat(chunks).includes('"token":"good');
    const [status, body] = is_good ? [200, { access_token: 'ya29', name: 'sent' }] : answer;
    response.writeHead(status).end(JSON.stringify(body));
  });
});
beforeAll(async () => {
  fixture = await openMessengerFixture();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  push_account = {
    project_id: 'casino-1',
    client_email: 'push@casino.example',
    private_key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    token_uri: `${urlOf(server)}/token`,
  };
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await fixture?.close();
});

type Operator = Awaited<ReturnType<MessengerFixture['newTenant']>>;

/** Sends one campaign after the other to these players; returns the rows of each. */
async function sendTwice(
  { client, sending }: Operator,
  players: string[],
  provider: Record<string, unknown>,
) {
  const provider_id = await client.provider(provider);
  const { messenger, turnsUntil } = messengerOf(fixture.service);
  try {
    const rows = [];
    for (let n = 0; n < 2; n++) {
      const campaign_id = await sending(players, { provider_id, channel: provider['channel'] ?? 'email' });
      await turnsUntil('all are decided', async () =>
        (await client.recipients(campaign_id)).every(({ status }) => !['queued', 'sending'].includes(status)),
      );
      rows.push(await client.recipients(campaign_id));
    }
    return rows.map((of_one) => of_one.map(({ error_code, provider_code }) => [error_code, provider_code]));
  } finally {
    await messenger.close();
  }
}

const suppressions = (players: string[]) =>
  fixture.service.platform.postgres.service<{ address: string; reason: string; detail: string | null }[]>`
    select x.address, x.reason, x.detail from suppressions x join players p using (tenant_id)
    where p.player_id in ${fixture.service.platform.postgres.service(players)} and x.address in (lower(p.email), lower(p.custom_attributes ->> 'push_token'))`;

const fcmError = (code: number, status: string, message: string, details: object[]) =>
  [code, { error: { code, status, message, details } }] as const;
const ofFcm = (errorCode: string) => ({
  '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError',
  errorCode,
});
const violation = (field: string) => ({
  '@type': 'type.googleapis.com/google.rpc.BadRequest',
  fieldViolations: [{ field, description: 'Invalid value' }],
});

it.each([
  [
    'UNREGISTERED',
    fcmError(404, 'NOT_FOUND', 'Requested entity was not found.', [ofFcm('UNREGISTERED')]),
    true,
  ],
  [
    'INVALID_ARGUMENT',
    fcmError(400, 'INVALID_ARGUMENT', 'Invalid value', [
      ofFcm('INVALID_ARGUMENT'),
      violation('message.token'),
    ]),
    true,
  ],
  [
    'INVALID_ARGUMENT',
    fcmError(400, 'INVALID_ARGUMENT', 'The registration token is not a valid FCM registration token', []),
    true,
  ],
  [
    'INVALID_ARGUMENT',
    fcmError(400, 'INVALID_ARGUMENT', 'Invalid data', [ofFcm('INVALID_ARGUMENT'), violation('message.data')]),
    false,
  ],
  ['NOT_FOUND', fcmError(404, 'NOT_FOUND', 'Project not found', []), false],
])(
  'a push token that FCM refuses with %s is suppressed, unless the message is at fault: %#',
  async (code, said, is_dead) => {
    answer = said;
    const operator = await fixture.newTenant();
    const players = await operator.client.players(1);
    await fixture.service.platform.postgres.service`
    update players set custom_attributes = ${'{"push_token": "Device-1"}'}::text::jsonb
    where player_id in ${fixture.service.platform.postgres.service(players)}`;
    const config = { service_account: push_account, base_url: urlOf(server) };
    const rows = await sendTwice(operator, players, { kind: 'fcm', channel: 'push', config });
    const refused = ['PROVIDER_REJECTED', code];
    expect(rows).toEqual([[refused], [is_dead ? ['SKIPPED_SUPPRESSED', null] : refused]]);
    const suppressed = is_dead ? [{ address: 'device-1', reason: 'bounce', detail: code }] : [];
    expect(await suppressions(players)).toEqual(suppressed);
  },
);

it('a push token of an app that Firebase has no key for is refused alone, and no other message waits', async () => {
  answer = fcmError(401, 'UNAUTHENTICATED', 'Auth error from APNS', [ofFcm('THIRD_PARTY_AUTH_ERROR')]);
  const { client, sending } = await fixture.newTenant();
  const players = await client.players(80);
  const { service } = fixture.service.platform.postgres;
  await service`
    update players p set custom_attributes = jsonb_build_object('push_token', case when n % 4 = 0 then 'bad' else 'good' end || n)
    from unnest(${plainArray(players)}::text::uuid[]) with ordinality as u (player_id, n) where p.player_id = u.player_id`;
  const config = { service_account: push_account, base_url: urlOf(server) };
  const provider_id = await client.provider({ kind: 'fcm', channel: 'push', config });
  const campaign_id = await sending(players, { provider_id, channel: 'push' });
  // Its clock stands still: a provider that rests would be probed no more.
  const now_ms = Date.now() + 60_000;
  const { messenger, turnsUntil } = messengerOf(fixture.service, { clock: { now_ms: () => now_ms } });
  try {
    const statuses = async () => (await client.recipients(campaign_id)).map(({ status }) => status);
    await turnsUntil('all are decided', async () =>
      (await statuses()).every((one) => /sent|failed/.test(one)),
    );
    expect((await statuses()).filter((one) => one === 'sent')).toHaveLength(60);
  } finally {
    await messenger.close();
  }
  expect(
    (await client.api('GET', `/v1/messaging-providers/${provider_id}`)).data['credentials_refused'],
  ).toBeNull();
});

it.each([
  [21610, 'unsubscribe'],
  [21211, 'bounce'],
  [21614, 'bounce'],
  [21408, null],
])('a number that Twilio refuses with %i is suppressed: %s', async (code, reason) => {
  answer = [400, { code, message: 'no', status: 400 }];
  const operator = await fixture.newTenant();
  const players = await operator.client.players(1, { phone: '+35699000001' });
  const config = { account_sid: 'AC1', auth_token: 'x', from: '+15550000000', base_url: urlOf(server) };
  const rows = await sendTwice(operator, players, { kind: 'twilio', channel: 'sms', config });
  const refused = ['PROVIDER_REJECTED', String(code)];
  expect(rows).toEqual([[refused], [reason === null ? refused : ['SKIPPED_SUPPRESSED', null]]]);
  const found = await fixture.service.platform.postgres.service`
    select x.reason, x.detail from suppressions x join players p using (tenant_id)
    where p.player_id = ${players[0] ?? ''} and x.channel = 'sms' and x.address = p.phone`;
  expect(found).toEqual(reason === null ? [] : [{ reason, detail: String(code) }]);
});

it.each([
  ['550 5.1.1 User unknown', '5.1.1', true],
  ['550 No such user here', '550', true],
  ['550 Requested action not taken: mailbox unavailable, user unknown', '550', true],
  ['550 Sender verify failed', '550', false],
  ['550 5.1.0 Sender rejected', '5.1.0', false],
  ['550 Relaying denied: no such user at an unknown host', '550', false],
  ['554 5.7.1 Relay access denied', '5.7.1', false],
  ['550 relay not permitted', '550', false],
  ['552 5.2.2 Mailbox full', '5.2.2', false],
])('a mailbox that a mail server refuses with `%s` (%s) is suppressed: %s', async (reply, code, is_dead) => {
  const mail = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    onRcptTo: (_address, _session, done) =>
      done(Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) })),
  });
  mail.on('error', () => undefined);
  await new Promise<void>((resolve) => mail.listen(0, '127.0.0.1', resolve));
  try {
    const operator = await fixture.newTenant();
    const players = await operator.client.players(1);
    const { port } = mail.server.address() as AddressInfo;
    const config = { host: '127.0.0.1', port, from: 'hi@casino.example' };
    const rows = await sendTwice(operator, players, { kind: 'smtp', config });
    const refused = ['PROVIDER_REJECTED', code];
    expect(rows).toEqual([[refused], [is_dead ? ['SKIPPED_SUPPRESSED', null] : refused]]);
    const address = `${players[0]}@example.com`;
    expect(await suppressions(players)).toEqual(is_dead ? [{ address, reason: 'bounce', detail: code }] : []);
  } finally {
    await new Promise<void>((resolve) => mail.close(() => resolve()));
  }
});
