import { once } from 'node:events';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, it } from 'vitest';
import { postToProvider } from '../../../src/engage/messaging/transports/http-call.ts';
import { Egress } from '../../../src/platform/egress/egress.ts';
import { certificateFor, cleanUps, egress, reply, serve } from './transport-fixture.ts';

const posted = (url: string, { timeout_ms = 20_000, through = egress } = {}) =>
  postToProvider({ egress: through, url, headers: {}, body: 'x', timeout_ms });

/** A server of TCP or TLS on loopback. */
async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

it('a request was not sent when its host, its address, its connection or its certificate is none', async () => {
  const { url } = await serve(reply(200));
  const nobody = await serve(reply(200));
  const { key, cert } = await certificateFor('localhost');
  const untrusted = await listening(createTlsServer({ key, cert }).on('tlsClientError', () => undefined));
  for (const close of cleanUps.splice(1, 1)) await close();
  const missing = () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }));
  const nameless = new Egress({ allow: [], resolve: missing });
  const unreached = [
    ['https://nowhere.example', { through: nameless }, 'ENOTFOUND'],
    [nobody.url, {}, 'ECONNREFUSED'],
    ['https://10.0.0.1', {}, 'EGRESS_REFUSED'],
    ['nonsense', {}, 'EGRESS_REFUSED'],
    ['http://user:word@127.0.0.1:6667', {}, 'EGRESS_REFUSED'],
    // Ports of other protocols.
    ['http://127.0.0.1:1', {}, 'BAD_PORT'],
    ['http://127.0.0.1:6667', {}, 'BAD_PORT'],
    [url.replace('http:', 'https:'), {}, 'ERR_SSL_WRONG_VERSION_NUMBER'],
    [`https://127.0.0.1:${untrusted}`, {}, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ] as const;
  for (const [to, how, reason] of unreached) {
    expect(await posted(to, how), to).toEqual({ not_sent: true, reason });
  }
  const silent = await listening(createTcpServer());
  const impatient = new Egress({ allow: ['127.0.0.0/8'], connect_ms: 100 });
  cleanUps.push(() => impatient.close());
  expect(await posted(`https://127.0.0.1:${silent}`, { through: impatient })).toEqual({
    not_sent: true,
    reason: 'UND_ERR_CONNECT_TIMEOUT',
  });
});

it('a request may have been sent when its connection breaks or its time ends afterwards', async () => {
  const breaking = await serve((_response, _seen, { socket }) => socket.destroy());
  expect(await posted(breaking.url)).toEqual({ not_sent: false, reason: 'UND_ERR_SOCKET' });
  const resetting = await serve((_response, _seen, { socket }) => socket.resetAndDestroy());
  expect(await posted(resetting.url)).toEqual({ not_sent: false, reason: 'ECONNRESET' });
  const silent = await serve(() => undefined);
  expect(await posted(silent.url, { timeout_ms: 100 })).toEqual({ not_sent: false, reason: 'TIMEOUT' });
});

it('an answer that breaks off, or whose time ends, has its status and no text', async () => {
  const half = await serve((response) => {
    response.writeHead(202, { 'content-length': '100', 'x-message-id': 'one' });
    response.write('half', () => response.destroy());
  });
  expect(await posted(half.url)).toMatchObject({ status: 202, text: null });
  const slow = await serve((response) => void response.writeHead(503).write('slow'));
  expect(await posted(slow.url, { timeout_ms: 200 })).toMatchObject({ status: 503, text: null });
});

it('a request counts as perhaps sent when the connection ends, or its time, before TLS has begun', async () => {
  const closing = await listening(createTcpServer((socket) => socket.once('data', () => socket.destroy())));
  expect(await posted(`https://127.0.0.1:${closing}`)).toEqual({ not_sent: false, reason: 'ECONNRESET' });
  const silent = await listening(createTcpServer());
  const patient = new Egress({ allow: ['127.0.0.0/8'], connect_ms: 3_600_000 });
  // Closed after the trap, because it waits for its connection.
  cleanUps.unshift(() => patient.close());
  const late = await posted(`https://127.0.0.1:${silent}`, { timeout_ms: 100, through: patient });
  expect(late).toEqual({ not_sent: false, reason: 'TIMEOUT' });
});

it('headers lose the white space around them, and counts as perhaps sent what has an impossible one', async () => {
  const { url, seen } = await serve(reply(200));
  const with_key = (authorization: string) =>
    postToProvider({ egress, url, headers: { authorization }, body: 'x' });
  expect(await with_key(' Bearer key\r\n')).toMatchObject({ status: 200 });
  expect(seen[0]?.headers.authorization).toBe('Bearer key');
  for (const impossible of ['Bearer a\nb', 'Bearer \u0416']) {
    expect(await with_key(impossible)).toEqual({ not_sent: false, reason: 'TypeError' });
  }
  expect(seen).toHaveLength(1);
});
