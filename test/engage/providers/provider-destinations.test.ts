import { generateKeyPairSync } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Egress } from '../../../src/platform/egress/egress.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { openTestPlatform } from '../../engines/wiring.ts';
import { messagingClient, type MessagingClient } from '../messaging/messaging-client.ts';

/** What the names of the tests lead to at present; a test changes it. */
const addresses = new Map<string, string[]>();
let service: TestService;
let client: MessagingClient;
/** Listens where no message may go. */
let inside: Server;
let connections = 0;
let port = 0;
/** Grants tokens, on an address that the configuration allows. */
const tokens = createHttpServer((_request, response) => response.end('{"access_token":"a","expires_in":60}'));
beforeAll(async () => {
  inside = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
  port = (inside.address() as AddressInfo).port;
  await new Promise<void>((resolve) => tokens.listen(0, '127.0.0.2', resolve));
  service = await startTestService({}, async (config) => ({
    ...(await openTestPlatform(config)),
    egress: new Egress({
      allow: ['127.0.0.2'],
      resolve: (name) => {
        const found = addresses.get(name);
        const missing = Object.assign(new Error('none'), { code: 'ENOTFOUND' });
        return found === undefined ? Promise.reject(missing) : Promise.resolve(found);
      },
    }),
  }));
  client = messagingClient(service);
});
afterAll(async () => {
  inside?.close();
  tokens.closeAllConnections();
  tokens.close();
  await service?.close();
});

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const service_account = {
  project_id: 'casino-1',
  client_email: 'push@casino-1.iam.gserviceaccount.com',
  private_key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
};
const from = 'hi@casino.example';
/** A provider of each kind that sends to a host of the tenant's choice. */
const KINDS = [
  ['smtp', 'email', 'config.host', (host: string) => ({ host, port, from })],
  ['sendgrid', 'email', 'config.base_url', (host: string) => ({ api_key: 'k', from, base_url: url(host) })],
  [
    'twilio',
    'sms',
    'config.base_url',
    (host: string) => ({ account_sid: 'AC1', auth_token: 't', from: '+35621000000', base_url: url(host) }),
  ],
  [
    'fcm',
    'push',
    'config.base_url',
    (host: string) => ({
      service_account: { ...service_account, token_uri: tokenUri() },
      base_url: url(host),
    }),
  ],
  [
    'fcm',
    'push',
    'config.service_account.token_uri',
    (host: string) => ({ service_account: { ...service_account, token_uri: url(host) } }),
  ],
] as const;
const url = (host: string) => `https://${host}:${port}`;
const tokenUri = () => `http://127.0.0.2:${(tokens.address() as AddressInfo).port}`;

describe.each(KINDS)('%s (%s): %s', (kind, channel, path, configOf) => {
  it('is refused when it leads to an address that is not public', async () => {
    addresses.set('internal.example', ['10.1.2.3']);
    for (const host of ['127.0.0.1', '2130706433', 'internal.example']) {
      const answer = await client.api('POST', '/v1/messaging-providers', {
        name: 'x',
        kind,
        channel,
        config: configOf(host),
      });
      expect([answer.status, answer.code], JSON.stringify(answer.error)).toEqual([422, 'VALIDATION_ERROR']);
      const { issues } = (answer.error as { details: { issues: { path: string; message: string }[] } })
        .details;
      expect(issues.map((issue) => issue.path)).toEqual([path]);
      expect(issues[0]?.message).toContain('give a host with public addresses only');
      expect(issues[0]?.message).toMatch(/^"(127\.0\.0\.1|2130706433|internal\.example)" /);
      expect(issues[0]?.message).not.toContain('10.1.2.3');
    }
  });

  it('may be changed to a public host only', async () => {
    addresses.set('public.example', ['93.184.216.34']).set('internal.example', ['10.1.2.3']);
    const id = await client.provider({ kind, channel, config: configOf('public.example') });
    const change = (config: unknown) => client.api('PATCH', `/v1/messaging-providers/${id}`, { config });
    expect((await change(configOf('internal.example'))).code).toBe('VALIDATION_ERROR');
    // A name without an address may be written: each connection checks it.
    expect((await change(configOf('later.example'))).status).toBe(200);
    expect((await change({})).status).toBe(200);
  });

  it('sends nothing after its name has begun to lead inside', async () => {
    addresses.set('moving.example', ['93.184.216.34']);
    const provider_id = await client.provider({ kind, channel, config: configOf('moving.example') });
    addresses.set('moving.example', ['127.0.0.1']);
    const subject = channel === 'sms' ? null : 'Hello';
    const template_id = await client.template({ channel, subject, body: 'text' });
    const recipient = { email: 'ann@example.com', sms: '+35621111111', push: 'device' }[channel];
    const test = await client.api('POST', `/v1/templates/${template_id}/send-test`, {
      recipient,
      provider_id,
    });
    expect(test.data).toMatchObject({ status: 'failed', error_code: 'PROVIDER_UNAVAILABLE' });
    if (channel === 'email') {
      const segment_id = await client.segment(await client.players(3));
      const campaign_id = await client.campaign({ segment_id, template_id, provider_id });
      expect((await client.send(campaign_id)).status).toBe(200);
      const states = async () =>
        (await client.recipients(campaign_id)).map(({ status, error_code, provider_code }) =>
          [status, error_code, provider_code].join(' '),
        );
      // The messages wait, and say what for.
      await until('each was tried', async (saw) => {
        const all = saw(await states());
        return all.every((state) => state === 'queued  EGRESS_REFUSED');
      });
      const { service: sql } = service.platform.postgres;
      await sql`
        update message_sends set enqueued_at = enqueued_at - interval '1 day', retry_at = null
        where campaign_id = ${campaign_id}`;
      // A provider whose row was changed is tried at once.
      await client.api('PATCH', `/v1/messaging-providers/${provider_id}`, { name: `of ${campaign_id}` });
      await client.reaches(campaign_id, 'sent');
      expect(await states()).toEqual(Array(3).fill('failed PROVIDER_UNAVAILABLE EGRESS_REFUSED'));
    }
    expect(connections).toBe(0);
  });
});
