import { once } from 'node:events';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { describe, expect, it } from 'vitest';
import { LOOPBACK_NETWORKS } from '../../../src/platform/egress/addresses.ts';
import { Egress, type Destination } from '../../../src/platform/egress/egress.ts';
import type { ProviderRow } from '../../../src/engage/providers/queries.ts';
import { openSmtp } from '../../../src/engage/messaging/transports/smtp.ts';
import { Transports } from '../../../src/engage/messaging/transports/transports.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import {
  certificateFor,
  clock,
  cleanUps,
  egress,
  MESSAGE,
  opened,
  PROVIDER_ID,
  SEND_ID,
  TENANT_ID,
} from './transport-fixture.ts';

describe('SMTP', () => {
  interface Mail {
    from: string | false;
    to: string[];
    text: string;
  }

  const smtp = async (options: SMTPServerOptions = {}) => {
    const mails: Mail[] = [];
    const server = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      authOptional: true,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        username === 'user' && password === 'pass' ? done(null, { user: 'user' }) : done(new Error('no')),
      onData(stream, session, done) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          mails.push({
            from: mailFrom && mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            text: Buffer.concat(chunks).toString(),
          });
          done();
        });
      },
      ...options,
    });
    server.on('error', () => undefined);
    const accepted: Socket[] = [];
    server.server.on('connection', (socket) => accepted.push(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
    return { port: (server.server.address() as AddressInfo).port, mails, accepted };
  };
  const open = (
    port: number,
    rest: { host?: string; username?: string; password?: string; from?: string; require_tls?: boolean } = {},
    options: Partial<Parameters<typeof openSmtp>[1]> = {},
  ) =>
    opened(
      openSmtp(
        { host: '127.0.0.1', port, from: 'Casino <hi@casino.example>', ...rest },
        { egress, silence_ms: 20_000, ...options },
      ),
    );
  const refusal = (responseCode: number) => Object.assign(new Error('no'), { responseCode });

  /** A line-based server: `says` gives its answer to each line of the client; null ends the connection. */
  const lines = async (
    says: (line: string, in_data: boolean) => string | null | undefined,
    greeting = '220 hi\r\n',
  ) => {
    let connections = 0;
    const sockets: Socket[] = [];
    const server = createTcpServer((socket) => {
      connections += 1;
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.write(greeting);
      let in_data = false;
      let rest = '';
      socket.on('data', (chunk) => {
        const parts = (rest + chunk.toString()).split('\r\n');
        rest = parts.pop() ?? '';
        for (const line of parts) {
          const said = says(line, in_data);
          if (line === 'DATA') in_data = true;
          else if (line === '.') in_data = false;
          if (said === null) {
            socket.destroy();
            return;
          }
          if (said !== undefined) socket.write(said);
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return { port: (server.address() as AddressInfo).port, connections: () => connections };
  };
  const usual = (line: string, in_data: boolean) => {
    if (in_data && line !== '.') return undefined;
    return line === 'DATA' ? '354 go on\r\n' : '250 ok\r\n';
  };

  it('receives the message with its headers', async () => {
    const { port, mails } = await smtp();
    const transport = open(port, { username: 'user', password: 'pass' });
    const provider_message_id = `<${SEND_ID}@casino.example>`;
    expect(await transport.send(MESSAGE)).toEqual({ kind: 'sent', provider_message_id });
    expect(mails[0]).toMatchObject({ from: 'hi@casino.example', to: ['ann@example.com'] });
    const unfolded = mails[0]?.text.replace(/\r\n[ \t]+/g, ' ') ?? '';
    expect(unfolded).toContain(`Message-ID: ${provider_message_id}`);
    expect(unfolded).toContain('From: Casino <hi@casino.example>');
    expect(unfolded).toContain('To: ann@example.com');
    expect(unfolded).toMatch(/^Subject: =\?UTF-8\?/m);
    expect(unfolded).toContain(`List-Unsubscribe: ${MESSAGE.headers['List-Unsubscribe']}`);
    expect(unfolded).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click');
    expect(unfolded.replace(/=\r\n/g, '')).toContain('Look &amp; see</div><p>Hello</p>');
    expect(await transport.send({ ...MESSAGE, send_id: null })).toEqual({
      kind: 'sent',
      provider_message_id: null,
    });
  });

  it('receives pictures with the ids that the HTML names', async () => {
    const { port, mails } = await smtp();
    const png = Buffer.from('a picture').toString('base64');
    const body = '<p>Look</p><img src="cid:tile-0-0">';
    await open(port).send({ ...MESSAGE, body, pictures: [{ cid: 'tile-0-0', png }] });
    expect(mails[0]?.text).toMatch(/^Content-Type: multipart\/related/m);
    const [, part] = mails[0]?.text.split(/^Content-Type: image\/png/m) ?? [];
    expect(part).toContain('Content-ID: <tile-0-0>');
    expect(part).toMatch(/^Content-Disposition: inline; filename=tile-0-0\.png/m);
    expect(part).toContain(png);
  });

  it('receives a text part beside the HTML', async () => {
    const { port, mails } = await smtp();
    await open(port).send({ ...MESSAGE, text: 'Hello (https://x.example)' });
    expect(mails[0]?.text).toMatch(/^Content-Type: multipart\/alternative/m);
    expect(mails[0]?.text).toMatch(
      /^Content-Type: text\/plain[^]*Hello \(https:\/\/x\.example\)[^]*^Content-Type: text\/html/m,
    );
  });

  describe('require_tls', () => {
    it('sends nothing to a server that does not encrypt', async () => {
      const heard: string[] = [];
      const { port } = await lines((line, in_data) => {
        heard.push(line);
        return line === 'STARTTLS' ? '502 no such command\r\n' : usual(line, in_data);
      });
      const outcome = await open(port, { username: 'user', password: 'pass', require_tls: true }).send(
        MESSAGE,
      );
      expect(outcome).toMatchObject({ kind: 'retry', retry_after_ms: null });
      expect(outcome).toHaveProperty(
        'reason',
        expect.stringContaining('does not encrypt the connection (STARTTLS)'),
      );
      expect(heard.filter((line) => !/^(EHLO|HELO|STARTTLS|QUIT)/.test(line))).toEqual([]);
    });

    it('is the default, except on loopback', async () => {
      const { port, mails } = await smtp();
      expect(await open(port).send(MESSAGE)).toMatchObject({ kind: 'sent' });
      expect(await open(port, { require_tls: false }).send(MESSAGE)).toMatchObject({ kind: 'sent' });
      const elsewhere = Object.assign(new Egress({ allow: LOOPBACK_NETWORKS }), {
        connect: async (destination: Destination) => {
          const socket = await egress.connect(destination);
          return Object.defineProperty(socket, 'remoteAddress', { value: '93.184.216.34' });
        },
      });
      const config = { host: '127.0.0.1', port, from: 'hi@casino.example' };
      const outcome = await opened(openSmtp(config, { egress: elsewhere })).send(MESSAGE);
      expect(outcome).toMatchObject({ kind: 'retry' });
      expect(mails).toHaveLength(2);
    });

    it('encrypts, if the certificate is trusted and names the host', async () => {
      const { key, cert } = await certificateFor('localhost');
      const { port, mails } = await smtp({ disabledCommands: [], key, cert });
      const required = { host: 'localhost', require_tls: true };
      const untrusted = await open(port, required).send(MESSAGE);
      expect(untrusted).toMatchObject({ kind: 'retry' });
      expect(untrusted).toHaveProperty('reason', expect.not.stringContaining('does not encrypt'));
      const other = await certificateFor('other.example');
      const wrong = await smtp({ disabledCommands: [], ...other });
      expect(await open(wrong.port, required, { ca: other.cert }).send(MESSAGE)).toMatchObject({
        kind: 'retry',
      });
      expect([...mails, ...wrong.mails]).toEqual([]);
      expect(await open(port, required, { ca: cert }).send(MESSAGE)).toMatchObject({ kind: 'sent' });
      expect(mails).toHaveLength(1);
    });
  });

  it('gets no extra header or recipient from player data', async () => {
    const { port, mails } = await smtp();
    const hostile = 'x\r\nBcc: thief@example.com\r\n\r\nbody';
    const subject = await open(port).send({
      ...MESSAGE,
      subject: hostile,
      headers: { 'X-Note': hostile, 'X-A\r\nBcc': 'y' },
    });
    expect(subject).toMatchObject({ kind: 'sent' });
    const head = mails[0]?.text.slice(0, mails[0].text.indexOf('\r\n\r\n')) ?? '';
    expect(head).not.toMatch(/^Bcc/im);
    expect(mails[0]?.to).toEqual(['ann@example.com']);
    for (const recipient of [
      'a@b.c, thief@example.com',
      'a@b.c>\r\nRCPT TO:<thief@example.com',
      '"x" <thief@example.com>, b@c.d',
    ]) {
      const outcome = await open(port).send({ ...MESSAGE, recipient });
      expect(outcome).toMatchObject({ kind: 'rejected' });
    }
    expect(mails).toHaveLength(1);
  });

  it.each([
    ['a login that is wrong', {}, { username: 'user', password: 'wrong' }, 'credentials'],
    [
      'a sender that has not logged in',
      { onMailFrom: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(refusal(530)) },
      {},
      'credentials',
    ],
    [
      'a recipient that is no more',
      { onRcptTo: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(refusal(550)) },
      {},
      'rejected',
    ],
    [
      'a recipient that has to wait',
      { onRcptTo: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(refusal(451)) },
      {},
      'retry',
    ],
    [
      'a sender that may not',
      { onMailFrom: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(refusal(553)) },
      {},
      'rejected',
    ],
    [
      'no connections now',
      { onConnect: (_s: unknown, done: (e: Error) => void) => done(refusal(421)) },
      {},
      'retry',
    ],
    [
      'no connections for us',
      { onConnect: (_s: unknown, done: (e: Error) => void) => done(refusal(554)) },
      {},
      'retry',
    ],
  ] as const)('refuses: %s', async (_what, options: SMTPServerOptions, rest, kind) => {
    const { port, mails } = await smtp(options);
    const outcome = await open(port, rest).send(MESSAGE);
    const is_of_credentials = 'is_of_credentials' in outcome;
    expect(is_of_credentials ? 'credentials' : outcome.kind).toBe(kind);
    expect(JSON.stringify(outcome)).not.toContain('ann@');
    expect(mails).toHaveLength(0);
  });

  /** Delivers two messages together through a provider with this SMTP server. */
  const deliverTwo = async (options: SMTPServerOptions) => {
    const { port } = await smtp(options);
    const row: ProviderRow = {
      tenant_id: TENANT_ID,
      provider_id: PROVIDER_ID,
      name: 'smtp',
      kind: 'smtp',
      channel: 'email',
      status: 'active',
      config: { host: '127.0.0.1', port, from: 'hi@casino.example' },
      credentials: null,
      rate_per_second: null,
      credentials_refused: null,
      created_at: new Date(0),
      updated_at: new Date(0),
      deleted_at: null,
    };
    // An SMTP provider without a rate uses no other dependency.
    const deps = {
      clock,
      egress,
      logger: createLogger('silent'),
      metrics: createMetrics(),
      postgres: {},
    } as ConstructorParameters<typeof Transports>[0];
    const transports = new Transports(deps, { public_url: '' }, () => ({}));
    cleanUps.push(() => transports.close());
    const provider = transports.open(row);
    const outcomes = await provider.deliver(
      [MESSAGE, { ...MESSAGE, recipient: 'bob@example.com' }],
      await provider.reserve(2, () => Promise.resolve(2)),
    );
    return { kinds: outcomes.map(({ kind }) => kind), is_ready: transports.open(row).mayBegin('a campaign') };
  };
  type Step = (address: { address: string }, session: unknown, done: (error?: Error) => void) => void;
  const unlessBob =
    (code: number): Step =>
    ({ address }, _session, done) =>
      address.startsWith('bob') ? done() : done(refusal(code));
  const never =
    (code: number): Step =>
    (_address, _session, done) =>
      done(refusal(code));

  it.each([450, 451, 452])('a recipient who is deferred (%i) does not delay the others', async (code) => {
    const { kinds, is_ready } = await deliverTwo({ onRcptTo: unlessBob(code) });
    expect(kinds).toEqual(['retry', 'sent']);
    expect(is_ready).toBe(true);
  });

  it.each([
    ['the sender', 450, { onMailFrom: never(450) }, ['retry', 'retry']],
    ['the sender', 451, { onMailFrom: never(451) }, ['retry', 'retry']],
    ['a recipient, and ends', 421, { onRcptTo: unlessBob(421) }, ['retry', 'sent']],
    [
      'connections',
      421,
      { onConnect: (_s: unknown, done: (e: Error) => void) => done(refusal(421)) },
      ['retry', 'retry'],
    ],
  ] as const)('is paused after it defers %s: %i', async (_what, _code, options, outcome) => {
    const { kinds, is_ready } = await deliverTwo(options);
    expect(kinds).toEqual(outcome);
    expect(is_ready).toBe(false);
  });

  it.each([
    ['450 later\r\n', 'retry'],
    ['552 too big\r\n', 'rejected'],
    ['421 going down\r\n', 'retry'],
    [null, 'unknown'],
  ])('answers %j to the text of a message', async (said, kind) => {
    let taken = 0;
    const server = await lines((line, in_data) => {
      if (!in_data || line !== '.') return usual(line, in_data);
      taken += 1;
      return said;
    });
    expect(await open(server.port).send(MESSAGE)).toMatchObject({ kind });
    // The transport must not send it again by itself.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(taken).toBe(1);
    expect(server.connections()).toBe(1);
  });

  it('a connection lost before the text means not sent; lost during the text the outcome is unknown', async () => {
    const before = await lines((line, in_data) => (line === 'DATA' ? null : usual(line, in_data)));
    expect(await open(before.port).send(MESSAGE)).toMatchObject({ kind: 'retry' });
    const early = await lines(() => null);
    expect(await open(early.port).send(MESSAGE)).toMatchObject({ kind: 'retry' });
    const amid = await lines((line, in_data) => (in_data && line === '' ? null : usual(line, in_data)));
    expect(await open(amid.port).send(MESSAGE)).toMatchObject({ kind: 'unknown' });
    expect(amid.connections()).toBe(1);
  });

  it('a server that does not answer is given up after the timeout', async () => {
    const texts: string[] = [];
    const silent = await lines((line, in_data) => {
      if (line === '.') texts.push(line);
      return line === '.' ? undefined : usual(line, in_data);
    });
    // On a busy machine the server may be too slow before it has the text, too.
    for (let silence_ms = 300; texts.length === 0; silence_ms *= 2) {
      const { kind } = await open(silent.port, {}, { silence_ms }).send(MESSAGE);
      if (texts.length > 0) expect(kind).toBe('unknown');
    }
    const asleep = await lines((line, in_data) =>
      line.startsWith('MAIL') ? undefined : usual(line, in_data),
    );
    expect(await open(asleep.port, {}, { silence_ms: 300 }).send(MESSAGE)).toMatchObject({ kind: 'retry' });
  });

  it('a server that cannot be reached has sent nothing', async () => {
    expect(await open(1).send(MESSAGE)).toMatchObject({ kind: 'retry' });
  });

  it('uses a few connections for many messages', async () => {
    let connections = 0;
    const { port, mails } = await smtp({
      onConnect(_session, done) {
        connections += 1;
        done();
      },
    });
    const transport = open(port);
    for (let i = 0; i < 5; i++) expect(await transport.send(MESSAGE)).toMatchObject({ kind: 'sent' });
    expect(connections).toBe(1);
    await Promise.all(Array.from({ length: 20 }, () => transport.send(MESSAGE)));
    expect(mails).toHaveLength(25);
    expect(connections).toBeLessThanOrEqual(5);
  });

  it('sends again after the server closed an idle connection', async () => {
    const { port, mails, accepted } = await smtp();
    const opened_sockets: Socket[] = [];
    class NotingEgress extends Egress {
      override async connect(destination: Destination): Promise<Socket> {
        const socket = await super.connect(destination);
        opened_sockets.push(socket);
        return socket;
      }
    }
    const noting = new NotingEgress({ allow: LOOPBACK_NETWORKS });
    const transport = open(port, {}, { egress: noting });
    expect(await transport.send(MESSAGE)).toMatchObject({ kind: 'sent' });
    const [idle] = opened_sockets;
    const is_closed = idle && once(idle, 'close');
    for (const socket of accepted) socket.end();
    await is_closed;
    expect(await transport.send(MESSAGE)).toMatchObject({ kind: 'sent' });
    expect(opened_sockets).toHaveLength(2);
    expect(mails).toHaveLength(2);
  });
});
