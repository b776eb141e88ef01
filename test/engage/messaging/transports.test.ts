import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../../src/engage/providers/message.ts';
import { emailHtml } from '../../../src/engage/messaging/transports/email.ts';
import { ANSWERS } from '../../../src/engage/messaging/transports/answers.ts';
import { openFcm } from '../../../src/engage/messaging/transports/fcm.ts';
import {
  outcomeOf,
  postToProvider,
  retryAfterMs,
} from '../../../src/engage/messaging/transports/http-call.ts';
import { openSendgrid } from '../../../src/engage/messaging/transports/sendgrid.ts';
import { openTwilio } from '../../../src/engage/messaging/transports/twilio.ts';
import {
  clock,
  cleanUps,
  egress,
  MESSAGE,
  NOW_MS,
  opened,
  PROVIDER_ID,
  reply,
  SEND_ID,
  serve,
  TENANT_ID,
} from './transport-fixture.ts';

describe('SendGrid', () => {
  const open = (base_url: string) =>
    opened(
      openSendgrid(
        { api_key: 'SG.key', from: 'Casino <hi@casino.example>', base_url },
        { clock, egress, tenant_id: TENANT_ID },
      ),
    );

  it('receives the message and the id of its send', async () => {
    const { url, seen } = await serve(reply(202, '', { 'x-message-id': 'sg-1' }));
    expect(await open(url).send(MESSAGE)).toEqual({ kind: 'sent', provider_message_id: 'sg-1' });
    expect(seen[0]?.path).toBe('/v3/mail/send');
    expect(seen[0]?.headers.authorization).toBe('Bearer SG.key');
    const body = JSON.parse(seen[0]?.body ?? '') as { content: { value: string }[] };
    expect(body).toMatchObject({
      personalizations: [
        { to: [{ email: 'ann@example.com' }], custom_args: { send_id: SEND_ID, tenant_id: TENANT_ID } },
      ],
      from: { email: 'hi@casino.example', name: 'Casino' },
      subject: 'Grüße, Ann',
      headers: MESSAGE.headers,
    });
    expect(body.content[0]).toEqual({ type: 'text/plain', value: 'Hello' });
    expect(body.content[1]?.value).toMatch(
      /^<html><body class="x"><div style="display:none[^>]*>Look &amp; see<\/div><p>Hello/,
    );
  });

  it('receives pictures with the ids that the HTML names', async () => {
    const { url, seen } = await serve(reply(202, '', {}));
    await open(url).send({ ...MESSAGE, pictures: [{ cid: 'tile-0-0', png: 'AAAA' }] });
    const body = JSON.parse(seen[0]?.body ?? '') as { attachments: unknown };
    expect(body.attachments).toEqual([
      {
        content: 'AAAA',
        content_id: 'tile-0-0',
        disposition: 'inline',
        filename: 'tile-0-0.png',
        type: 'image/png',
      },
    ]);
  });

  it('puts the preheader into any body', () => {
    const html = (body: string) => emailHtml({ body, preheader: 'p' });
    expect(html('<BODY class="x">Hello')).toMatch(/^<BODY class="x"><div [^>]*>p<\/div>Hello$/);
    expect(html('Hello')).toMatch(/^<div [^>]*>p<\/div>Hello$/);
  });

  it.each([
    ['<!doctype html><p>Hi', '<!doctype html>'],
    ['<!DOCTYPE html>\n<html lang="en"><p>Hi', '<!DOCTYPE html>\n<html lang="en">'],
    ['<html><head><title>&lt;body></title></head ><p>Hi', '<html><head><title>&lt;body></title></head >'],
    ['<!-- <body> --><body><p>Hi', '<!-- <body> --><body>'],
    [
      '<!--[if mso]><body class="mso"><![endif]--><!--[if !mso]><!--><body class="o"><!--<![endif]-->Hi',
      '<!--[if mso]><body class="mso"><![endif]--><!--[if !mso]><!--><body class="o">',
    ],
    [
      '<head><style>/* <body> */ body > p {}</style></head><body data-x="a > b">Hi',
      '<head><style>/* <body> */ body > p {}</style></head><body data-x="a > b">',
    ],
    ['<html data-x="<body>"><body>Hi<body>', '<html data-x="<body>"><body>'],
    ['<bodyguard>Hi', ''],
  ])(
    'puts the preheader after the first real body, and never before the document type: %s',
    (body, before) => {
      const sent = emailHtml({ body, preheader: 'p' });
      expect(sent.startsWith(`${before}<div style="display:none`)).toBe(true);
      expect(sent.replace(/<div style="display:none[^>]*>p<\/div>/, '')).toBe(body);
    },
  );

  it('gets no extra header from player data', async () => {
    const { url, seen } = await serve(reply(202));
    const headers = { 'X-A\r\nBcc': 'x\r\nBcc: y@z.example' };
    const sent = open(url).send({ ...MESSAGE, subject: 'a\r\nBcc: b', headers, send_id: null });
    expect(await sent).toEqual({ kind: 'sent', provider_message_id: null });
    expect(await open(url).send({ ...MESSAGE, recipient: 'a@b.c\n' })).toMatchObject({ kind: 'rejected' });
    expect(seen).toHaveLength(1);
    expect(JSON.stringify(JSON.parse(seen[0]?.body ?? ''))).not.toMatch(/\\[rn]/);
    expect(seen[0]?.body).not.toContain('send_id');
  });

  it.each([
    // Refused credentials are the provider's fault: no message is to blame.
    [401, { kind: 'retry', reason: 'HTTP 401', retry_after_ms: null, is_of_credentials: true }],
    [403, { kind: 'retry', reason: 'HTTP 403', retry_after_ms: null, is_of_credentials: true }],
    [400, { kind: 'rejected', reason: 'HTTP 400' }],
    [302, { kind: 'rejected', reason: 'HTTP 302' }],
    // It takes no idempotency key, so a message after these may have gone out.
    [408, { kind: 'unknown', reason: 'HTTP 408' }],
    [502, { kind: 'unknown', reason: 'HTTP 502' }],
    [504, { kind: 'unknown', reason: 'HTTP 504' }],
    [524, { kind: 'unknown', reason: 'HTTP 524' }],
    [500, { kind: 'retry', reason: 'HTTP 500', retry_after_ms: null }],
    [503, { kind: 'retry', reason: 'HTTP 503', retry_after_ms: null }],
    [200, { kind: 'sent', provider_message_id: null }],
  ])('answers %i', async (status, outcome) => {
    const { url, seen } = await serve(
      reply(status, '{"errors":[{"message":"ann@example.com is\\n no more","field":"to"}]}', {
        location: '/elsewhere',
      }),
    );
    const fault = { code: 'to', text: 'ann@example.com is no more' };
    const expected = outcome.kind === 'sent' ? outcome : { ...outcome, fault };
    expect(await open(url).send(MESSAGE)).toEqual(expected);
    expect(seen).toHaveLength(1);
  });

  it('is paused for as long as its Retry-After says', async () => {
    const answers = [
      '7',
      new Date(NOW_MS + 90_000).toUTCString(),
      'nonsense',
      new Date(NOW_MS - 5_000).toUTCString(),
    ];
    const { url } = await serve((response) =>
      reply(429, '', { 'retry-after': answers.shift() ?? '' })(response),
    );
    const transport = open(url);
    for (const retry_after_ms of [7_000, 90_000, null, 0]) {
      const fault = { code: '429', text: null };
      const outcome = { kind: 'retry', reason: 'HTTP 429', retry_after_ms, fault };
      expect(await transport.send(MESSAGE)).toEqual(outcome);
    }
  });

  it('may have sent a message that it did not answer', async () => {
    const { url } = await serve((response, _seen, request) => {
      if (request.headers['x-never'] === undefined) request.socket.destroy();
      else response.destroy();
    });
    expect(await open(url).send(MESSAGE)).toMatchObject({ kind: 'unknown' });
  });

  it('has sent nothing when it cannot be reached', async () => {
    const { url } = await serve(reply(202));
    for (const close of cleanUps.splice(0)) await close();
    expect(await open(url).send(MESSAGE)).toMatchObject({ kind: 'retry', reason: 'ECONNREFUSED' });
    expect(await open('http://127.0.0.1:1').send(MESSAGE)).toMatchObject({
      kind: 'retry',
      reason: 'BAD_PORT',
    });
    const nowhere = await open('http://nowhere.invalid').send(MESSAGE);
    expect(nowhere).toMatchObject({ kind: 'retry' });
  });

  it('has sent an accepted message even if its answer breaks off', async () => {
    const { url } = await serve((response) => {
      response.writeHead(202, { 'content-length': '1000', 'x-message-id': 'sg-2' });
      response.write('{"a');
      setTimeout(() => response.destroy(), 20);
    });
    expect(await open(url).send(MESSAGE)).toMatchObject({ kind: 'sent' });
  });

  it('reuses connections', async () => {
    const ports = new Set<number | undefined>();
    const { url } = await serve((response, _seen, request) => {
      ports.add(request.socket.remotePort);
      reply(202, '{}')(response);
    });
    const transport = open(url);
    for (let i = 0; i < 10; i++) await transport.send(MESSAGE);
    expect(ports.size).toBeLessThanOrEqual(2);
  });
});

describe('one request', () => {
  it('ends after its timeout', async () => {
    const { url } = await serve(() => undefined);
    const answer = await postToProvider({ egress, url, headers: {}, body: 'x', timeout_ms: 100 });
    expect(answer).toEqual({ not_sent: false, reason: 'TIMEOUT' });
    expect(outcomeOf(answer, ANSWERS.sendgrid, NOW_MS, () => null)).toEqual({
      kind: 'unknown',
      reason: 'TIMEOUT',
    });
  });

  it('reads at most the size limit of an answer', async () => {
    let written = 0;
    // Without an end: a client that read all of it would have no answer.
    const { url } = await serve((response) => {
      response.writeHead(200);
      const more = () => {
        if (response.destroyed) return;
        written += 10_000;
        if (response.write('x'.repeat(10_000))) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    });
    for (let n = 1; n <= 2; n++) {
      const answer = await postToProvider({ egress, url, headers: {}, body: 'x' });
      expect('text' in answer ? (answer.text?.length ?? 0) : -1).toBeLessThan(70_000);
    }
    // What the buffers of two connections hold.
    expect(written).toBeLessThan(20_000_000);
  });

  it('parses Retry-After', () => {
    expect(retryAfterMs(null, NOW_MS)).toBeNull();
    expect(retryAfterMs('', NOW_MS)).toBeNull();
    expect(retryAfterMs('-1', NOW_MS)).toBe(0);
    expect(retryAfterMs('0', NOW_MS)).toBe(0);
    expect(retryAfterMs('999999999', NOW_MS)).toBe(24 * 3_600_000);
  });
});

describe('Twilio', () => {
  const sms: Message = {
    ...MESSAGE,
    channel: 'sms',
    recipient: '+35621000000',
    subject: null,
    preheader: null,
    body: 'Hi & 😀',
    headers: {},
  };
  const open = (base_url: string, from = '+35622000000') =>
    opened(
      openTwilio(
        { account_sid: 'AC01', auth_token: 'secret', from, base_url },
        { clock, egress, public_url: 'https://crm.example', provider_id: PROVIDER_ID },
      ),
    );

  it('receives the message and the URL of its callback', async () => {
    const { url, seen } = await serve(reply(201, '{"sid":"SM1","status":"queued"}'));
    expect(await open(url).send(sms)).toEqual({ kind: 'sent', provider_message_id: 'SM1' });
    expect(seen[0]?.path).toBe('/2010-04-01/Accounts/AC01/Messages.json');
    expect(seen[0]?.headers.authorization).toBe(`Basic ${Buffer.from('AC01:secret').toString('base64')}`);
    expect(Object.fromEntries(new URLSearchParams(seen[0]?.body))).toEqual({
      To: '+35621000000',
      From: '+35622000000',
      Body: 'Hi & 😀',
      StatusCallback: `https://crm.example/v1/messaging-webhooks/twilio?provider_id=${PROVIDER_ID}&send_id=${SEND_ID}`,
    });
    await open(url, `MG${'0'.repeat(32)}`).send({ ...sms, send_id: null });
    expect(Object.keys(Object.fromEntries(new URLSearchParams(seen[1]?.body))).sort()).toEqual([
      'Body',
      'MessagingServiceSid',
      'To',
    ]);
  });

  it.each([
    [201, 'garbage', { kind: 'sent', provider_message_id: null }],
    [201, '[]', { kind: 'sent', provider_message_id: null }],
    [201, '{"sid":7}', { kind: 'sent', provider_message_id: null }],
    [401, '{}', { kind: 'retry', reason: 'HTTP 401', is_of_credentials: true }],
    [401, '{"code":20003,"message":"Authenticate"}', { kind: 'retry', is_of_credentials: true }],
    [403, '{"code":20005,"message":"Account is not active"}', { kind: 'retry', is_of_credentials: true }],
    // An account that does not exist.
    [404, '{"code":20404,"message":"Not found"}', { kind: 'retry', is_of_credentials: true }],
    // What is wrong is the country of this number.
    [403, '{"code":21408,"message":"No permission"}', { kind: 'rejected', reason: 'HTTP 403' }],
    [
      400,
      `{"code":21211,"message":"${'long '.repeat(200)}"}`,
      { kind: 'rejected', reason: 'HTTP 400', fault: { code: '21211', text: 'long '.repeat(100).trim() } },
    ],
    [408, '', { kind: 'unknown', reason: 'HTTP 408' }],
    [502, '', { kind: 'unknown', reason: 'HTTP 502' }],
    [504, '', { kind: 'unknown', reason: 'HTTP 504' }],
    [429, '', { kind: 'retry', reason: 'HTTP 429', retry_after_ms: 2_000 }],
    [500, '', { kind: 'retry', reason: 'HTTP 500', retry_after_ms: 2_000 }],
  ])('answers %i %s', async (status, body, outcome) => {
    const { url } = await serve(reply(status, body, { 'retry-after': '2' }));
    expect(await open(url).send(sms)).toMatchObject(outcome);
  });
});

describe('FCM', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const push: Message = {
    ...MESSAGE,
    channel: 'push',
    recipient: 'device-1',
    subject: 'Title',
    preheader: null,
    body: 'Text',
    data: { link: '/x' },
    headers: {},
  };
  const account = (url: string) => ({
    project_id: 'casino-1',
    client_email: 'push@casino.example',
    private_key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    private_key_id: 'key-1',
    token_uri: `${url}/token`,
  });
  const TOKEN = { access_token: 'ya29', expires_in: 3_600 };
  const fcm = async (
    token: (response: ServerResponse) => void,
    send: (response: ServerResponse) => void,
    now = clock,
  ) => {
    const server = await serve((response, { path }) =>
      path === '/token' ? token(response) : send(response),
    );
    const transport = opened(
      openFcm({ service_account: account(server.url), base_url: server.url }, { clock: now, egress }),
    );
    const paths = () => server.seen.map(({ path }) => path);
    return { ...server, transport, paths };
  };

  it('receives the message with an access token that the service account obtained', async () => {
    const { transport, seen, url } = await fcm(
      reply(200, JSON.stringify(TOKEN)),
      reply(200, '{"name":"projects/casino-1/messages/1"}'),
    );
    expect(await transport.send(push)).toEqual({
      kind: 'sent',
      provider_message_id: 'projects/casino-1/messages/1',
    });
    const form = new URLSearchParams(seen[0]?.body);
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', publicKey, {
      audience: `${url}/token`,
      issuer: 'push@casino.example',
      currentDate: new Date(NOW_MS),
    });
    expect(payload['scope']).toBe('https://www.googleapis.com/auth/firebase.messaging');
    expect(protectedHeader).toMatchObject({ alg: 'RS256', kid: 'key-1' });
    expect(seen[1]?.path).toBe('/v1/projects/casino-1/messages:send');
    expect(seen[1]?.headers.authorization).toBe('Bearer ya29');
    expect(JSON.parse(seen[1]?.body ?? '')).toEqual({
      message: {
        token: 'device-1',
        notification: { title: 'Title', body: 'Text' },
        data: { link: '/x', send_id: SEND_ID },
      },
    });
  });

  it('fetches one token for many messages, and another one when it expires', async () => {
    let now_ms = NOW_MS;
    const { transport, paths } = await fcm(reply(200, JSON.stringify(TOKEN)), reply(200, '{"name":"x"}'), {
      now_ms: () => now_ms,
    });
    await Promise.all(Array.from({ length: 10 }, () => transport.send(push)));
    expect(paths().filter((path) => path === '/token')).toHaveLength(1);
    now_ms += 3_541_000;
    await Promise.all(Array.from({ length: 10 }, () => transport.send(push)));
    expect(paths().filter((path) => path === '/token')).toHaveLength(2);
    expect(paths()).toHaveLength(22);
  });

  it.each([
    [reply(401, '{}'), { kind: 'retry', reason: 'token: HTTP 401', is_of_credentials: true }],
    // A second token does no harm.
    [reply(502), { kind: 'retry', reason: 'token: HTTP 502', retry_after_ms: null }],
    [
      reply(400, '{"error":"invalid_grant","error_description":"Invalid JWT Signature."}'),
      {
        kind: 'retry',
        is_of_credentials: true,
        reason: 'token: HTTP 400',
        fault: { code: 'invalid_grant', text: 'Invalid JWT Signature.' },
      },
    ],
    [
      reply(429, '', { 'retry-after': '3' }),
      { kind: 'retry', reason: 'token: HTTP 429', retry_after_ms: 3_000 },
    ],
    [reply(500), { kind: 'retry', reason: 'token: HTTP 500', retry_after_ms: null }],
    [reply(200, 'garbage'), { kind: 'retry', reason: 'token: the answer has none', retry_after_ms: null }],
  ])('sends nothing without a token: %#', async (token, outcome) => {
    const { transport, paths } = await fcm(token, reply(200, '{"name":"x"}'));
    expect(await transport.send(push)).toMatchObject(outcome);
    expect(await transport.send(push)).toMatchObject(outcome);
    expect(paths()).toEqual(['/token', '/token']);
  });

  it('has sent nothing when the answer with the token breaks off', async () => {
    const { transport } = await fcm((response) => response.destroy(), reply(200));
    expect(await transport.send(push)).toMatchObject({ kind: 'retry', retry_after_ms: null });
  });

  it.each([
    [
      reply(404, '{"error":{"status":"NOT_FOUND"}}'),
      { kind: 'rejected', reason: 'HTTP 404', fault: { code: 'NOT_FOUND', text: null } },
    ],
    [reply(408), { kind: 'unknown', reason: 'HTTP 408' }],
    [reply(502), { kind: 'unknown', reason: 'HTTP 502' }],
    [reply(504), { kind: 'unknown', reason: 'HTTP 504' }],
    [reply(429, '', { 'retry-after': '4' }), { kind: 'retry', reason: 'HTTP 429', retry_after_ms: 4_000 }],
    [reply(500), { kind: 'retry', reason: 'HTTP 500', retry_after_ms: null }],
    [reply(200, 'garbage'), { kind: 'sent', provider_message_id: null }],
  ])('answers: %#', async (send, outcome) => {
    const { transport } = await fcm(reply(200, JSON.stringify(TOKEN)), send);
    expect(await transport.send(push)).toMatchObject(outcome);
  });

  it('fetches another token after one was refused', async () => {
    const answers = [401, 200, 401, 200];
    const { transport, paths } = await fcm(reply(200, JSON.stringify(TOKEN)), (response) =>
      reply(answers.shift() ?? 500, '{"name":"x"}')(response),
    );
    // When a new token is refused as well, another one would not help.
    expect(await transport.send(push)).toMatchObject({ kind: 'retry', is_of_credentials: true });
    expect(await transport.send(push)).toMatchObject({ kind: 'sent' });
    expect(await transport.send(push)).toEqual({ kind: 'retry', reason: 'HTTP 401', retry_after_ms: null });
    expect(await transport.send(push)).toMatchObject({ kind: 'sent' });
    expect(paths().filter((path) => path === '/token')).toHaveLength(3);
  });

  const refusal = (status: string, errorCode: string) =>
    JSON.stringify({ error: { status, message: 'no', details: [{ errorCode }] } });

  it('refuses one message, whose token belongs to an app without its own credentials', async () => {
    const answers = [
      [401, refusal('UNAUTHENTICATED', 'THIRD_PARTY_AUTH_ERROR')],
      [403, refusal('PERMISSION_DENIED', 'SENDER_ID_MISMATCH')],
      [200, '{"name":"x"}'],
      [403, '{"error":{"status":"PERMISSION_DENIED","message":"The API is disabled"}}'],
    ] as const;
    let sent = 0;
    const { transport, paths } = await fcm(reply(200, JSON.stringify(TOKEN)), (response) => {
      const [status, body] = answers[sent++] ?? [500, ''];
      reply(status, body)(response);
    });
    const fault = { code: 'THIRD_PARTY_AUTH_ERROR', text: 'no' };
    expect(await transport.send(push)).toEqual({ kind: 'rejected', reason: 'HTTP 401', fault });
    expect(await transport.send(push)).toMatchObject({ kind: 'rejected', reason: 'HTTP 403' });
    expect(await transport.send(push)).toMatchObject({ kind: 'sent' });
    expect(await transport.send(push)).toMatchObject({ kind: 'retry', is_of_credentials: true });
    // The service's own token was good all the time.
    expect(paths().filter((path) => path === '/token')).toHaveLength(1);
  });

  it('sends nothing with a key that cannot sign', async () => {
    const server = await serve(reply(200, '{"name":"x"}'));
    const service_account = { ...account(server.url), private_key: 'no key' };
    const transport = opened(openFcm({ service_account, base_url: server.url }, { clock, egress }));
    expect(await transport.send(push)).toMatchObject({ kind: 'retry', is_of_credentials: true });
    expect(server.seen).toEqual([]);
  });
});
